"""``prism embed``: a folder of recordings to embeddings on disk."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from prism_audio.cli import options
from prism_audio.cli.console import (
    ProgressBar,
    end,
    failure_list,
    note,
    orderly_stop,
    printable,
    say,
    say_json,
)
from prism_audio.cli.options import Engine
from prism_audio.errors import InputError


def command(
    folder: Annotated[
        Path,
        typer.Argument(
            exists=True, file_okay=False, help="The recordings; sub-folders are searched too."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The store: a new folder, or one to update."),
    ],
    encoder: Annotated[str, typer.Option(help="What embeds them.")] = "concepts",
    windows: Annotated[
        bool, typer.Option("--windows", help="A row for every window, not for every recording.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Threads that decode, by default one for every core (ray: tasks at a time)."
        ),
    ] = None,
    shard: Annotated[
        int,
        typer.Option(min=1, help="Write to disk after so many files; a kill loses at most these."),
    ] = 256,
    engine: options.Who = Engine.local,
    address: options.Address = None,
    as_json: options.Json = False,
) -> None:
    """Embed every recording below a folder and keep the embeddings on disk.

    Run it again when recordings were added or changed: what is done is skipped.
    It may be stopped or killed at any instant; the same command then goes on.
    Recordings that cannot be read are listed at the end (exit code 1) and tried
    again at the next run.

    Example: [bold]prism embed recordings -o embeddings[/bold]
    """
    from prism_audio.encoders.embedding.engine import embed_files
    from prism_audio.encoders.registry import load_encoder
    from prism_audio.out_of_core.cluster import connect
    from prism_audio.out_of_core.ray_embed import embed_on_ray
    from prism_audio.store.store import Store
    from prism_audio.store.update import update_store

    if engine is Engine.ray:
        connect(address)
    elif address:
        raise InputError("--address is that of a Ray cluster; add --engine ray")
    tower = load_encoder(encoder)
    stopped = f"stopped; {out} is whole: run the same command again to go on"
    began = time.monotonic()
    with orderly_stop(stopped), ProgressBar("looking", "embedding") as bar:
        report = update_store(
            folder,
            out,
            tower,
            row="window" if windows else "clip",
            workers=workers,
            shard=shard,
            progress=bar,
            embed=embed_on_ray if engine is Engine.ray else embed_files,
        )
    took = time.monotonic() - began
    store = Store.open(out)
    failures = [(failure.path, failure.reason) for failure in report.failures]
    if as_json:
        say_json(
            {
                "store": printable(out),
                "settings": asdict(store.settings),
                "rows": len(store),
                "files": {
                    "found": report.found,
                    "embedded": report.embedded,
                    "skipped": report.skipped,
                    "failed": len(failures),
                    "kept": report.kept,
                },
                "damaged": report.damaged,
                "audio_seconds": round(report.seconds, 3),
                "seconds": round(took, 3),
                "failures": failure_list(failures),
            }
        )
    else:
        for damage in report.damaged:
            note(f"note: {damage}")
        settings = store.settings
        what = f"{settings.row}s x {settings.dim}, encoder {settings.encoder}"
        say(f"{printable(out)}: {len(store)} {what}")
        speed = f"{report.seconds:.0f} s of sound, {report.seconds / took:.0f}x real time"
        say(f"  embedded  {report.embedded}" + (f" ({speed})" if report.embedded else ""))
        say(f"  skipped   {report.skipped} done before")
        if report.kept:
            say(f"  kept      {report.kept} that are no longer in {printable(folder)}")
    end(failures)
