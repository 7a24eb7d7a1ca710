"""Mix sounds with background noise at a stated signal-to-noise ratio (SNR).

Two ways. :func:`overlay` lays background over the whole of a clip, at the clip's own length.
:func:`scene` makes a soundscape of fixed length with the clip as one event in it. Both are pure
functions: the same sounds, seed and settings give the same samples.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from prism_audio._version import __version__
from prism_audio.audio.decode import decode
from prism_audio.audio.gate import in_samples
from prism_audio.audio.mixing.draws import EventTime, Seed, Snr, asked_snr, draws
from prism_audio.audio.mixing.excerpt import excerpt
from prism_audio.audio.mixing.loudness import level
from prism_audio.errors import InputError
from prism_audio.io.types import Float32, Float64

__all__ = ["EventTime", "Mix", "MixedSound", "load", "overlay", "save", "scene"]

_FADE = 0.01  # seconds at either end of an event in a scene
_CEILING = 1 - 2.0**-15  # the largest sample of a 16-bit file
_MEANING = {
    "rms": "10 log10 of the mean square, over all samples of each part",
    "lufs": "integrated loudness, ITU-R BS.1770 with gating, mono, of each part",
}


class MixedSound(NamedTuple):
    """Mono samples, their rate, and where they come from (facts that JSON can hold)."""

    samples: Float32
    rate: int
    origin: dict[str, Any]


class Mix(NamedTuple):
    """A mixture, and how it was made, as facts that JSON can hold."""

    samples: Float32
    rate: int
    provenance: dict[str, Any]


class _Part(NamedTuple):
    """One ingredient: its samples in the mixture, the sample at which it begins, its gain."""

    samples: Float64
    start: int
    gain_db: float


def load(path: str | os.PathLike[str], rate: int) -> MixedSound:
    """Read a recording for mixing; its name and sha256 become its origin."""
    samples = decode(path, rate)
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return MixedSound(samples, rate, {"file": str(path), "sha256": digest})


def overlay(
    foreground: MixedSound, background: MixedSound, *, snr: Snr, seed: Seed, definition: str = "rms"
) -> Mix:
    """Background over the whole of a clip; the clip keeps its length and its level.

    Parameters
    ----------
    foreground, background : MixedSound
        Of one rate. A random excerpt of the background is used, looped where it is too short.
    snr : float or (low, high)
        Level of the clip minus level of the excerpt in dB, or the bounds of a uniform draw.
    seed : int or sequence of ints
        For many mixtures under one seed give each its own, for example ``(seed, index)``.
    definition : {"rms", "lufs"}
        What a level is; see :mod:`prism_audio.audio.mixing.loudness`.

    Raises
    ------
    InputError
        Also where a part is silent: no SNR is defined then.
    """
    rate = _common_rate(foreground, background)
    chosen = draws(seed)
    asked = asked_snr(snr, chosen.snr)
    clip = foreground.samples.astype(np.float64)
    noise, offset = excerpt(background.samples, rate, len(clip), chosen.excerpt)
    clip_level = _level(clip, foreground, definition)
    noise_gain = clip_level - asked - _level(noise, background, definition)
    parts = _Part(clip, 0, 0.0), _Part(noise * _factor(noise_gain), 0, noise_gain)
    settings = _settings("overlay", snr, seed, definition)
    return _mixed(foreground, background, parts, asked, offset, settings)


def scene(
    foreground: MixedSound,
    background: MixedSound,
    *,
    snr: Snr,
    seed: Seed,
    definition: str = "lufs",
    seconds: float = 10.0,
    reference: float = -36.0,
    event_time: EventTime = EventTime(),
) -> Mix:
    """A soundscape of fixed length with the clip as one event in it: the paper's protocol.

    The background, over the whole scene, is brought to the reference level and the clip, over its
    own length, to ``reference + snr``. An event that would outlast the scene begins earlier; one
    longer than the scene is cut. Its ends are faded over 10 ms. The rest is as in :func:`overlay`.

    Parameters
    ----------
    seconds : float
        Length of the scene.
    reference : float
        Level of the background, in dB of the definition.
    event_time : EventTime
        The law from which the beginning of the event is drawn.
    """
    rate = _common_rate(foreground, background)
    length = in_samples(seconds, rate, "The length of the scene")
    chosen = draws(seed)
    asked = asked_snr(snr, chosen.snr)
    event = _faded(foreground.samples[:length].astype(np.float64), round(_FADE * rate))
    noise, offset = excerpt(background.samples, rate, length, chosen.excerpt)
    start = min(round(event_time.at(chosen.time) * rate), length - len(event))
    event_gain = reference + asked - _level(event, foreground, definition)
    noise_gain = reference - _level(noise, background, definition)
    parts = (
        _Part(event * _factor(event_gain), start, event_gain),
        _Part(noise * _factor(noise_gain), 0, noise_gain),
    )
    settings = _settings("scene", snr, seed, definition)
    settings |= {"reference_db": reference, "event_time": event_time._asdict(), "fade": _FADE}
    return _mixed(foreground, background, parts, asked, offset, settings)


def save(mix: Mix, path: str | os.PathLike[str]) -> None:
    """Write a mixture as 24-bit wav or flac, and its provenance beside it as ``.json``.

    Each file appears whole or not at all, the provenance first.
    """
    import soundfile

    target = Path(path)
    if target.suffix.lower() not in (".wav", ".flac"):
        raise InputError(f"{target}: a mixture is written as .wav or .flac; choose such a name.")
    story = json.dumps({**mix.provenance, "file": target.name}, indent=2, allow_nan=False) + "\n"
    try:
        with tempfile.TemporaryDirectory(prefix=".mix-", dir=target.parent) as folder:
            sound, facts = Path(folder, target.name), Path(folder, "facts.json")
            facts.write_text(story, encoding="utf-8")
            soundfile.write(sound, mix.samples, mix.rate, subtype="PCM_24")
            facts.replace(target.with_suffix(".json"))
            sound.replace(target)
    except (OSError, soundfile.SoundFileError) as error:
        raise InputError(
            f"{target}: it cannot be written ({error}). Check the folder and the space left."
        ) from error


def _mixed(
    foreground: MixedSound,
    background: MixedSound,
    parts: tuple[_Part, _Part],
    asked: float,
    offset: int,
    settings: dict[str, Any],
) -> Mix:
    """Add the parts, keep their sum below full scale, and write down what was done."""
    event, noise = parts
    rate, definition = foreground.rate, settings["level"]
    total = noise.samples.copy()
    total[event.start : event.start + len(event.samples)] += event.samples
    safety = min(1.0, _CEILING / float(np.abs(total).max()))
    safety_db = 20 * float(np.log10(safety))
    measured = level(event.samples * safety, rate, definition)
    measured -= level(noise.samples * safety, rate, definition)
    provenance = {
        "made_by": f"prism-audio {__version__}",
        **settings,
        "rate": rate,
        "seconds": len(total) / rate,
        "snr_db_asked": asked,
        "snr_db_measured": measured if np.isfinite(measured) else None,  # None: below the gate
        "clip_safety_gain_db": safety_db,
        "foreground": {
            **foreground.origin,
            "begins_in_mix": event.start / rate,
            "seconds": len(event.samples) / rate,
            "gain_db": event.gain_db + safety_db,
        },
        "background": {
            **background.origin,
            "excerpt_from": offset / rate,
            "looped": len(background.samples) < len(total),
            "gain_db": noise.gain_db + safety_db,
        },
    }
    return Mix((total * safety).astype(np.float32), rate, provenance)


def _settings(kind: str, snr: Snr, seed: Seed, definition: str) -> dict[str, Any]:
    """What was asked, in types that JSON knows (seeds and SNRs may come as NumPy numbers)."""
    return {
        "kind": kind,
        "snr_db": np.asarray(snr, dtype=np.float64).tolist(),
        "seed": np.asarray(seed).tolist(),
        "level": definition,
        "level_means": _MEANING[definition],
    }


def _common_rate(foreground: MixedSound, background: MixedSound) -> int:
    for sound in (foreground, background):
        if np.ndim(sound.samples) != 1 or not len(sound.samples):
            raise InputError(
                f"{_named(sound)} has samples of shape {np.shape(sound.samples)}; give (n,), mono."
            )
    if foreground.rate != background.rate:
        raise InputError(
            f"The foreground has {foreground.rate} Hz and the background {background.rate} Hz; "
            "load both at one rate."
        )
    return foreground.rate


def _level(samples: Float64, sound: MixedSound, definition: str) -> float:
    found = level(samples, sound.rate, definition)
    if not np.isfinite(found):
        raise InputError(
            f"{_named(sound)} has no level where it is used (it is silent, or not finite), so no SNR "
            "can be set. Leave it out, or take another excerpt with another seed."
        )
    return found


def _named(sound: MixedSound) -> str:
    return str(sound.origin.get("file", "<sound without a name>"))


def _factor(decibels: float) -> float:
    return float(10 ** (decibels / 20))


def _faded(event: Float64, length: int) -> Float64:
    """An event whose first and last samples rise from and fall to nothing."""
    length = min(length, len(event) // 2)
    rise = np.sin(np.pi / 2 * (np.arange(length) + 0.5) / max(1, length)) ** 2
    shape = np.ones(len(event))
    shape[:length] = rise
    shape[len(event) - length :] = rise[::-1]
    return event * shape
