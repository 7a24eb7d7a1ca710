"""CLAP's spectrogram pictures against the extractor of transformers, whose dice they do without."""

from __future__ import annotations

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


def expected(judge, sound: np.ndarray) -> np.ndarray:
    """The first picture by transformers; the others of a fused model are copies of it."""
    return np.asarray(judge(sound, sampling_rate=RATE)["input_features"])[0, :1]


def a_sound(kind: str, samples: int) -> np.ndarray:
    time = np.arange(samples) / RATE
    made = {
        "noise": np.random.default_rng(0).standard_normal(samples) * 0.1,
        "whisper": np.random.default_rng(1).standard_normal(samples) * 1e-5,
        "full tone": np.sin(2 * np.pi * 997 * time),
        "silence": np.zeros(samples),
        "click": np.eye(1, samples, samples // 2)[0],
    }
    return made[kind].astype(np.float32)


@MODES
@pytest.mark.parametrize("kind", ["noise", "whisper", "full tone", "silence", "click"])
def test_pictures_are_those_of_transformers(truncation, kind):
    judge = extractor(truncation)
    window = a_sound(kind, 10 * RATE)
    picture = MelFrontEnd.of(judge).pictures(window[None])[0]
    assert picture.dtype == np.float32
    np.testing.assert_allclose(picture, expected(judge, window), atol=1e-4, rtol=0)


@MODES
@pytest.mark.parametrize("padding", ["repeatpad", "repeat", "pad"])
@pytest.mark.parametrize("samples", [1, 1000, 5 * RATE, 5 * RATE + 1, 7 * RATE, 10 * RATE])
def test_short_sounds_are_filled_as_transformers_fills_them(truncation, padding, samples):
    judge = extractor(truncation, padding)
    front = MelFrontEnd.of(judge)
    sound = a_sound("noise", samples)
    window = front.fill(sound)
    assert window.shape == (front.samples,)
    np.testing.assert_allclose(
        front.pictures(window[None])[0], expected(judge, sound), atol=1e-4, rtol=0
    )


def test_the_two_kinds_of_model_have_different_filters():
    window = a_sound("noise", 10 * RATE)[None]
    fused, plain = (MelFrontEnd.of(extractor(mode)) for mode in ("fusion", "rand_trunc"))
    assert np.abs(fused.pictures(window) - plain.pictures(window)).max() > 1


@pytest.mark.parametrize("samples", [0, 10 * RATE + 1])
def test_only_what_fits_a_window_can_fill_it(samples):
    with pytest.raises(InputError, match=str(samples)):
        MelFrontEnd.of(extractor("fusion")).fill(np.zeros(samples, np.float32))


def test_an_unknown_padding_is_refused():
    with pytest.raises(AssetError, match="mirror"):
        MelFrontEnd.of(extractor("fusion", padding="mirror"))
