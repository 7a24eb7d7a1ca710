"""``prism mix``: mix sounds with background noise at a stated SNR."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prism_audio.cli import options
from prism_audio.cli.console import end, printable, say, say_json
from prism_audio.errors import InputError, PrismError

if TYPE_CHECKING:
    from prism_audio.audio.mixing.mix import MixedSound


class Kind(StrEnum):
    """How a sound and a background are mixed."""

    overlay = "overlay"
    scene = "scene"


class Level(StrEnum):
    """How the level of a sound is measured."""

    rms = "rms"
    lufs = "lufs"


def command(
    foreground: Annotated[
        Path, typer.Argument(exists=True, help="A recording, or a folder of them.")
    ],
    background: Annotated[
        Path, typer.Argument(exists=True, help="A recording, or a folder of them.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A .wav or .flac file; a folder for a folder.")
    ],
    snr: Annotated[
        str, typer.Option(help="Decibels; LOW:HIGH draws one for every recording.")
    ] = "0",
    kind: Annotated[
        Kind, typer.Option(help="Background over the whole sound, or a scene of 10 s around it.")
    ] = Kind.overlay,
    level: Annotated[
        Level | None, typer.Option(help="Loudness in a scene, power otherwise, by default.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 0,
    rate: Annotated[
        int | None, typer.Option(help="In Hz; by default that of the foreground.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Mix sounds with background noise at a stated signal-to-noise ratio.

    A JSON file beside every mixture says how it was made: which files (with their
    sha256), which part of the background, when the sound begins, every gain, the
    SNR asked for and the SNR measured. With a folder of backgrounds each sound
    gets one of them, drawn from the seed.

    Example: [bold]prism mix dog.wav street.wav --snr -6 -o dog_street.wav[/bold]
    """
    jobs = plan(foreground, background, out, seed)
    mixer = Mixer(parse_snr(snr), kind, level, rate)
    done: list[dict[str, Any]] = []
    failures: list[tuple[str | Path, str]] = []
    for number, (sound, noise, target) in enumerate(jobs):
        try:
            facts = mixer.make(sound, noise, target, (seed, number))
        except PrismError as error:
            failures.append((sound, str(error)))
            continue
        done.append({**facts, "file": printable(target)})
        if not as_json:
            say(f"{printable(target)}  {facts['snr_db_asked']:+.1f} dB in {printable(noise)}")
    if as_json:
        say_json(done)
    end(failures)


def parse_snr(text: str) -> float | tuple[float, float]:
    """``-6``, or ``-6:15`` for a draw between the two."""
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) == 1:
        return numbers[0]
    if len(numbers) == 2 and numbers[0] <= numbers[1]:
        return numbers[0], numbers[1]
    raise typer.BadParameter(
        f"{text!r} is not an SNR; give decibels (-6) or two bounds (-6:15)", param_hint="--snr"
    )


def plan(foreground: Path, background: Path, out: Path, seed: int) -> list[tuple[Path, Path, Path]]:
    """Sound, background and target file of every mixture."""
    import numpy as np

    sounds, noises = _recordings(foreground), _recordings(background)
    targets = [out]
    if foreground.is_dir():
        targets = [(out / sound.relative_to(foreground)).with_suffix(".wav") for sound in sounds]
    elif out.suffix.lower() not in (".wav", ".flac"):
        raise typer.BadParameter(f"{out} must end in .wav or .flac", param_hint="--out")
    _refuse_overwriting(sounds, noises, targets)
    chosen = [
        noises[np.random.default_rng((seed, number, 1)).integers(len(noises))]
        for number in range(len(sounds))
    ]
    return list(zip(sounds, chosen, targets, strict=True))


@dataclass
class Mixer:
    """Makes mixtures with the same settings; a background is decoded once for each rate."""

    snr: float | tuple[float, float]
    kind: Kind
    level: Level | None
    rate: int | None
    _noises: dict[tuple[Path, int], MixedSound] = field(default_factory=dict)

    def make(self, sound: Path, noise: Path, target: Path, seed: tuple[int, int]) -> dict[str, Any]:
        """Make and write one mixture; returns the facts about it."""
        from prism_audio.audio.decode import probe
        from prism_audio.audio.mixing import mix

        hertz = self.rate or probe(sound).rate
        if (noise, hertz) not in self._noises:
            self._noises[noise, hertz] = mix.load(noise, hertz)
        parts = mix.load(sound, hertz), self._noises[noise, hertz]
        mixed, usual = (mix.scene, "lufs") if self.kind is Kind.scene else (mix.overlay, "rms")
        definition = usual if self.level is None else self.level.value
        made = mixed(*parts, snr=self.snr, seed=seed, definition=definition)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PrismError(f"cannot make {target.parent}: {error.strerror or error}") from error
        mix.save(made, target)
        return made.provenance


def _recordings(path: Path) -> list[Path]:
    from prism_audio.datasets.folder import audio_files, nothing_found

    if not path.is_dir():
        return [path]
    files = audio_files(path)
    if not files:
        raise nothing_found(path)
    return files


def _refuse_overwriting(sounds: list[Path], noises: list[Path], targets: list[Path]) -> None:
    """Refuse targets that would overwrite a recording or another mixture."""
    used = {path.resolve(): path for path in (*sounds, *noises)}
    first: dict[Path, Path] = {}
    for sound, target in zip(sounds, targets, strict=True):
        if target.resolve() in used:
            raise InputError(f"{target} is one of the recordings to mix; choose another --out")
        if target in first:
            raise InputError(
                f"{first[target]} and {sound} would both become {target}; rename one of them"
            )
        first[target] = sound
