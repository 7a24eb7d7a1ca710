"""Options of ``prism listen`` that make it a station."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from prism_audio.station.when import When

option = partial(typer.Option, rich_help_panel="Station")

Database = Annotated[Path | None, option("--db", help="Record events in this SQLite database.")]
Clips = Annotated[Path | None, option(help="Write the sound of events into this folder.")]
ClipFormat = Annotated[str, option(help="Clips as flac or wav.")]
Keep = Annotated[str | None, option(help="Keep so many clips a label, the newest: 20/label.")]
MaxGb = Annotated[float | None, option(min=0.0, help="Keep clips up to so many gigabytes.")]
PreRoll = Annotated[float, option(min=0.0, max=30.0, help="Seconds before an event in its clip.")]
PostRoll = Annotated[float, option(min=0.0, max=30.0, help="Seconds after an event in its clip.")]
Mqtt = Annotated[
    str | None,
    option(
        envvar="PRISM_MQTT",
        help="Publish events: mqtt://user:password@host/prism; or in PRISM_MQTT.",
    ),
]
Cooldown = Annotated[
    float, option(min=0.0, help="Seconds in which a label is not announced again.")
]
Quiet = Annotated[str | None, option(help="Record, but announce nothing: 22:00-06:00.")]
Adapters = Annotated[Path | None, option(help="Keep the adapters of sources here, with history.")]
Recalibrate = Annotated[When | None, option(help="Calibrate again on what was heard.")]
Patience = Annotated[
    float,
    option(
        "--watchdog",
        min=1.0,
        help="Warn after so many seconds of silence, or without sound.",
    ),
]
