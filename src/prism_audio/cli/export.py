"""``prism export``: an adapter for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prism_audio.cli import options
from prism_audio.cli.console import printable, say, say_json
from prism_audio.errors import InputError
from prism_audio.io.table_files import check_output

if TYPE_CHECKING:
    from prism_audio.model.adapter import Adapter

# Format, and the suffix that means it.
FORMATS = {
    "onnx": ".onnx",
    "json": ".json",
    "npz": ".npz",
    "c": ".h",
    "sentence-transformers": "",
}


def command(
    adapter: Annotated[Path, typer.Argument(help="The file that 'prism calibrate' wrote.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A .onnx, .json, .npz or .h file, or a new folder.")
    ],
    form: Annotated[
        str | None,
        typer.Option("--format", help=f"By the name of the file, or one of {', '.join(FORMATS)}."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Write an adapter in a form that other programs read.

    .onnx: embeddings in, cosines and labels out; checked with onnxruntime before
    it is kept. .json and .npz: adapted prototypes and biases, to use in place of
    the text vectors of any pipeline. .h: C99 without dependencies. A folder:
    sentence-transformers modules (Normalize, Dense, Normalize).

    Example: [bold]prism export site.safetensors -o site.onnx[/bold]
    """
    from prism_audio.model.adapter import Adapter

    kinds = {suffix: name for name, suffix in FORMATS.items()}
    kind = form or kinds.get(out.suffix.lower())
    if kind not in FORMATS:
        raise InputError(
            f"{out}: what this is to be is not clear from its name; end it in "
            f"{', '.join(filter(None, kinds))}, or say --format {'|'.join(FORMATS)}"
        )
    found = Adapter.load(adapter)
    if kind != "sentence-transformers":
        check_output(out)
    told = _write(found, kind, out)
    if as_json:
        C, d = found.prototypes.shape
        say_json({"file": printable(out), "format": kind, "classes": C, "dim": d, **told})
    else:
        size = f"{found.dim} numbers in, {len(found.labels)} classes out"
        say(f"wrote {printable(out)} ({kind}): {size}")
        if "largest_difference" in told:
            say(f"  onnxruntime agrees with NumPy to {told['largest_difference']:.1e}")


def _write(adapter: Adapter, kind: str, out: Path) -> dict[str, float]:
    if kind == "onnx":
        from prism_audio.export.onnx import write_onnx

        return {"largest_difference": write_onnx(adapter, out)}
    if kind == "c":
        from prism_audio.export.c_header import write_c_header

        write_c_header(adapter, out)
    elif kind == "sentence-transformers":
        from prism_audio.export.sentence_transformers import write_modules

        write_modules(adapter, out)
    else:
        from prism_audio.export.arrays import write_json, write_npz

        (write_json if kind == "json" else write_npz)(adapter, out)
    return {}
