from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from prism_audio.errors import InputError
from prism_audio.station.announcing import Announcements, QuietHours
from tests.helpers.station import event

NOON = datetime(2026, 5, 4, 12, 0).astimezone()


@pytest.mark.parametrize(
    ("span", "quiet", "loud"),
    [
        ("22:00-06:00", ("22:00", "23:59", "00:00", "05:59"), ("06:00", "12:00", "21:59")),
        ("9:30-17:00", ("09:30", "16:59"), ("09:29", "17:00", "00:00")),
    ],
)
def test_quiet_hours_by_the_local_clock(span: str, quiet: tuple, loud: tuple) -> None:
    hours = QuietHours.parse(span)
    for text in (*quiet, *loud):
        hour, minute = map(int, text.split(":"))
        moment = NOON.replace(hour=hour, minute=minute)
        assert hours.include(moment.astimezone(UTC)) is (text in quiet), text


@pytest.mark.parametrize("text", ["22-6", "24:00-06:00", "22:00", "22:00-22:00", "nights"])
def test_what_is_no_span_of_hours_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--quiet"):
        QuietHours.parse(text)


def test_a_label_cools_down_at_its_source_alone() -> None:
    announcements = Announcements(cooldown=60.0)

    def decide(after: float, label: str = "dog", source: str = "yard") -> bool:
        started = NOON + timedelta(seconds=after)
        return announcements.decide(event(label, source=source, started=started))

    assert [decide(0), decide(30), decide(59)] == [True, False, False]
    assert decide(30, label="siren")
    assert decide(30, source="gate")
    assert decide(60)  # what was not announced does not begin a cooldown of its own


def test_the_end_of_an_event_is_announced_as_its_beginning_was() -> None:
    announcements = Announcements(QuietHours.parse("22:00-06:00"), cooldown=60.0)
    late = NOON.replace(hour=21, minute=59, second=59)
    begin, end = (event("dog", started=late, over=over) for over in (False, True))
    assert begin.id == end.id
    assert announcements.decide(begin)
    assert announcements.decide(end)
    assert not announcements.decide(event("siren", started=late + timedelta(seconds=2)))
