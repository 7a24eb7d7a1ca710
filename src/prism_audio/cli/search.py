"""``prism search``: the clips of a store that are nearest to words or to a sound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prism_audio.cli import options
from prism_audio.cli.console import note, printable, say_json
from prism_audio.cli.text_tables import number, show_table
from prism_audio.errors import InputError
from prism_audio.io.table_files import SUFFIXES, check_output, write_table

if TYPE_CHECKING:
    from prism_audio.encoders.protocol import Encoder
    from prism_audio.io.types import Float
    from prism_audio.model.adapter import Adapter


def command(
    store: Annotated[Path, typer.Argument(help="A store of 'prism embed'.")],
    query: Annotated[str, typer.Argument(help='Words, "breaking glass", or a recording.')],
    n: Annotated[int, typer.Option("-n", min=1, help="Clips to show.")] = 20,
    adapter: Annotated[
        Path | None,
        typer.Option("--adapter", "-a", help="Search in the corrected space of this place."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write them to .csv, .json or .parquet.")
    ] = None,
    prompts: options.Prompts = "sentences",
    as_json: options.Json = False,
) -> None:
    """Find the clips that sound most like words, or like a recording.

    For rare sounds that are worth a label. Every row is compared, in blocks:
    there is no index to build, and memory does not grow with the store.

    Example: [bold]prism search embeddings "breaking glass" -n 20[/bold]
    Example: [bold]prism search embeddings clip.wav -a site.safetensors[/bold]
    """
    from prism_audio.labelling.calibration import refuse_other_encoder
    from prism_audio.labelling.search import nearest
    from prism_audio.labelling.sources import as_encoder
    from prism_audio.model.adapter import Adapter
    from prism_audio.store.store import Store

    if out is not None:
        check_output(out, SUFFIXES)
    site = Adapter.load(adapter) if adapter is not None else None
    rows = Store.open(store)
    about = rows.settings
    if site is not None:
        refuse_other_encoder(site, about.fingerprint, about.encoder, str(adapter))
    vector = _vector(query, as_encoder(about.encoder), prompts, site)
    paths, start, end = rows.paths, rows.start, rows.end
    hits: list[dict[str, Any]] = [
        {
            "file": printable(paths[hit.row]),
            "start": round(float(start[hit.row]), 3),
            "end": round(float(end[hit.row]), 3),
            "score": round(hit.score, 6),
        }
        for hit in nearest(rows, vector, n, site)
    ]
    if as_json:
        say_json(hits)
    else:
        show_table(
            ("file", "from", "to", "score"),
            [
                (hit["file"], *(number(hit[key]) for key in ("start", "end", "score")))
                for hit in hits
            ],
            numbers=("from", "to", "score"),
            most=n,
        )
    if out is not None:
        write_table(out, ("file", "start", "end", "score"), hits)
        note(f"wrote {printable(out)}")


def _vector(query: str, encoder: Encoder, prompts: str, site: Adapter | None) -> Float:
    """The unit vector of a query: of a recording if there is a file of that name, else of words."""
    import numpy as np

    from prism_audio.encoders.embedding.recordings import embed_audio
    from prism_audio.encoders.prompts import PromptSet, clean_label, prototypes

    if Path(query).is_file():
        sound = embed_audio(encoder, [query])
        return np.ravel(sound if site is None else site.transform(sound))
    if Path(query).suffix and "/" in query:
        raise InputError(f"{query}: there is no such recording")
    if not clean_label(query):
        raise InputError('say what to search for: words such as "breaking glass", or a recording')
    return np.ravel(prototypes(encoder, [clean_label(query)], PromptSet.load(prompts)))
