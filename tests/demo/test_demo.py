"""The demonstrations: reproducible sounds, and numbers that are computed, not written down."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio import Adapter
from prism_audio.demo import run as demo
from prism_audio.demo.sounds import SOUNDS, pink_noise, render


@pytest.mark.parametrize("name", SOUNDS)
def test_a_sound_is_the_same_for_a_seed_and_another_for_another(name):
    first, again, other = render(name, 3), render(name, 3), render(name, 4)
    assert first.dtype == np.float32
    assert len(first) == 64_000
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01
    assert np.abs(first).max() == pytest.approx(0.5, abs=1e-6)


def test_noise_falls_with_frequency_as_it_says():
    noise = pink_noise(np.random.default_rng(0), 2**16, slope=1.0)
    power = np.abs(np.fft.rfft(noise)) ** 2
    low, high = power[100:1000].mean(), power[1000:10_000].mean()
    assert low / high == pytest.approx(10, rel=0.2)
    assert np.mean(noise**2) == pytest.approx(1.0)


def test_mixed_clips_have_the_stated_ratio():
    clip = demo.noisy("siren", 5).astype(np.float64)
    sound = render("siren", 5).astype(np.float64)
    scale = (clip @ sound) / (sound @ sound)
    noise = clip / scale - sound
    ratio = 10 * np.log10(np.mean(sound**2) / np.mean(noise**2))
    assert ratio == pytest.approx(demo.SNR_DB, abs=0.3)


def test_the_shipped_embeddings_gain(tmp_path):
    part = demo.real_embeddings(tmp_path)
    assert part.clips == 2000
    assert part.after > part.before + 5
    adapter = Adapter.load(tmp_path / "esc50.safetensors")
    assert len(adapter.labels) == 50
    picture = (tmp_path / "esc50-confusions.svg").read_text()
    assert f"{part.after:.1f} % right" in picture
