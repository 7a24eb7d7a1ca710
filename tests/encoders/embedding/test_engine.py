from __future__ import annotations

import itertools
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from prism_audio.audio.decode import stream
from prism_audio.audio.windows import Window, encoder_windows, windows
from prism_audio.encoders import embed_audio, embed_timeline
from prism_audio.encoders.embedding import feed
from prism_audio.encoders.embedding.engine import Clip, Failure, embed_files
from prism_audio.io.types import Float32
from tests.helpers.tiny_datasets import RATE, TinyEncoder, recording, recordings


def plain_loop(path: Path, encoder: TinyEncoder) -> Float32:
    """One window an invocation, one file after another."""
    found = list(windows(stream(path, encoder.rate), encoder.rate, encoder.window, encoder.hop))
    features = [encoder.embed_windows(window.samples[None])[0] for window in found]
    return encoder.pool(np.array(features), np.array([window.weight for window in found]))


def clips(results: Iterator[Clip | Failure]) -> list[Clip]:
    found = list(results)
    assert all(isinstance(result, Clip) for result in found)
    return [result for result in found if isinstance(result, Clip)]


def running() -> list[str]:
    return [
        thread.name
        for thread in threading.enumerate()
        if thread.name.startswith(("decode", "embed"))
    ]


def test_batches_of_many_files_equal_the_plain_loop(tmp_path: Path) -> None:
    files, encoder = recordings(tmp_path, 40), TinyEncoder()
    together = clips(embed_files(files, encoder))
    assert [clip.path for clip in together] == files
    assert max(encoder.batches) > 20
    for clip in together:
        np.testing.assert_allclose(clip.embedding, plain_loop(clip.path, encoder), atol=1e-5)


@pytest.mark.parametrize("workers", [2, 7])
def test_threads_change_no_byte(tmp_path: Path, workers: int) -> None:
    files = recordings(tmp_path, 40)
    alone = clips(embed_files(files, TinyEncoder(), workers=1, group_files=9))
    many = clips(embed_files(files, TinyEncoder(), workers=workers, group_files=9))
    for one, other in zip(alone, many, strict=True):
        assert one.embedding.tobytes() == other.embedding.tobytes()
        assert one.features.tobytes() == other.features.tobytes()
        assert one.group == other.group


@pytest.mark.parametrize("limits", [{"group_files": 8}, {"group_seconds": 15.0}])
def test_a_run_that_begins_at_a_group_repeats_its_bytes(
    tmp_path: Path, limits: dict[str, float]
) -> None:
    files = recordings(tmp_path, 40)
    whole = clips(embed_files(files, TinyEncoder(), **limits))  # type: ignore[arg-type]
    first = next(number for number, clip in enumerate(whole) if clip.group == 2)
    rest = clips(embed_files(files[first:], TinyEncoder(), **limits))  # type: ignore[arg-type]
    for one, other in zip(whole[first:], rest, strict=True):
        assert one.embedding.tobytes() == other.embedding.tobytes()
    # The encoder shows its batches, so a start inside a group must be seen.
    shifted = clips(embed_files(files[first + 1 :], TinyEncoder(), **limits))  # type: ignore[arg-type]
    assert shifted[0].features.tobytes() != whole[first + 1].features.tobytes()


def test_bad_files_fail_in_their_place_and_touch_no_other(tmp_path: Path) -> None:
    good = recordings(tmp_path, 12)
    text, empty, gone = tmp_path / "text.wav", tmp_path / "empty.wav", tmp_path / "gone.wav"
    text.write_text("this is no sound")
    empty.touch()
    files = [text, *good[:5], empty, *good[5:], gone]
    results = list(embed_files(files, TinyEncoder()))
    assert [result.path for result in results] == files
    failed = [result for result in results if isinstance(result, Failure)]
    assert [failure.path for failure in failed] == [text, empty, gone]
    assert all(failure.reason for failure in failed)
    alone = {clip.path: clip for clip in clips(embed_files(good, TinyEncoder()))}
    for result in results:
        if isinstance(result, Clip):
            np.testing.assert_allclose(result.embedding, alone[result.path].embedding, atol=1e-5)


def test_a_fault_in_the_decoder_costs_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = recordings(tmp_path, 5)

    def faulty(encoder: TinyEncoder, source: Path) -> Iterator[Window]:
        found = encoder_windows(encoder, source)
        yield next(found)
        if source == files[2]:
            raise RuntimeError("a fault")
        yield from found

    monkeypatch.setattr(feed, "encoder_windows", faulty)
    results = list(embed_files(files, TinyEncoder()))
    assert [isinstance(result, Failure) for result in results] == [False, False, True, False, False]
    assert results[2] == Failure(files[2], "RuntimeError: a fault", 0)


def test_a_fault_in_the_encoder_is_raised(tmp_path: Path) -> None:
    class Faulty(TinyEncoder):
        def embed_windows(self, windows: Float32) -> Float32:
            raise RuntimeError("no weights")

    with pytest.raises(RuntimeError, match="no weights"):
        list(embed_files(recordings(tmp_path, 40), Faulty()))
    assert not running()


def test_values_that_are_not_finite_are_a_failure(tmp_path: Path) -> None:
    class Diverging(TinyEncoder):
        def pool(self, features: Float32, weights: Float32) -> Float32:
            return np.full(self.dim, np.nan, np.float32)

    (result,) = embed_files([recording(tmp_path / "1.wav", 2)], Diverging())
    assert isinstance(result, Failure)
    assert "not finite" in result.reason


def test_files_are_read_as_needed_and_threads_end_with_the_reader(tmp_path: Path) -> None:
    path = recording(tmp_path / "1.wav", 3)
    asked = itertools.count()
    endless = (path for _ in asked)
    results = embed_files(endless, TinyEncoder(), workers=2)
    assert [next(results).path for _ in range(100)] == [path] * 100
    assert running()
    results.close()
    assert not running()
    assert next(asked) < 300


def test_threads_end_also_where_they_wait_for_the_reader(tmp_path: Path) -> None:
    short = recording(tmp_path / "short.wav", 1)
    long = recording(tmp_path / "long.wav", 300)
    results = embed_files([short, long, long], TinyEncoder(), workers=2)
    assert next(results).path == short
    closing = threading.Thread(target=results.close, daemon=True)
    closing.start()
    closing.join(timeout=30)
    assert not closing.is_alive()
    assert not running()


def test_a_long_recording_is_not_held_in_memory(tmp_path: Path) -> None:
    path, encoder = recording(tmp_path / "long.wav", 1500), TinyEncoder()
    tracemalloc.start()
    try:
        (clip,) = clips(embed_files([path], encoder, workers=2))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert clip.seconds == pytest.approx(1500)
    assert sum(encoder.batches) >= 2999
    # Its windows overlap by half: together they take twice the 48 MB of the samples.
    assert peak < 1500 * RATE * 4


def test_seconds_are_told_once_also_where_windows_overlap(tmp_path: Path) -> None:
    files = recordings(tmp_path, 40)
    told: list[float] = []
    found = clips(embed_files(files, TinyEncoder(), on_audio=told.append))
    assert sum(told) == pytest.approx(sum(clip.seconds for clip in found))
    assert len(told) > 1


def test_rows_are_those_of_the_encoders_own_functions(tmp_path: Path) -> None:
    files, encoder = recordings(tmp_path, 12), TinyEncoder()
    whole = clips(embed_files(files, encoder))
    np.testing.assert_allclose(
        [clip.embedding for clip in whole], embed_audio(encoder, files), atol=1e-5
    )
    for one, other in zip(whole, embed_files(files, encoder, per_window=True), strict=True):
        assert isinstance(other, Clip)
        expected = embed_timeline(encoder, one.path)
        np.testing.assert_array_equal(one.rows(encoder), one.embedding[None])
        np.testing.assert_allclose(other.embedding, one.embedding, atol=1e-6)
        np.testing.assert_allclose(other.rows(encoder), expected.embeddings, atol=1e-5)
        np.testing.assert_array_equal((other.start, other.end), (expected.start, expected.end))
        assert (one.start, one.end) == (0, expected.end[-1])


def test_padding_of_the_encoder_is_used(tmp_path: Path) -> None:
    class Repeating(TinyEncoder):
        def pad(self, sound: Float32) -> Float32:
            return np.resize(sound, RATE)

    files = [recording(tmp_path / "1.wav", 0.4)]
    (clip,) = clips(embed_files(files, Repeating()))
    np.testing.assert_allclose(clip.embedding, embed_audio(Repeating(), files)[0], atol=1e-6)
    assert abs(clip.embedding - embed_audio(TinyEncoder(), files)[0]).max() > 1e-3
