"""Spectral gating before the encoder."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from prism_audio import PrismError
from prism_audio.methods.denoise import denoise

RATE = 16000
RNG = np.random.default_rng(0)


def scene(seconds=3.0):
    """A burst (all frequencies, a quarter of a second), and steady noise."""
    t = np.arange(int(seconds * RATE)) / RATE
    burst = 0.3 * RNG.standard_normal(len(t)) * ((t > 1) & (t < 1.25))
    return burst, 0.02 * RNG.standard_normal(len(t))


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "noisereduce", None)
    with pytest.raises(PrismError, match=r"pip install .*denoise"):
        denoise(np.zeros(RATE), RATE)


@pytest.fixture
def gate():
    pytest.importorskip("noisereduce")
    return denoise


def test_noise_goes_and_the_event_stays(gate):
    burst, noise = scene()
    clean = gate(burst + noise, RATE)
    assert clean.dtype == np.float32
    assert clean.shape == burst.shape
    event = slice(int(1.05 * RATE), int(1.2 * RATE))
    rest = slice(int(2 * RATE), None)
    assert np.std(clean[rest]) < 0.3 * np.std(noise[rest])
    assert np.std(clean[event]) > 0.5 * np.std(burst[event])
    assert np.array_equal(clean, gate(burst + noise, RATE))


@pytest.mark.parametrize("samples", [1, 100, 5000, 60000])
def test_silence_stays_silence(gate, samples):
    clean = gate(np.zeros(samples, np.float32), RATE)
    assert clean.shape == (samples,)
    assert np.abs(clean).max() < 1e-7


def test_silence_before_the_sound(gate):
    burst, noise = scene()
    padded = np.concatenate([np.zeros(2 * RATE), burst + noise, np.zeros(2 * RATE)])
    assert np.isfinite(gate(padded, RATE)).all()


def test_channels_are_averaged_and_bad_samples_refused(gate):
    burst, noise = scene()
    stereo = np.stack([burst + noise, burst + noise], axis=1)
    np.testing.assert_allclose(gate(stereo, RATE), gate(burst + noise, RATE), atol=1e-6)
    with pytest.raises(PrismError):
        gate(np.array([0.0, np.nan]), RATE)
