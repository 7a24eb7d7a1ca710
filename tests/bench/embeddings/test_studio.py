from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from prism_audio.bench.embeddings.mixtures import mixture
from prism_audio.bench.experiment.conditions import Condition, Recipe
from prism_audio.encoders import embed_audio
from prism_audio.errors import InputError
from tests.helpers.tiny_bench import RATE, BandEncoder, world

HERE = Condition("cellar", -6.0)


def test_embeddings_are_those_of_the_mixtures(tmp_path: Path) -> None:
    bench = world(tmp_path)
    studio = bench.studio
    arrays = studio.arrays(HERE)
    sounds = [
        (mixture(studio.sounds[n], n, HERE, studio.recipe, studio.backgrounds["cellar"]), RATE)
        for n in range(len(bench.clips))
    ]
    np.testing.assert_allclose(arrays["embedding"], embed_audio(BandEncoder(), sounds), atol=1e-6)
    np.testing.assert_array_equal(arrays["snr"], np.full(len(sounds), -6, np.float32))
    pooled = [studio.encoder.pool(row[None], np.ones(1, np.float32)) for row in arrays["features"]]
    np.testing.assert_allclose(arrays["embedding"], pooled, atol=1e-6)


def test_what_was_embedded_is_found_again(tmp_path: Path) -> None:
    first = world(tmp_path).studio.embedding(HERE)
    listener = BandEncoder()
    again = world(tmp_path, listener).studio.embedding(HERE)
    assert listener.calls == 0
    np.testing.assert_array_equal(first, again)


def test_another_seed_encoder_or_clip_is_embedded_anew(tmp_path: Path) -> None:
    before = world(tmp_path).studio.path(HERE)
    other = BandEncoder()
    other.fingerprint = "bands-2"
    assert world(tmp_path, other).studio.path(HERE) != before
    assert world(tmp_path, recipe=Recipe((-6.0, 6.0), seed=4)).studio.path(HERE) != before
    assert world(tmp_path, recipe=Recipe((-6.0,), seed=3)).studio.path(HERE) == before
    clip = next((tmp_path / "data" / "audio").iterdir())
    samples, rate = soundfile.read(clip)
    soundfile.write(clip, samples * 0.9, rate)
    assert world(tmp_path).studio.path(HERE) != before


def test_all_unusable_clips_are_named_at_once(tmp_path: Path) -> None:
    world(tmp_path)
    folder = tmp_path / "data" / "audio"
    (folder / "1-0-A-0.wav").write_text("no sound")
    soundfile.write(folder / "1-1-A-2.wav", np.zeros(RATE), RATE)
    bench = world(tmp_path)
    with pytest.raises(InputError, match="2 of 40 clips") as caught:
        bench.studio.arrays(HERE)
    assert 'leave_out = ["1-0-A-0", "1-1-A-2"]' in str(caught.value)
    without = world(tmp_path, leave_out=("1-0-A-0", "1-1-A-2"))
    assert len(without.studio.embedding(HERE)) == 38 == len(without.clips.truth)


def test_a_place_is_heard_by_itself(tmp_path: Path) -> None:
    bench = world(tmp_path)
    rows = bench.studio.place("cellar")
    sounds = sorted((tmp_path / "places" / "cellar").iterdir())
    np.testing.assert_allclose(rows, embed_audio(BandEncoder(), sounds), atol=1e-6)
    context = bench.studio.context("background_text", "cellar")
    assert context.background_text.shape == (3, BandEncoder.dim)
