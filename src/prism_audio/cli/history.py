"""``prism history``: the versions of a station's adapters, and the way back to one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prism_audio.cli import options
from prism_audio.cli.console import say, say_json
from prism_audio.errors import InputError, PrismError


def command(
    folder: Annotated[
        Path, typer.Argument(help="The folder of --adapters, or of a service's --store.")
    ],
    place: Annotated[
        str | None, typer.Argument(help="One source or site; all of them by default.")
    ] = None,
    use: Annotated[
        int | None, typer.Option(min=0, help="Use this version from now on; 0 is zero-shot.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Use the version before.")] = False,
    as_json: options.Json = False,
) -> None:
    """Show the versions of calibrated places, or go back to one.

    prism listen --adapters FOLDER keeps every calibration of a source here. A
    station that is running goes on with the chosen version within a minute of
    sound.

    Example: [bold]prism history adapters/[/bold]
    Example: [bold]prism history adapters/ garden --undo[/bold]
    """
    from dataclasses import asdict

    from prism_audio.io.locks import Locked, exclusive
    from prism_audio.model.adapter import Adapter
    from prism_audio.model.history import AdapterStore
    from prism_audio.model.vocabulary import Vocabulary

    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give the one of 'prism listen --adapters'")
    store = AdapterStore(folder)
    known = [file.stem for file in store.files()]
    if place is not None and place not in known:
        names = ", ".join(known) or "none"
        raise InputError(f"{folder} knows no place {place!r}; there is: {names}")
    if use is not None or undo:
        if place is None:
            raise InputError("--use and --undo change one place; name it after the folder")
        history = store.history(place)
        version = history.previous if use is None else use
        if version is None:
            raise InputError(f"{place!r} has no version before the one in use")
        if version == 0:
            adapter = Vocabulary.of(Adapter.load(store.file(place))).adapter()
        else:
            adapter = store.adapter(place, version)
        try:
            with exclusive(folder / ".lock", wait=False):
                store.use(place, history, version, adapter)
        except Locked:
            raise PrismError(
                f"a service or a station is writing to {folder}; with a service, use its page"
            ) from None
    histories = {name: store.history(name) for name in ([place] if place else known)}
    if as_json:
        say_json({name: asdict(history) for name, history in histories.items()})
        return
    for name, history in histories.items():
        say(f"{name}: version {history.in_use} in use")
        for entry in history.versions:
            mark = "*" if entry.version == history.in_use else " "
            weight = "" if entry.weight is None else f", weight {entry.weight:.2f}"
            say(f" {mark} {entry.version:3d}  {entry.date}  {entry.verdict}{weight}, "
                f"{entry.clips} rows, by {entry.origin}")  # fmt: skip
