"""``prism export-encoder``: a CLAP model of PyTorch as ONNX files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prism_audio.cli import options
from prism_audio.cli.console import note, printable, say, say_json
from prism_audio.errors import InputError

if TYPE_CHECKING:
    from prism_audio.encoders.clap.encoder import ClapEncoder
    from prism_audio.io.types import Float32

# Recordings compared at most; a model of full size takes about a second for two of them.
_RECORDINGS = 200


def command(
    model: Annotated[
        str, typer.Argument(help="A CLAP model: a hub id, a folder, or LAION's .pt file.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="A new folder.")],
    recordings: Annotated[
        Path | None,
        typer.Option(help="Sounds to compare on: a folder; made sounds by default."),
    ] = None,
    labels: options.Labels = None,
    as_json: options.Json = False,
) -> None:
    r"""Write a CLAP model as ONNX files, for machines without PyTorch.

    The folder gets both towers in float32 and in eight bits, the tokenizer
    and the settings. They are compared with PyTorch before they are kept;
    drift.json says how far they are apart in cosine and how many sounds keep
    their label. Needs PyTorch here (pip install 'prism-audio\[clap,onnx]'),
    and nowhere else.

    Example: [bold]prism export-encoder laion/clap-htsat-fused -o clap-onnx[/bold]
    """
    from prism_audio.encoders.clap.encoder import ClapEncoder
    from prism_audio.encoders.clap.export.drift import LABELS, Probe, made_sounds
    from prism_audio.encoders.clap.export.write import export_clap, file_sizes
    from prism_audio.encoders.prompts import read_labels

    words = read_labels(labels or LABELS)
    note(f"loading {model}")
    encoder = ClapEncoder(model)
    windows = _windows(encoder, recordings) if recordings else made_sounds(encoder)
    drifts = export_clap(encoder, out, Probe(windows, words), note)
    sizes = file_sizes(out)
    if as_json:
        documents = {name: drift.document() for name, drift in drifts.items()}
        say_json({"folder": printable(out), "bytes": sizes, "drift": documents})
        return
    say(f"wrote {printable(out)}")
    for name, drift in drifts.items():
        say(
            f"  {name}: {sizes[name] / 1e6:.0f} MB; 1 - cosine at most {drift.audio[1]:.1e} for "
            f"{drift.sounds} sounds, {drift.text[1]:.1e} for {drift.texts} texts; "
            f"{drift.same:.1%} keep their label"
        )
    say(f"use it with --encoder {printable(out)} (float32) or --encoder onnx-int8:{printable(out)}")


def _windows(encoder: ClapEncoder, folder: Path) -> Float32:
    """The first window of every recording in a folder, of at most so many."""
    import numpy as np

    from prism_audio.audio.windows import encoder_windows
    from prism_audio.datasets.folder import audio_files

    files = list(audio_files(folder))[:_RECORDINGS]
    if not files:
        raise InputError(f"{folder} holds no recordings to compare on")
    return np.stack([next(iter(encoder_windows(encoder, file))).samples for file in files])
