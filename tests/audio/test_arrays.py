"""The gate for arrays: every type, shape and rate is understood or refused with the fix."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio.audio.decode import decode, from_array
from prism_audio.errors import InputError
from tests.helpers.sounds import encoded, named, noise, tone


def test_an_array_without_a_rate_is_an_error_that_says_what_to_do():
    with pytest.raises(InputError, match="Give both: the samples and their rate"):
        from_array(np.zeros(100, np.float32), None, 16000)


@pytest.mark.parametrize("rate", [8000, 16000, 44100, 48000])
def test_an_array_is_the_file_it_was_read_from(rate):
    sound = np.stack([tone(0.5, rate), noise(0.5, rate)], axis=1)
    from_file = decode(named(encoded(sound, rate, "wav-float")), 16000)
    np.testing.assert_allclose(from_array(sound, rate, 16000), from_file, atol=1e-6)


def test_the_rate_given_is_the_rate_used():
    sound = tone(1.0, 8000, 500)
    assert len(from_array(sound, 8000, 16000)) == 16000
    assert len(from_array(sound, 48000, 16000)) == pytest.approx(8000 / 3, abs=1)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([-32768, 0, 16384], "int16", [-1, 0, 0.5]),
        ([-(2**31), 0, 2**30], "int32", [-1, 0, 0.5]),
        ([-128, 0, 64], "int8", [-1, 0, 0.5]),
        ([0, 128, 192], "uint8", [-1, 0, 0.5]),
        ([-1, 0, 0.5], "float16", [-1, 0, 0.5]),
        ([-1, 0, 0.5], "float64", [-1, 0, 0.5]),
        ([-1, 0, 0.5], ">f4", [-1, 0, 0.5]),
        ([-32768, 0, 16384], ">i2", [-1, 0, 0.5]),
    ],
)
def test_scales(values, kind, expected):
    out = from_array(np.array(values, dtype=kind), 16000, 16000)
    assert out.dtype == np.dtype("float32")
    assert out.dtype.isnative
    np.testing.assert_array_equal(out, np.float32(expected))


@pytest.mark.parametrize("kind", ["int64", "uint16", "bool", "complex64", "object", "U3"])
def test_types_without_a_known_scale_are_refused(kind):
    with pytest.raises(InputError, match=r"int16|float32"):
        from_array(np.ones(10).astype(kind), 16000, 16000)


def test_time_is_the_longer_axis():
    channels = np.stack([noise(0.1, 16000, seed) for seed in range(3)])
    expected = channels.mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(from_array(channels, 16000, 16000), expected, atol=1e-7)
    np.testing.assert_allclose(from_array(channels.T, 16000, 16000), expected, atol=1e-7)
    mono = noise(0.1, 16000)
    for shaped in (mono, mono[None], mono[:, None], mono.tolist()):
        np.testing.assert_array_equal(from_array(shaped, 16000, 16000), mono)
    assert from_array(np.full((1, 1), 0.5), 16000, 16000).tolist() == [0.5]


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((0,), "empty"),
        ((0, 2), "empty"),
        ((), r"\(n,\)"),
        ((2, 2), "which axis is time"),
        ((2, 3, 4), "list of arrays"),
        ((32, 16000), "32 channels.*list of arrays"),
    ],
)
def test_shapes_that_are_no_sound_are_refused(shape, words):
    with pytest.raises(InputError, match=words):
        from_array(np.zeros(shape, np.float32), 16000, 16000)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_samples_that_are_not_finite_are_refused_with_the_place(bad):
    sound = np.zeros((2, 16000))
    sound[1, 8000] = bad
    with pytest.raises(InputError, match=r"at sample 8000 \(0\.500 s\)"):
        from_array(sound, 16000, 16000)


def test_integers_kept_as_floats_are_refused():
    with pytest.raises(InputError, match="divide by 32768"):
        from_array(np.array([0.0, 1000.0, -20000.0]), 16000, 16000)


def test_the_result_is_never_the_callers_memory():
    sound = noise(0.1, 16000)
    out = from_array(sound, 16000, 16000)
    assert not np.shares_memory(out, sound)
    out[:] = 0
    assert sound.any()


class Tensor:
    """What a torch tensor shows of itself."""

    def __init__(self, array):
        self.array = array

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        if self.array is None:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.array

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


def test_tensors():
    sound = noise(0.1, 16000)
    np.testing.assert_array_equal(from_array(Tensor(sound), 16000, 16000), sound)
    with pytest.raises(InputError, match="BFloat16"):
        from_array(Tensor(None), 16000, 16000)


def test_torch_itself():
    torch = pytest.importorskip("torch")
    sound = noise(0.1, 16000)
    tensor = torch.tensor(sound, requires_grad=True)
    np.testing.assert_array_equal(from_array(tensor, 16000, 16000), sound)


@pytest.mark.parametrize("rate", [0, 12.5, "44100", float("inf"), True])
def test_wrong_rates_are_refused(rate):
    with pytest.raises(InputError, match="Hz"):
        from_array(np.zeros(10), rate, 16000)


@pytest.mark.parametrize("thing", ["clip.wav", None, {"a": 1}, [[1.0], [1.0, 2.0]]])
def test_things_that_are_no_array_are_refused(thing):
    with pytest.raises(InputError):
        from_array(thing, 16000, 16000)
