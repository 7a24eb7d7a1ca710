from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
import pytest

from prism_audio.audio.capture import pcm_blocks
from prism_audio.encoders import embed_audio, embed_timeline
from prism_audio.encoders.prompts import PromptSet, read_labels
from prism_audio.errors import AdapterError, AudioError, InputError
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.calibration import calibrate_place
from prism_audio.labelling.drift import Drifted
from prism_audio.labelling.events import LabelledWindow, events
from prism_audio.labelling.labeller import UNKNOWN
from prism_audio.labelling.listener import Listener, Pace, Switched, WindowAnswer
from prism_audio.model.vocabulary import Vocabulary
from tests.helpers.bands import LABELS, RATE, BandEncoder, OtherEncoder, tone


@pytest.fixture(scope="module")
def encoder() -> BandEncoder:
    return BandEncoder()


@pytest.fixture(scope="module")
def words(encoder: BandEncoder) -> Vocabulary:
    return Vocabulary.from_text(encoder, read_labels(LABELS), PromptSet.load("plain"))


@pytest.fixture(scope="module")
def sound() -> np.ndarray:
    """Twenty seconds of changing tones."""
    bands = np.random.default_rng(0).choice([2, 7, 12], 25)
    return np.concatenate([tone(band, 0.81, i, 0.1) for i, band in enumerate(bands)])


@pytest.fixture(scope="module")
def adapter(encoder: BandEncoder, words: Vocabulary, sound: np.ndarray):
    line = embed_timeline(encoder, (sound, RATE))
    names = [""] * len(line.start)
    batch = Batch(
        line.embeddings, names, line.start, line.end, "window", "bands", encoder.fingerprint
    )
    adapter = calibrate_place(batch, words, place="here", preset="paper")
    assert adapter.facts.verdict != "zero-shot"
    return adapter


def blocks(sound: np.ndarray, size: int = 777) -> Iterator[np.ndarray]:
    for start in range(0, len(sound), size):
        yield sound[start : start + size].astype(np.float32)


def answers(listener: Listener, sound: np.ndarray, size: int = 777) -> list[WindowAnswer]:
    return [
        notice for notice in listener.hear(blocks(sound, size)) if isinstance(notice, WindowAnswer)
    ]


def test_stream_hears_what_the_timeline_holds(encoder, adapter, sound: np.ndarray) -> None:
    line = embed_timeline(encoder, (sound, RATE))
    labels = [adapter.labels[c] for c in adapter.predict(line.embeddings)]
    heard = answers(Listener(encoder, adapter, Pace.fit(encoder)), sound)
    assert [window.answer.label for window in heard] == labels
    np.testing.assert_allclose([window.start for window in heard], line.start)
    np.testing.assert_allclose([window.end for window in heard], line.end)
    np.testing.assert_allclose(
        [window.answer.score for window in heard],
        adapter.scores(line.embeddings).max(axis=1),
        atol=1e-6,
    )
    again = answers(Listener(encoder, adapter, Pace.fit(encoder)), sound, size=16_000)
    assert again == heard  # whatever pieces it comes in


def test_window_of_a_whole_clip_is_the_clip(encoder, adapter) -> None:
    clip = tone(7, 2.0, 1)
    (heard,) = answers(Listener(encoder, adapter, Pace.fit(encoder, window=2.0)), clip)
    E = embed_audio(encoder, [(clip, RATE)])
    assert heard.answer.score == pytest.approx(float(adapter.scores(E).max()), abs=1e-6)
    assert (heard.start, heard.end) == (0.0, 2.0)


@pytest.mark.parametrize(
    ("window", "hop", "pooled", "every"),
    [(None, None, 1, 1), (1.0, None, 3, 1), (1.0, 0.5, 3, 2), (0.5, 0.1, 1, 1), (1.1, 0.1, 7, 1)],
)
def test_pace(encoder, window: float | None, hop: float | None, pooled: int, every: int) -> None:
    pace = Pace.fit(encoder, window, hop, 4)
    assert (pace.pooled, pace.every, pace.confirm) == (pooled, every, 4)
    assert pace.hop == (hop or encoder.hop)
    assert pace.grid <= encoder.hop
    assert abs(pace.window - (window or encoder.window)) <= pace.grid / 2


def test_answers_come_at_the_pace(encoder, adapter, sound: np.ndarray) -> None:
    pace = Pace.fit(encoder, window=1.5, hop=0.75)
    heard = answers(Listener(encoder, adapter, pace), sound)
    starts = np.array([window.start for window in heard[:-1]])  # the last takes what is left
    np.testing.assert_allclose(np.diff(starts), 0.75)
    assert {round(window.end - window.start, 6) for window in heard[:-1]} == {1.5}
    assert heard[-1].end == pytest.approx(len(sound) / RATE)


@pytest.mark.parametrize("numbers", [(0.2, 0.25), (0.5, 0.0), (0.5, float("nan")), (np.inf, 1.0)])
def test_impossible_pace_is_refused(encoder, numbers: tuple[float, float]) -> None:
    with pytest.raises(InputError):
        Pace.fit(encoder, *numbers)


def test_events_are_those_of_the_windows(encoder, adapter, sound: np.ndarray) -> None:
    listener = Listener(encoder, adapter, Pace.fit(encoder, confirm=2), threshold=0.8)
    told = list(listener.hear(blocks(sound)))
    heard = [notice for notice in told if isinstance(notice, WindowAnswer)]
    ended = [notice[1] for notice in told if type(notice) is tuple and notice[0] == "end"]
    answered = [(window.start, window.end, window.answer) for window in heard]
    labelled = [
        LabelledWindow(start, end, answer.best if answer.convinced else None, answer.score)
        for start, end, answer in answered
    ]
    assert ended == list(events(labelled, 2))
    assert any(answer.label == UNKNOWN for _, _, answer in answered)
    assert listener.answers == len(heard)


def test_warmup(encoder, words: Vocabulary, sound: np.ndarray) -> None:
    plain = words.adapter()
    listener = Listener(encoder, plain, Pace.fit(encoder), warmup=50, place="porch")
    told = list(listener.hear(blocks(sound)))
    (switched,) = [notice for notice in told if isinstance(notice, Switched)]
    before = [notice for notice in told[: told.index(switched)] if isinstance(notice, WindowAnswer)]
    assert len(before) == switched.windows == 50
    assert before == answers(Listener(encoder, plain, Pace.fit(encoder)), sound)[:50]
    assert listener.adapter is switched.adapter
    assert (switched.adapter.facts.place, switched.adapter.facts.N) == ("porch", 50)
    after = [notice for notice in told if isinstance(notice, WindowAnswer)][50:]
    assert after == answers(Listener(encoder, switched.adapter, Pace.fit(encoder)), sound)[50:]


def test_stream_shorter_than_the_warmup_stays_zero_shot(encoder, words, sound) -> None:
    listener = Listener(encoder, words.adapter(), Pace.fit(encoder), warmup=10_000)
    assert not [notice for notice in listener.hear(blocks(sound)) if isinstance(notice, Switched)]


def test_drift_is_noticed_and_its_end_too(encoder, adapter) -> None:
    rng = np.random.default_rng(0)
    usual = [tone((2, 7, 12)[i % 3], 1.0, i, 0.1) for i in range(90)]
    hiss = np.cumsum(rng.standard_normal(240 * RATE)) % 0.3
    pace = Pace.fit(encoder, hop=0.5)
    told = Listener(encoder, adapter, pace).hear(blocks(np.concatenate([*usual, hiss, *usual * 8])))
    notices = [notice for notice in told if isinstance(notice, Drifted)]
    assert [notice.away for notice in notices] == [True, False]
    told = Listener(encoder, adapter, pace).hear(blocks(np.concatenate(usual * 3)))
    assert not [notice for notice in told if isinstance(notice, Drifted)]
    # Nothing but one class is no other place.
    told = Listener(encoder, adapter, pace).hear(blocks(np.concatenate(usual[::3] * 6)))
    assert not [notice for notice in told if isinstance(notice, Drifted)]


def test_other_encoder_is_refused(adapter) -> None:
    other = OtherEncoder()
    with pytest.raises(AdapterError, match="another space"):
        Listener(other, adapter, Pace.fit(other))


class Trickle(io.BytesIO):
    """A pipe that gives a few bytes at a time."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size or 7, 7))


@pytest.mark.parametrize("pipe", [io.BytesIO, Trickle])
def test_pcm_of_two_channels(pipe: type[io.BytesIO]) -> None:
    rng = np.random.default_rng(0)
    samples = rng.integers(-30_000, 30_000, (500, 2)).astype("<i2")
    found = np.concatenate(list(pcm_blocks(pipe(samples.tobytes()), 8000, 8000, channels=2)))
    np.testing.assert_allclose(found, samples.mean(axis=1) / 2**15, atol=1e-6)


def test_pcm_that_cannot_be_sound() -> None:
    data = np.array([0.0, 1e9], "<f4").tobytes()
    with pytest.raises(AudioError, match="--format"):
        list(pcm_blocks(io.BytesIO(data), 8000, 8000, form="f32le"))
    with pytest.raises(InputError, match="unknown"):
        list(pcm_blocks(io.BytesIO(data), 8000, 8000, form="mp3"))
