"""Events of a stream: the rule of files, on the past alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prism_audio.labelling import detection
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.events import Change, Event, LabelledWindow, detect_events
from prism_audio.labelling.live_events import LiveEvents
from prism_audio.model.adapter import Adapter
from tests.labelling.test_detection import HOP, LABELS, WINDOW, recording

TRUTH = [(200, 9, 0), (400, 8, 2), (700, 10, 1), (1000, 8, 3)]


def live(adapter: Adapter, confirm: int = 1) -> LiveEvents:
    return LiveEvents(adapter, HOP, WINDOW, WINDOW, confirm)


def hear(events: LiveEvents, batch: Batch, windows: slice = slice(None)) -> list[Change]:
    """What a stream is told, window by window."""
    rows = zip(batch.start[windows], batch.end[windows], batch.embeddings[windows], strict=True)
    return [
        change
        for start, end, row in rows
        for change in events.add(LabelledWindow(float(start), float(end), "x", 0.5), row)
    ]


def ended(changes: list[Change]) -> list[Event]:
    return [event for kind, event in changes if kind == "end"]


def test_a_stream_has_the_events_of_the_file() -> None:
    batch, adapter = recording(np.random.default_rng(0), 1200, TRUTH)
    events = ended(hear(live(adapter), batch))
    wanted = detect_events(batch, adapter)
    assert [event.label for event in events] == [event.label for event in wanted]
    for event, other in zip(events, wanted, strict=True):
        assert event.start == pytest.approx(other.start, abs=1.5)
        assert event.end == pytest.approx(other.end, abs=1.5)
        assert event.score == pytest.approx(other.score, abs=0.05)
        assert event.confidence is not None
        assert 0.5 < event.confidence <= 1
        assert max(event.scores, key=event.scores.__getitem__) == event.label
        assert event.scores[event.label] == pytest.approx(event.score, abs=1e-6)


def test_what_is_told_depends_on_the_past_alone() -> None:
    batch, adapter = recording(np.random.default_rng(1), 1200, TRUTH)
    told = hear(live(adapter), batch)
    assert [kind for kind, _ in told] == ["begin", "end"] * len(TRUTH)
    for (_, begun), (_, over) in zip(told[::2], told[1::2], strict=True):
        assert (begun.label, begun.start) == (over.label, over.start)
    early = hear(live(adapter), batch, slice(0, 800))
    assert early == told[: len(early)]
    assert len(early) == 6


def test_pure_background_gives_next_to_nothing() -> None:
    found = 0
    for seed in range(2):
        batch, adapter = recording(np.random.default_rng(seed), 3600, [])
        found += len(ended(hear(live(adapter), batch)))
    assert found <= 2  # in an hour


def test_the_beginning_is_told_once_its_background_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(detection, "ENOUGH", 500)
    batch, adapter = recording(
        np.random.default_rng(2), 800, [(50, 8, 1), (200, 8, 0), (300, 8, 2)]
    )
    events = live(adapter)
    assert hear(events, batch, slice(0, 499)) == []
    first = ended(hear(events, batch, slice(499, 500)))
    assert [event.label for event in first] == [LABELS[1], LABELS[0], LABELS[2]]
    assert [event.start for event in first] == pytest.approx([25.25, 100.25, 150.25], abs=1.5)
    assert hear(events, batch, slice(500, 800)) == []


def test_a_short_stream_has_merged_labels() -> None:
    batch, adapter = recording(np.random.default_rng(3), 100, [])
    events = live(adapter)
    assert hear(events, batch) == []
    ((begin, _), (end, event)) = events.close()
    assert (begin, end, event.label, event.windows) == ("begin", "end", "x", 100)
    assert event.confidence is None


def test_an_event_that_goes_on_ends_with_the_sound() -> None:
    batch, adapter = recording(np.random.default_rng(4), 608, [(600, 8, 2)])
    events = live(adapter)
    told = hear(events, batch)
    assert [kind for kind, _ in told + events.close()] == ["begin", "end"]
    # The next sound, from time 0 on, has the background of the last.
    after, _ = recording(np.random.default_rng(5), 100, [(50, 8, 1)])
    (event,) = ended(hear(events, after))
    assert (event.label, event.start) == (LABELS[1], pytest.approx(25.25, abs=1.5))


def test_background_words_are_no_events() -> None:
    batch, adapter = recording(np.random.default_rng(6), 1200, TRUTH)
    other = replace(adapter, facts=replace(adapter.facts, background=1))
    labels = [event.label for event in ended(hear(live(other), batch))]
    assert labels == [LABELS[label] for _, _, label in TRUTH if label != 3]


def test_another_adapter_ends_what_goes_on_and_keeps_the_background() -> None:
    batch, adapter = recording(np.random.default_rng(7), 900, [(500, 60, 0), (800, 8, 2)])
    events = live(adapter)
    ((kind, _),) = hear(events, batch, slice(0, 520))
    assert kind == "begin"
    fewer = Adapter.zero_shot(adapter.prototypes[1:], LABELS[1:])
    ((kind, event),) = events.switch_to(fewer)
    assert (kind, event.label) == ("end", LABELS[0])
    assert LABELS[2] in [event.label for event in ended(hear(events, batch, slice(520, 900)))]


def test_memory_is_bounded() -> None:
    batch, adapter = recording(np.random.default_rng(8), 4000, [(1000, 2000, 0)])
    events = live(adapter)
    hear(events, batch)
    assert len(events._past) == round(1800 / HOP)
    assert len(events._tracks[0]._rise) <= 60 / HOP


def test_labels_that_overlap_are_all_found() -> None:
    truth = [(300, 10, 0), (600, 12, 2), (604, 12, 1), (900, 10, 3)]
    batch, adapter = recording(np.random.default_rng(9), 1200, truth)
    several = LiveEvents(adapter, HOP, WINDOW, WINDOW, multi=True)
    told = hear(several, batch)
    assert sorted(e.label for e in ended(told)) == sorted(LABELS[label] for _, _, label in truth)
    single = [event.label for event in ended(hear(live(adapter), batch))]
    assert len(single) == 3


def test_onsets_of_labels_are_obeyed() -> None:
    batch, adapter = recording(np.random.default_rng(0), 1200, TRUTH)
    facts = replace(adapter.facts, label_onsets=(None, 100.0, None, None))
    labels = [event.label for event in ended(hear(live(replace(adapter, facts=facts)), batch))]
    assert labels == [LABELS[label] for _, _, label in TRUTH if label != 1]
