"""Sound that comes as an array: its type, shape and scale are checked before it passes the gate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_audio.audio.gate import check_rate, mono_blocks
from prism_audio.errors import InputError
from prism_audio.io.types import Float32

MOST_CHANNELS = 16
# Full scale of the integer types that recorders and libraries write.
_FULL_SCALE = {"int8": 2.0**7, "int16": 2.0**15, "int32": 2.0**31}


def from_array(samples: Any, rate_of_samples: int | None, rate: int) -> Float32:
    """One sound, given as an array, as mono float32 at ``rate``.

    Parameters
    ----------
    samples : array or tensor, (n,), (n, channels) or (channels, n)
        The longer of two axes is time; channels (up to 16) are averaged. Floats have full scale 1;
        int8, int16 and int32 are divided by their full scale; uint8 is 128 at rest, as in wav
        files. Anything that NumPy reads as an array will do, and so will a torch tensor.
    rate_of_samples : int
        The rate of ``samples`` in Hz. An array does not know its rate, so there is no default.
    rate : int
        The rate wanted, in Hz.

    Returns
    -------
    (m,) float32, a new array.

    Raises
    ------
    InputError
        With what came, what is wanted and what to do.
    """
    if rate_of_samples is None:
        raise InputError(
            "An array came without its sampling rate, and the same numbers sound different at "
            "16000 and 48000 Hz. Give both: the samples and their rate in Hz."
        )
    from_rate = check_rate(rate_of_samples, "The sampling rate of the array")
    to_rate = check_rate(rate, "The sampling rate wanted")
    sound = _scaled(_time_first(_as_array(samples)))
    parts = list(mono_blocks([sound], from_rate, to_rate, _refusal))
    return parts[0].copy() if len(parts) == 1 else np.concatenate(parts)


def _refusal(reason: str) -> InputError:
    return InputError(
        f"The array cannot be used: {reason}. Samples are finite, with full scale 1; "
        "for integers kept as floats divide by 32768 first."
    )


def _as_array(samples: Any) -> NDArray[Any]:
    try:
        if hasattr(samples, "detach") and hasattr(samples, "cpu"):
            samples = samples.detach().cpu().numpy()
        return np.asarray(samples)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"A {type(samples).__name__} cannot be read as an array of samples ({error}). "
            "Give a NumPy array of float32 or int16."
        ) from error


def _time_first(array: NDArray[Any]) -> NDArray[Any]:
    """Samples as (n, channels)."""
    shape = array.shape
    if array.size == 0:
        raise InputError(f"The array is empty (shape {shape}). Give at least one sample.")
    if array.ndim == 1:
        return array[:, None]
    if array.ndim != 2:
        raise InputError(
            f"The array has shape {shape}; one sound has (n,), (n, channels) or (channels, n). "
            "Give several sounds as a list of arrays."
        )
    if shape[0] == shape[1] > 1:
        raise InputError(
            f"The array has shape {shape}: which axis is time cannot be told. "
            "Average the channels first, for example samples.mean(axis=channel_axis)."
        )
    if min(shape) > MOST_CHANNELS:
        raise InputError(
            f"The array has shape {shape}, that is {min(shape)} channels; at most {MOST_CHANNELS} "
            "are taken for one sound. Give several sounds as a list of arrays."
        )
    return array if shape[0] >= shape[1] else array.T


def _scaled(array: NDArray[Any]) -> NDArray[np.floating]:
    """Samples as floats with full scale 1."""
    name = array.dtype.name
    if array.dtype.kind == "f":
        return array if array.dtype.itemsize >= 4 else array.astype(np.float32)
    if name in _FULL_SCALE:
        return array / _FULL_SCALE[name]
    if name == "uint8":
        return (array.astype(np.float32) - 128.0) / 128.0
    raise InputError(
        f"The array holds {name}; sound comes as float16 to float64, int8, int16, int32 or uint8. "
        "Convert it, for example samples.astype('int16') or samples / 32768."
    )
