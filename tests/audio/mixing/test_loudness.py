"""Levels: against the numbers that ITU-R BS.1770 and EBU Tech 3341 print."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio.audio.mixing.loudness import k_filters, level, lufs, rms
from prism_audio.errors import InputError
from tests.helpers.sounds import noise, tone


def test_filters_are_those_printed_in_the_standard():
    (shelf_b, shelf_a), (high_b, high_a) = k_filters(48000)
    np.testing.assert_allclose(
        shelf_b, [1.53512485958697, -2.69169618940638, 1.19839281085285], atol=1e-8
    )
    np.testing.assert_allclose(shelf_a, [1, -1.69065929318241, 0.73248077421585], atol=1e-8)
    np.testing.assert_allclose(high_b, [1, -2, 1])
    np.testing.assert_allclose(high_a, [1, -1.99004745483398, 0.99007225036621], atol=1e-8)


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 44100, 48000, 96000])
def test_calibration_tone_at_full_scale_reads_minus_3_01(rate):
    assert lufs(tone(5.0, rate, 997, peak=1.0), rate) == pytest.approx(-3.01, abs=0.05)


def test_calibration_tone_at_48_khz_to_the_second_decimal():
    assert lufs(tone(20.0, 48000, 997, peak=1.0), 48000) == pytest.approx(-3.01, abs=0.005)


@pytest.mark.parametrize("hertz", [60, 200, 3000, 7000])
@pytest.mark.parametrize("rate", [32000, 44100])
def test_other_rates_weigh_frequencies_as_48_khz_does(hertz, rate):
    here, there = (lufs(tone(3.0, r, hertz), r) for r in (rate, 48000))
    assert here == pytest.approx(there, abs=0.2)


def sequence(*parts: tuple[float, float]) -> np.ndarray:
    """Tones of 1 kHz; a sine of peak p dB in both channels of a stereo file reads p LUFS."""
    return np.concatenate([tone(s, 48000, 1000, peak=10 ** (db / 20)) for s, db in parts])


STEREO = 10 * np.log10(2)  # mono has half the power of the two equal channels of the tests


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([(20, -23)], -23),
        ([(20, -33)], -33),
        ([(10, -36), (60, -23), (10, -36)], -23),
        ([(10, -72), (10, -36), (60, -23), (10, -36), (10, -72)], -23),
        ([(20, -26), (20.1, -20), (20, -26)], -23),
    ],
)
def test_minimum_requirement_signals_of_tech_3341(parts, expected):
    assert lufs(sequence(*parts), 48000) + STEREO == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("definition", ["rms", "lufs"])
def test_ten_decibels_more_read_ten_more(definition):
    sound = noise(2.0, 16000).astype(np.float64)
    louder = level(sound * 10**0.5, 16000, definition)
    assert louder - level(sound, 16000, definition) == pytest.approx(10, abs=1e-9)


def test_rms_of_what_one_knows():
    assert rms(np.ones(100), 16000) == 0
    assert rms(np.full(100, 0.1), 16000) == pytest.approx(-20)
    assert rms(tone(1.0, 16000, 100, peak=1.0), 16000) == pytest.approx(-3.0103, abs=1e-4)


def test_a_short_sound_is_measured_as_if_repeated():
    click = noise(0.05, 16000)
    assert lufs(click, 16000) == pytest.approx(lufs(np.tile(click, 40), 16000), abs=0.5)


@pytest.mark.parametrize("definition", ["rms", "lufs"])
def test_silence_is_minus_infinity(definition):
    for length in (1, 100, 32000):
        assert level(np.zeros(length), 16000, definition) == -np.inf


def test_quieter_than_the_gate_is_silence():
    assert lufs(tone(2.0, 48000, 1000, peak=10 ** (-75 / 20)), 48000) == -np.inf


@pytest.mark.parametrize(("samples", "definition"), [(np.zeros(0), "rms"), (np.ones(9), "peak")])
def test_wrong_questions(samples, definition):
    with pytest.raises(InputError):
        level(samples, 16000, definition)
