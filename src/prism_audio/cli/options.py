"""Options that several commands share, each worded once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Engine(StrEnum):
    """Who does the work."""

    local = "local"
    ray = "ray"


Who = Annotated[Engine, typer.Option(help="Who does the work: this process, or a Ray cluster.")]
Address = Annotated[
    str | None,
    typer.Option(help="With ray: the cluster, host:port; by default one on this machine."),
]

Labels = Annotated[
    str | None,
    typer.Option(
        "--labels", "-l", help='What to listen for: "dog bark, siren", or a .txt or .csv file.'
    ),
]
Background = Annotated[
    str | None,
    typer.Option(help='What is always there: "wind, traffic". Competes, and is not reported.'),
]
Encoder = Annotated[
    str | None,
    typer.Option(help="Encoder: concepts (the default), clap, clap-int8, a hub id, or a path."),
]
Prompts = Annotated[
    str, typer.Option(help="Templates for labels: sentences, plain, or your own file.")
]
Preset = Annotated[str, typer.Option(help="Parameters: default, paper or released.")]
Place = Annotated[
    str | None,
    typer.Option(help="Name of the place, kept in the adapter; by default the folder's name."),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        min=-1.0,
        max=1.0,
        help="Answer 'unknown' where no cosine reaches this; by default the adapter's own rule.",
    ),
]
AdapterFile = Annotated[
    Path | None,
    typer.Option("--adapter", "-a", help="Use this saved adapter; calibrate nothing."),
]
SaveAdapter = Annotated[
    Path | None,
    typer.Option(help="Keep the calibration in this .safetensors file."),
]
Prototypes = Annotated[
    Path | None,
    typer.Option(help="Text vectors of the classes: .npy .npz .parquet .safetensors .pt"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
