"""Synthetic sounds rendered with NumPy, for the demonstration and for tests.

Pitch, rhythm and timbre of every clip are drawn from a random generator: the same seed gives the same
bytes, and clips of one class differ. The sounds are rough imitations; results on them say nothing
about real recordings.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float64]
Rng = np.random.Generator
Render = Callable[[Rng, Samples, int], Samples]


def render(
    name: str, seed: int, *, seconds: float = 4.0, rate: int = 16_000
) -> NDArray[np.float32]:
    """One clip of the sound ``name``, peak at 0.5; the same arguments give the same bytes."""
    rng = np.random.default_rng([seed, *name.encode()])
    t = np.arange(round(seconds * rate)) / rate
    x = SOUNDS[name](rng, t, rate)
    return (0.5 * x / max(float(np.abs(x).max()), 1e-9)).astype(np.float32)


def pink_noise(rng: Rng, n: int, slope: float = 1.0) -> Samples:
    """Noise whose power falls with frequency as 1 / f^slope, unit root mean square."""
    spectrum = np.fft.rfft(rng.standard_normal(n))
    spectrum[1:] *= np.arange(1, len(spectrum)) ** (-slope / 2)
    spectrum[0] = 0
    x = np.fft.irfft(spectrum, n)
    return np.asarray(x / np.sqrt(np.mean(x**2)))


def _tone(phase: Samples, partials: list[float]) -> Samples:
    """Sum of harmonics with these amplitudes; ``phase`` in cycles of the fundamental."""
    waves = [a * np.sin(2 * np.pi * (k + 1) * phase) for k, a in enumerate(partials)]
    return np.asarray(np.sum(waves, axis=0))


def _sweep(frequency: Samples, rate: int) -> Samples:
    """Phase in cycles of a tone whose frequency follows ``frequency``."""
    return np.cumsum(frequency) / rate


def _strikes(t: Samples, times: Samples, sound: Callable[[Samples], Samples]) -> Samples:
    """``sound``, a function of the time since its start, begun at every one of ``times``."""
    out = np.zeros_like(t)
    for start in times:
        first = int(np.searchsorted(t, start))
        out[first:] += sound(t[first:] - start)
    return out


def _siren(rng: Rng, t: Samples, rate: int) -> Samples:
    low, high = rng.uniform(500, 700), rng.uniform(1200, 1600)
    wail = 0.5 - 0.5 * np.cos(2 * np.pi * rng.uniform(0.2, 0.5) * t + rng.uniform(0, 6))
    return _tone(_sweep(low + (high - low) * wail, rate), [1, 0.5, 0.35, 0.2, 0.1])


def _car_horn(rng: Rng, t: Samples, _rate: int) -> Samples:
    base = rng.uniform(330, 450)
    partials = [1, 0.8, 0.9, 0.6, 0.5, 0.4, 0.3, 0.2]
    chord = _tone(base * t, partials) + _tone(base * rng.uniform(1.2, 1.28) * t, partials)
    gaps = _strikes(t, np.sort(rng.uniform(0, t[-1], 3)), lambda s: (s < 0.8).astype(float))
    return chord * np.minimum(gaps, 1)


def _bell(rng: Rng, t: Samples, _rate: int) -> Samples:
    base = rng.uniform(350, 700)
    ratios, decay = [0.56, 0.92, 1.19, 1.71, 2.0, 2.74, 3.0, 3.76], rng.uniform(1.0, 2.0)

    def struck(s: Samples) -> Samples:
        waves = [np.sin(2 * np.pi * base * r * s) * np.exp(-s * r / decay) for r in ratios]
        return np.asarray(np.sum(waves, axis=0))

    return _strikes(t, np.arange(rng.uniform(0, 0.3), t[-1], rng.uniform(0.9, 1.6)), struck)


def _telephone(rng: Rng, t: Samples, _rate: int) -> Samples:
    base, trill = rng.uniform(900, 1300), rng.uniform(18, 24)
    ring = _strikes(
        t,
        np.arange(0, t[-1], 1 / trill),
        lambda s: (
            np.exp(-s * 25) * (np.sin(2 * np.pi * base * s) + np.sin(2 * np.pi * base * 1.6 * s))
        ),
    )
    on = ((t + rng.uniform(0, 1.5)) % 3.0) < 1.8
    return ring * on


def _clock(rng: Rng, t: Samples, rate: int) -> Samples:
    period, pitch = rng.uniform(0.4, 0.55), rng.uniform(2000, 3500)
    noise = rng.standard_normal(rate // 50)

    def tick(s: Samples) -> Samples:
        click = np.exp(-s * 350) * np.sin(2 * np.pi * pitch * s)
        click[: len(noise)] += 0.4 * noise[: len(click)] * np.exp(-s[: len(noise)] * 500)
        return click

    return _strikes(t, np.arange(rng.uniform(0, period), t[-1], period), tick)


def _gunshot(rng: Rng, t: Samples, _rate: int) -> Samples:
    burst, tail = rng.standard_normal(len(t)), pink_noise(rng, len(t), 1.0)
    decay, room = rng.uniform(30, 60), rng.uniform(4, 8)

    def shot(s: Samples) -> Samples:
        n = len(s)
        return burst[:n] * np.exp(-s * decay) + 0.25 * tail[:n] * np.exp(-s * room)

    return _strikes(t, np.sort(rng.uniform(0.1, t[-1] - 0.5, rng.integers(1, 4))), shot)


def _music(rng: Rng, t: Samples, _rate: int) -> Samples:
    root, beat = rng.uniform(180, 320), rng.uniform(0.22, 0.35)
    scale = root * 2 ** (np.array([0, 2, 4, 7, 9, 12, 14, 16]) / 12)
    out = np.zeros_like(t)
    for k, start in enumerate(np.arange(0, t[-1], beat)):
        for pitch in rng.choice(scale, 1 + 2 * (k % 4 == 0), replace=False):
            out += _strikes(t, np.array([start]), partial(_note, pitch=float(pitch)))
    return out


def _note(s: Samples, pitch: float) -> Samples:
    """A plucked note ``s`` seconds after it was played."""
    envelope = np.exp(-s * 4) * (1 - np.exp(-s * 200))
    return np.asarray(_tone(pitch * s, [1, 0.5, 0.3, 0.15]) * envelope)


def _alarm_clock(rng: Rng, t: Samples, _rate: int) -> Samples:
    pitch = rng.uniform(1900, 2400)
    on = (((t + rng.uniform(0, 1)) % 1.0) < 0.5) & ((t % 0.125) < 0.07)
    return np.asarray(np.sign(np.sin(2 * np.pi * pitch * t)) * on)


def _rain(rng: Rng, t: Samples, rate: int) -> Samples:
    hiss = np.diff(pink_noise(rng, len(t) + 1, 1.0))
    out: Samples = hiss / np.sqrt(np.mean(hiss**2))
    for start in rng.integers(0, len(t) - 200, int(60 * t[-1])):
        s = np.arange(200) / rate
        pitch = rng.uniform(1500, 5000)
        out[start : start + 200] += (
            rng.exponential(2.0) * np.exp(-s * 600) * np.sin(2 * np.pi * pitch * s)
        )
    return out


def _crickets(rng: Rng, t: Samples, _rate: int) -> Samples:
    pitch, pulse = rng.uniform(4200, 5200), rng.uniform(28, 36)
    chirp = ((t * pulse) % 1 < 0.5) & (((t + rng.uniform(0, 1)) * rng.uniform(1.6, 2.4)) % 1 < 0.4)
    return np.asarray(np.sin(2 * np.pi * pitch * t) * chirp)


# The names are the labels in the demonstration.
SOUNDS: dict[str, Render] = {
    "siren": _siren,
    "car horn": _car_horn,
    "church bell": _bell,
    "telephone ringing": _telephone,
    "clock ticking": _clock,
    "gunshot": _gunshot,
    "music": _music,
    "alarm clock": _alarm_clock,
    "rain": _rain,
    "crickets": _crickets,
}
