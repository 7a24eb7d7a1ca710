"""``prism assets``: the model files of the embedded encoder on this machine."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prism_audio.cli import options
from prism_audio.cli.console import end, note, printable, say, say_json
from prism_audio.errors import AssetError

if TYPE_CHECKING:
    from prism_audio.encoders.assets import Asset


class Action(StrEnum):
    """What to do with the files."""

    list = "list"
    fetch = "fetch"
    verify = "verify"


def command(
    action: Annotated[
        Action,
        typer.Argument(
            help="list: show them. fetch: download what is missing. verify: check them."
        ),
    ] = Action.list,
    folder: Annotated[
        Path | None,
        typer.Option(help="A folder of yours to look in first; PRISM_ASSETS by default."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show, fetch or verify the model files that the encoder 'concepts' needs.

    They are fetched automatically at the first use; fetch them beforehand for a
    machine that will be offline. They are kept in the user's cache, or where
    PRISM_CACHE says, and every one is checked against its pinned SHA-256.
    Exit code 1: some could not be fetched, or verify found some missing or wrong.

    Example: [bold]prism assets fetch[/bold]
    """
    from prism_audio.encoders.assets import ASSETS, resolve

    failures: list[tuple[str | Path, str]] = []
    rows: list[dict[str, Any]] = []
    for asset in ASSETS:
        if action is Action.fetch:
            try:
                resolve(asset, folder, report=note)
            except AssetError as error:
                failures.append((asset.name, str(error)))
        state, path = _state(asset, folder)
        if action is Action.verify and state != "ok":
            failures.append((asset.name, f"{state} ({path})"))
        rows.append(
            {
                "name": asset.name,
                "state": state,
                "path": printable(path),
                "bytes": asset.size,
                "sha256": asset.sha256,
                "license": asset.license,
                "about": asset.about,
            }
        )
    if as_json:
        say_json(rows)
    else:
        for row in rows:
            say(f"{row['state']:8s} {row['name']:25s} {int(row['bytes']) / 1e6:5.1f} MB")
            say(f"         {row['about']}; {row['license']}")
            say(f"         {row['path']}")
    end(failures)


def _state(asset: Asset, folder: Path | None) -> tuple[str, Path]:
    """How a file stands (ok, missing, wrong), and where it is or would be."""
    from prism_audio.encoders.assets import cache_folder, find, user_folder

    cached = cache_folder() / asset.name
    try:
        path = find(asset, folder)
    except AssetError:
        own = user_folder(folder)
        return "wrong", (own or Path()) / asset.name
    if path is not None:
        return "ok", path
    return ("wrong" if cached.exists() else "missing"), cached
