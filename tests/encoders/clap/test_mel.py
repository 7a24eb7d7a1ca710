"""CLAP's spectrogram pictures against the extractor of transformers, whose dice they do without."""

from __future__ import annotations

import os

import numpy as np
import pytest

pytest.importorskip("torch", reason="the CLAP encoder's extra is not installed")
transformers = pytest.importorskip("transformers", reason="the CLAP encoder's extra is missing")

from prism_audio.encoders.clap.mel import MelFrontEnd  # noqa: E402
from prism_audio.errors import AssetError, InputError  # noqa: E402

RATE = 48_000
MODES = pytest.mark.parametrize("truncation", ["fusion", "rand_trunc"])


def extractor(truncation: str, padding: str = "repeatpad"):
    return transformers.ClapFeatureExtractor(
        frequency_min=50, truncation=truncation, padding=padding
    )


def front_end(judge) -> MelFrontEnd:
    return MelFrontEnd.of(judge.to_dict())


def expected(judge, sound: np.ndarray) -> np.ndarray:
    """The first picture by transformers; the others of a fused model are copies of it."""
    return np.asarray(judge(sound, sampling_rate=RATE)["input_features"])[0, :1]


def a_sound(kind: str, samples: int) -> np.ndarray:
    time = np.arange(samples) / RATE
    made = {
        "noise": np.random.default_rng(0).standard_normal(samples) * 0.1,
        "whisper": np.random.default_rng(1).standard_normal(samples) * 1e-5,
        "full tone": np.sin(2 * np.pi * 997 * time),
        "sweep": np.sin(2 * np.pi * 50 * time * (28 ** (time / time[-1])))
        if samples > 1
        else np.zeros(1),
        "silence": np.zeros(samples),
        "click": np.eye(1, samples, samples // 2)[0],
    }
    return made[kind].astype(np.float32)


@MODES
@pytest.mark.parametrize("kind", ["noise", "whisper", "full tone", "sweep", "silence", "click"])
def test_pictures_are_those_of_transformers(truncation, kind):
    judge = extractor(truncation)
    window = a_sound(kind, 10 * RATE)
    picture = front_end(judge).pictures(window[None])[0]
    assert picture.dtype == np.float32
    np.testing.assert_allclose(picture, expected(judge, window), atol=1e-4, rtol=0)


@MODES
@pytest.mark.parametrize("padding", ["repeatpad", "repeat", "pad"])
@pytest.mark.parametrize("samples", [1, 1000, 5 * RATE, 5 * RATE + 1, 7 * RATE, 10 * RATE])
def test_short_sounds_are_filled_as_transformers_fills_them(truncation, padding, samples):
    judge = extractor(truncation, padding)
    front = front_end(judge)
    sound = a_sound("noise", samples)
    window = front.fill(sound)
    assert window.shape == (front.samples,)
    np.testing.assert_allclose(
        front.pictures(window[None])[0], expected(judge, sound), atol=1e-4, rtol=0
    )


@MODES
def test_filters_are_those_of_transformers_to_the_bit(truncation):
    # The fingerprint of a PyTorch CLAP hashes them: other bits would disown stored embeddings.
    judge = extractor(truncation)
    wanted = judge.mel_filters if truncation == "fusion" else judge.mel_filters_slaney
    np.testing.assert_array_equal(front_end(judge).filters, wanted)


@MODES
def test_settings_describe_the_front_end(truncation):
    front = front_end(extractor(truncation))
    assert MelFrontEnd.of(front.settings) == front
    judge = transformers.ClapFeatureExtractor(**front.settings)
    sound = a_sound("noise", RATE)
    np.testing.assert_allclose(
        front.pictures(front.fill(sound)[None])[0], expected(judge, sound), atol=1e-4
    )


# From the tests of another implementation (transformers.js, Apache-2.0): thirteen seconds of speech
# at 16 kHz, taken as if they were 48 kHz; two whole repeats, then zeros.
GOLDEN_MEAN = -34.99049377441406
GOLDEN = {
    0: -21.32573890686035,
    1: -26.168411254882812,
    65: -29.716018676757812,
    1002: -32.16273498535156,
    10000: -19.9283390045166,
}
GOLDEN_SAMPLES = 208_000
GOLDEN_SILENT = (60000, 64062, 64063)


def test_what_no_repeat_fills_is_silence_where_others_have_it():
    front = front_end(extractor("rand_trunc"))
    picture = front.picture(front.fill(a_sound("noise", GOLDEN_SAMPLES))).ravel()
    assert picture.shape == (1001 * 64,)
    assert [picture[at] for at in GOLDEN_SILENT] == [-100.0] * 3
    assert picture[: 64 * (2 * GOLDEN_SAMPLES // 480)].min() > -100


@pytest.mark.shared
@pytest.mark.skipif("PRISM_GOLDEN_SPEECH" not in os.environ, reason="needs the file mlk.npy")
def test_golden_values():
    sound = np.fromfile(os.environ["PRISM_GOLDEN_SPEECH"], np.float64).astype(np.float32)
    front = front_end(extractor("rand_trunc"))
    picture = front.picture(front.fill(sound)).ravel()
    assert picture.mean() == pytest.approx(GOLDEN_MEAN, abs=5e-3)
    for at, value in GOLDEN.items():
        assert picture[at] == pytest.approx(value, abs=5e-3)


# What the extractor of transformers.js 4.3.1 (ClapFeatureExtractor with rand_trunc and repeatpad, run by
# Node) gives for `noise_and_sweep`: the mean of a picture, and some of its values.
BY_TRANSFORMERS_JS = {
    480_000: (
        -20.882956305084477,
        {
            0: 16.838397979736328,
            65: 20.65232276916504,
            1002: -21.399560928344727,
            10000: -20.877918243408203,
            30000: -16.621814727783203,
            45000: -10.682634353637695,
            64062: -21.43146324157715,
        },
    ),
    177_600: (
        -40.76012062511937,
        {1: 18.28369140625, 30000: -21.78359031677246, 45000: -22.64295196533203, 60000: -100.0},
    ),
}


def noise_and_sweep(samples: int) -> np.ndarray:
    """The generator of Park and Miller, louder and softer, over a sweep from 100 Hz."""
    state, drawn = 1, np.empty(samples)
    for i in range(samples):
        state = state * 16807 % 2147483647
        drawn[i] = state
    i = np.arange(samples)
    noise = 0.1 * (drawn / 2**30 - 1) * np.cos(i / 9000)
    return (noise + 0.5 * np.sin(2 * np.pi * (100 + i / 100) * i / RATE)).astype(np.float32)


@pytest.mark.parametrize("samples", BY_TRANSFORMERS_JS)
def test_pictures_are_those_of_transformers_js(samples):
    mean, values = BY_TRANSFORMERS_JS[samples]
    front = front_end(extractor("rand_trunc"))
    picture = front.picture(front.fill(noise_and_sweep(samples))).ravel()
    assert picture.mean() == pytest.approx(mean, abs=1e-4)
    for at, value in values.items():
        assert picture[at] == pytest.approx(value, abs=1e-4)


def test_a_tone_is_as_loud_as_another_implementation_says():
    # The tests of textclap (Rust, MIT): a tone of 1 kHz and amplitude 1, from 29.29 to -100 dB.
    tone = np.sin(2 * np.pi * 1000 * np.arange(10 * RATE) / RATE).astype(np.float32)
    picture = front_end(extractor("rand_trunc")).picture(tone)
    assert picture.max() == pytest.approx(29.29, abs=0.005)
    assert picture.min() == -100


def test_the_two_kinds_of_model_have_different_filters():
    window = a_sound("noise", 10 * RATE)[None]
    fused, plain = (front_end(extractor(mode)) for mode in ("fusion", "rand_trunc"))
    assert np.abs(fused.pictures(window) - plain.pictures(window)).max() > 1


@pytest.mark.parametrize("samples", [0, 10 * RATE + 1])
def test_only_what_fits_a_window_can_fill_it(samples):
    with pytest.raises(InputError, match=str(samples)):
        front_end(extractor("fusion")).fill(np.zeros(samples, np.float32))


def test_an_unknown_padding_is_refused():
    with pytest.raises(AssetError, match="mirror"):
        front_end(extractor("fusion", padding="mirror"))
