"""Options of ``prism listen`` that make it a station."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prism_audio.station.when import When

PANEL = "Station"

Database = Annotated[
    Path | None,
    typer.Option("--db", help="Record events in this SQLite database.", rich_help_panel=PANEL),
]
Clips = Annotated[
    Path | None,
    typer.Option(help="Write the sound of events into this folder.", rich_help_panel=PANEL),
]
ClipFormat = Annotated[str, typer.Option(help="Clips as flac or wav.", rich_help_panel=PANEL)]
Keep = Annotated[
    str | None,
    typer.Option(help="Keep so many clips a label, the newest: 20/label.", rich_help_panel=PANEL),
]
MaxGb = Annotated[
    float | None,
    typer.Option(min=0.0, help="Keep clips up to so many gigabytes.", rich_help_panel=PANEL),
]
PreRoll = Annotated[
    float,
    typer.Option(min=0.0, max=30.0, help="Seconds before an event in its clip.",
                 rich_help_panel=PANEL),
]  # fmt: skip
PostRoll = Annotated[
    float,
    typer.Option(min=0.0, max=30.0, help="Seconds after an event in its clip.",
                 rich_help_panel=PANEL),
]  # fmt: skip
Mqtt = Annotated[
    str | None,
    typer.Option(
        envvar="PRISM_MQTT",
        help="Publish events: mqtt://user:password@host/prism; or in PRISM_MQTT.",
        rich_help_panel=PANEL,
    ),
]
Cooldown = Annotated[
    float,
    typer.Option(
        min=0.0,
        help="Seconds in which a label is not announced again.",
        rich_help_panel=PANEL,
    ),
]
Quiet = Annotated[
    str | None,
    typer.Option(help="Record, but announce nothing: 22:00-06:00.", rich_help_panel=PANEL),
]
Adapters = Annotated[
    Path | None,
    typer.Option(help="Keep the adapters of sources here, with history.", rich_help_panel=PANEL),
]
Recalibrate = Annotated[
    When | None,
    typer.Option(help="Calibrate again on what was heard.", rich_help_panel=PANEL),
]
Patience = Annotated[
    float,
    typer.Option(
        "--watchdog",
        min=1.0,
        help="Warn after so many seconds of silence, or without sound.",
        rich_help_panel=PANEL,
    ),
]
