from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import soundfile

from prism_audio.errors import InputError
from prism_audio.station.messages import StationEvent, Tick
from prism_audio.station.sinks.clips import Clips, Limits
from tests.helpers.sounds import noise, tone
from tests.helpers.station import START, event

RATE = 8000


def heard(number: int, label: str = "dog bark", seconds: float = 1.0) -> StationEvent:
    started = START + timedelta(minutes=number)
    return event(label, started=started, sound=noise(seconds, RATE, number), rate=RATE)


def stored(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*/*")}


@pytest.mark.parametrize("form", ["flac", "wav"])
def test_a_clip_is_the_sound(tmp_path: Path, form: str) -> None:
    clips = Clips(tmp_path / "clips", form=form)
    clips.start()
    told = event("dog bark", sound=tone(1.5, RATE), rate=RATE)
    assert clips.write(told)
    assert told.clip == tmp_path / "clips" / "dog-bark" / f"{told.id}.{form}"
    sound, rate = soundfile.read(told.clip)
    assert rate == RATE
    np.testing.assert_allclose(sound, tone(1.5, RATE), atol=2**-14)
    for other in (event(over=False), Tick()):
        assert clips.write(other) is False


def test_the_newest_of_a_label_are_kept_also_after_a_restart(tmp_path: Path) -> None:
    removed: list[Path] = []
    events = [heard(number) for number in range(5)]
    rare = heard(9, "siren")
    clips = Clips(tmp_path, Limits(each=2), on_remove=removed.append)
    clips.start()
    for each in (rare, *events[:3]):
        clips.write(each)
    again = Clips(tmp_path, Limits(each=2), on_remove=removed.append)
    again.start()
    for each in events[3:]:
        again.write(each)
    assert stored(tmp_path) == {each.id for each in (rare, *events[3:])}
    assert [path.stem for path in removed] == [each.id for each in events[:3]]


def test_the_oldest_of_all_go_where_there_are_too_many_bytes(tmp_path: Path) -> None:
    events = [heard(number, label) for number, label in enumerate(["a", "b", "a", "b"])]
    clips = Clips(tmp_path, form="wav", limits=Limits(total=2.5 * (2 * RATE + 44)))
    clips.start()
    for each in events:
        clips.write(each)
    assert stored(tmp_path) == {each.id for each in events[2:]}
    tiny = Clips(tmp_path, form="wav", limits=Limits(total=10))
    tiny.start()
    assert stored(tmp_path) == {events[3].id}  # the last one stays


def test_the_same_event_again_is_one_clip(tmp_path: Path) -> None:
    clips = Clips(tmp_path, Limits(each=2))
    clips.start()
    for number in (0, 1, 1, 1):
        clips.write(heard(number))
    assert stored(tmp_path) == {heard(0).id, heard(1).id}


def test_a_clip_that_no_record_names_is_replaced_when_its_recording_is_heard_again(
    tmp_path: Path,
) -> None:
    def told(seconds: float, recording: str | None = "a.wav") -> StationEvent:
        started = START + timedelta(seconds=seconds)
        sound = noise(1.0, RATE, 0)
        return event("dog", started=started, sound=sound, rate=RATE, recording=recording)

    def left(second: StationEvent, recorded: bool) -> set[str]:
        folder = tmp_path / f"{second.id}{recorded}"
        for each in (first, second):
            clips = Clips(folder, is_recorded=lambda id: recorded)
            clips.start()
            clips.write(each)
        return stored(folder)

    first, again = told(0.0), told(1.5)
    assert left(again, recorded=False) == {again.id}
    assert left(again, recorded=True) == {first.id, again.id}
    for other in (told(1.5, recording=None), told(60.0)):
        assert left(other, recorded=False) == {first.id, other.id}


def test_limits() -> None:
    assert Limits.parse("20/label", 5) == Limits(20, 5e9)
    assert Limits.parse("20", None) == Limits(20)
    for text in ("0/label", "many", "20/hour", "-1"):
        with pytest.raises(InputError, match="--keep"):
            Limits.parse(text, None)
