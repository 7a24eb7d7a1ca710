from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from prism_audio.encoders import Encoder, embed_audio, embed_timeline
from prism_audio.encoders.embedding.clips import BATCH_SECONDS
from prism_audio.errors import AudioError, InputError, PrismError
from tests.helpers.moments import FilledUp, Moments, noise


def test_embed_audio_pools_all_windows_by_their_sound() -> None:
    encoder, sound = Moments(), noise(1.23)
    starts = [0, 1600, 3200, 4800, 6400]  # the first that reaches the end of 9840 samples is last
    parts = [sound[start : start + 4000] for start in starts]
    windows = np.array([np.pad(part, (0, 4000 - len(part))) for part in parts])
    weights = np.array([len(part) / 8000 for part in parts], np.float32)
    expected = encoder.pool(encoder.embed_windows(windows), weights)
    np.testing.assert_allclose(embed_audio(encoder, [(sound, 8_000)])[0], expected, atol=1e-6)


def test_embed_audio_of_a_recording_longer_than_a_batch() -> None:
    encoder, sound = Moments(), noise(70.0)
    line = embed_timeline(encoder, (sound, 8_000))
    assert len(line.start) > 2 * BATCH_SECONDS / encoder.window
    features = np.concatenate(
        [encoder.embed_windows(sound[round(s * 8000) :][:4000][None]) for s in line.start[:-1]]
    )
    whole = encoder.pool(features, np.full(len(features), 0.5, np.float32))
    assert embed_audio(encoder, [(sound, 8_000)])[0] @ whole > 0.9999


def test_embed_audio_takes_files_and_arrays_in_order(tmp_path: Path) -> None:
    encoder = Moments()
    recordings = [noise(0.3 + 0.2 * k, seed=k) for k in range(12)]
    for k, samples in enumerate(recordings):
        soundfile.write(tmp_path / f"{k}.wav", samples, 8_000, subtype="FLOAT")
    from_files = embed_audio(encoder, [tmp_path / f"{k}.wav" for k in range(12)])
    mixed = embed_audio(
        encoder,
        [(x, 8_000) if k % 2 else str(tmp_path / f"{k}.wav") for k, x in enumerate(recordings)],
        workers=3,
    )
    np.testing.assert_allclose(from_files, mixed, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(mixed, axis=1), 1, atol=1e-6)
    assert embed_audio(encoder, []).shape == (0, 4)


def test_timeline_says_when_and_what() -> None:
    encoder = Moments()
    sound = np.concatenate([np.zeros(8_000, np.float32), noise(1.0)])
    line = embed_timeline(encoder, (sound, 8_000))
    np.testing.assert_allclose(line.start, 0.2 * np.arange(len(line.start)), atol=1e-9)
    assert line.end[-1] == pytest.approx(2.0)
    np.testing.assert_allclose(line.embeddings[line.end <= 1.0, 0], 0, atol=1e-6)
    assert (line.embeddings[line.start >= 1.0, 0] > 0.01).all()


def test_a_short_last_window_is_filled_the_encoders_way() -> None:
    sound = noise(0.1)
    filled = embed_audio(FilledUp(), [(sound, 8_000)])[0]
    by_hand = embed_audio(Moments(), [(np.resize(sound, 4_000), 8_000)])[0]
    np.testing.assert_allclose(filled, by_hand, atol=1e-6)
    assert np.abs(filled - embed_audio(Moments(), [(sound, 8_000)])[0]).max() > 1e-3


def test_what_is_no_list_of_recordings_is_refused(tmp_path: Path) -> None:
    encoder: Encoder = Moments()
    for wrong in ("file.wav", tmp_path, noise(1.0)):
        with pytest.raises(InputError, match="list of recordings"):
            embed_audio(encoder, wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pair"):
        embed_audio(encoder, [(noise(1.0), 8_000, 1)])  # type: ignore[list-item]
    with pytest.raises(AudioError, match=r"missing\.wav"):
        embed_audio(encoder, [tmp_path / "missing.wav"])
    with pytest.raises(PrismError):
        embed_audio(encoder, [noise(1.0)])  # an array without its rate
