"""Event detection: what stands out from the background of a place, found without labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prism_audio.labelling import detection
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.events import detect_events, has_background
from prism_audio.model.adapter import Adapter

HOP, WINDOW, C, D = 0.5, 1.0, 4, 32
LABELS = ("dog", "siren", "drill", "bell")


def place(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Prototypes, and the one direction that the background of a place has."""
    T = np.linalg.qr(rng.standard_normal((D, D)))[0][:C]
    return T, np.linalg.qr(rng.standard_normal((D, D)))[0][0]


def recording(
    rng: np.random.Generator, N: int, events: list[tuple[int, int, int]], seed: int = 3
) -> tuple[Batch, Adapter]:
    """``N`` windows of background with events (first window, windows, class)."""
    T, hum = place(np.random.default_rng(seed))
    E = 2 * hum + 0.25 * rng.standard_normal((N, D))
    for first, length, label in events:
        E[first : first + length] += 4.0 * T[label]
    E = (E / np.linalg.norm(E, axis=1, keepdims=True)).astype(np.float32)
    start = HOP * np.arange(N)
    return Batch(E, ["a.wav"] * N, start, start + WINDOW, "window"), Adapter.zero_shot(
        T.astype(np.float32), LABELS
    )


def test_events_are_found_where_they_are() -> None:
    truth = [(100, 9, 0), (400, 8, 2), (700, 10, 1), (1000, 8, 3)]
    batch, adapter = recording(np.random.default_rng(0), 1200, truth)
    events = detect_events(batch, adapter)
    assert [event.label for event in events] == [LABELS[label] for _, _, label in truth]
    for event, (first, length, _) in zip(events, truth, strict=True):
        begin, end = HOP * first + HOP / 2, HOP * (first + length - 1) + WINDOW - HOP / 2
        assert event.start == pytest.approx(begin, abs=1.5)
        assert event.end == pytest.approx(end, abs=1.5)
        assert event.confidence is not None
        assert 0.5 < event.confidence <= 1


def test_pure_background_gives_next_to_nothing() -> None:
    found = 0
    for seed in range(5):
        batch, adapter = recording(np.random.default_rng(seed), 3600, [])
        found += len(detect_events(batch, adapter))
    assert found <= 3  # in two and a half hours


def test_a_shift_of_all_windows_changes_nothing() -> None:
    batch, adapter = recording(np.random.default_rng(1), 1200, [(300, 8, 1), (800, 8, 0)])
    rows = detection.smooth(batch.embeddings, HOP)
    shifted = rows + 0.3 * adapter.prototypes[2]  # noise that sounds like a drill, all the time
    for given in (rows, shifted):
        z = detection.learn_background(given, adapter.prototypes).strengths(given)
        onset = detection.choose_onset([z], C, HOP)
        assert [event.label for event in detection.detect(z, C, onset)] == [1, 0]


def test_background_words_take_their_windows_away() -> None:
    batch, adapter = recording(np.random.default_rng(2), 1200, [(300, 8, 3), (800, 8, 0)])
    rows = detection.smooth(batch.embeddings, HOP)
    z = detection.learn_background(rows, adapter.prototypes).strengths(rows)
    assert [event.label for event in detection.detect(z, C, 6.0)] == [3, 0]
    assert [event.label for event in detection.detect(z, C - 1, 6.0)] == [0]


def test_more_events_lower_the_onset() -> None:
    rng = np.random.default_rng(4)
    few, adapter = recording(rng, 3600, [(1000, 8, 0)])
    many, _ = recording(rng, 3600, [(40 * k + 20, 8, k % C) for k in range(80)])
    onsets = []
    for batch in (few, many):
        rows = detection.smooth(batch.embeddings, HOP)
        z = detection.learn_background(rows, adapter.prototypes).strengths(rows)
        onsets.append(detection.choose_onset([z], C, HOP))
    assert onsets[1] < onsets[0]


def test_one_label_alone_is_heard_against_the_background() -> None:
    batch, adapter = recording(np.random.default_rng(5), 1200, [(300, 8, 0), (800, 8, 0)])
    alone = Adapter.zero_shot(adapter.prototypes[:1], LABELS[:1])
    assert [event.label for event in detect_events(batch, alone)] == ["dog", "dog"]


def test_recordings_share_a_background_and_keep_their_windows_apart() -> None:
    batch, adapter = recording(np.random.default_rng(6), 600, [(296, 8, 0)])
    halves = Batch(
        batch.embeddings,
        ["a.wav"] * 300 + ["b.wav"] * 300,
        np.concatenate([batch.start[:300], batch.start[:300]]),
        np.concatenate([batch.end[:300], batch.end[:300]]),
        "window",
    )
    events = detect_events(halves, adapter)
    assert {event.file for event in events} == {"a.wav", "b.wav"}
    assert has_background(batch)
    assert not has_background(
        Batch(batch.embeddings[:20], [""] * 20, batch.start[:20], batch.end[:20])
    )


def test_confidence_falls_with_strength_and_with_the_time_listened() -> None:
    strengths = [12.0, 5.0, 8.0, 6.0]
    short, long = (detection.confidences(strengths, hours) for hours in (0.1, 10.0))
    order = np.argsort(strengths)
    assert (np.diff(short[order]) >= 0).all()
    assert (long <= short).all()
    assert ((short >= 0) & (short <= 1)).all()


def test_silence_all_the_time_has_no_events() -> None:
    N = 200
    start = HOP * np.arange(N)
    adapter = Adapter.zero_shot(np.eye(C, D, dtype=np.float32), LABELS)
    batch = Batch(np.zeros((N, D), np.float32), ["a.wav"] * N, start, start + WINDOW, "window")
    assert detect_events(batch, adapter) == []


def test_labels_that_overlap_are_all_found() -> None:
    truth = [(100, 10, 0), (400, 10, 2), (404, 10, 1), (800, 10, 3)]
    batch, adapter = recording(np.random.default_rng(7), 1200, truth)
    single = [event.label for event in detect_events(batch, adapter)]
    several = [event.label for event in detect_events(batch, adapter, multi=True)]
    assert sorted(several) == sorted(LABELS[label] for _, _, label in truth)
    assert len(single) == 3


def test_what_comes_after_a_short_recording_deviates_no_more_than_after_a_long_one() -> None:
    """The directions in which a minute varies are fewer than those of its place."""
    rng = np.random.default_rng(8)
    T, hum = place(np.random.default_rng(3))
    pieces = np.repeat(rng.standard_normal((400, D)), 30, axis=0)  # a place that changes every 15 s
    E = (2 * hum + 0.5 * pieces + 0.25 * rng.standard_normal(pieces.shape)).astype(np.float32)
    rows = detection.smooth(E / np.linalg.norm(E, axis=1, keepdims=True), HOP)
    spreads = []
    for N in (detection.ENOUGH, 6000):
        z = [
            detection.learn_background(rows[first : first + N], T).strengths(rows[-3000:])
            for first in range(0, 3000, 300)
        ]
        spreads.append(float(np.mean([np.std(each) for each in z])))
    # Half of the deviation is that of the label, half that of an average direction: here they are alike.
    assert spreads[1] == pytest.approx(np.sqrt(1 / 2), abs=0.1)
    assert spreads[0] < 1.4 * spreads[1]


def test_a_trifle_is_no_event_where_the_place_never_varies_towards_the_labels() -> None:
    batch, adapter = recording(np.random.default_rng(10), 1200, [(800, 8, 0)])
    T, rows = adapter.prototypes, batch.embeddings.copy()
    for part in (slice(0, 800), slice(808, None)):
        rows[part] -= rows[part] @ T.T @ T
    rows[300:308] += 0.1 * T[1]
    events = detect_events(replace(batch, embeddings=rows), adapter)
    assert [event.label for event in events] == ["dog"]


def test_onsets_of_labels_are_obeyed() -> None:
    batch, adapter = recording(np.random.default_rng(9), 1200, [(200, 8, 0), (600, 8, 2)])
    first, second = detect_events(batch, adapter)
    assert first.strength is not None
    facts = replace(adapter.facts, label_onsets=(first.strength + 1, None, None, None))
    assert detect_events(batch, replace(adapter, facts=facts))[0].label == second.label
