"""``prism classify``: recordings to labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prism_audio.cli import options
from prism_audio.cli.console import end, note, orderly_stop, printable
from prism_audio.cli.pictures import check_picture
from prism_audio.errors import InputError, PrismError
from prism_audio.io.table_files import SUFFIXES, check_output

if TYPE_CHECKING:
    from prism_audio.labelling.batch import Batch
    from prism_audio.labelling.classify import Row
    from prism_audio.labelling.events import FileEvent
    from prism_audio.model.adapter import Adapter


def command(
    recordings: Annotated[
        list[Path],
        typer.Argument(help="A folder or files; or a store of 'prism embed', or an array file."),
    ],
    labels: options.Labels = None,
    background: options.Background = None,
    adapter: options.AdapterFile = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write all rows to .csv, .json or .parquet.")
    ] = None,
    save_adapter: options.SaveAdapter = None,
    no_adapt: Annotated[
        bool, typer.Option("--no-adapt", help="Plain zero-shot: calibrate nothing.")
    ] = False,
    timeline: Annotated[
        bool, typer.Option("--timeline", help="Label every window, and find events.")
    ] = False,
    confirm: Annotated[
        int, typer.Option(min=1, help="Windows that an event lasts at least (with --timeline).")
    ] = 1,
    multi: Annotated[
        bool,
        typer.Option("--multi", help="Events of several labels may overlap (with --timeline)."),
    ] = False,
    calendar: Annotated[
        Path | None,
        typer.Option(
            help="Draw labels by day and hour (.png .svg .pdf), counts beside it in .csv."
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Events for other programs, in --out: audacity, raven, sed, kaleidoscope, birdnet.",
        ),
    ] = None,
    threshold: options.Threshold = None,
    top: Annotated[int, typer.Option(min=0, help="Also give the N best classes of every row.")] = 0,
    place: options.Place = None,
    encoder: options.Encoder = None,
    prompts: options.Prompts = "sentences",
    preset: options.Preset = "default",
    as_json: options.Json = False,
) -> None:
    """Label recordings from one place: calibrate on all of them, then label each.

    The summary says how many labels the calibration changed, and whether the
    recordings sufficed for one; where they did not, the labels are plain
    zero-shot. Recordings that cannot be read are listed at the end (exit code 1).

    Example: [bold]prism classify recordings -l "dog bark, siren" -o out.csv[/bold]
    """
    from prism_audio.cli import classify_output as results
    from prism_audio.cli.gather import gather_batch, place_of
    from prism_audio.labelling.calibration import calibrate_place, estimator
    from prism_audio.labelling.classify import classify
    from prism_audio.labelling.formats.files import format_named
    from prism_audio.labelling.sources import find_classes

    if adapter and save_adapter:
        raise InputError("--adapter calibrates nothing, so there is nothing for --save-adapter")
    if no_adapt and (adapter or save_adapter):
        raise InputError("--no-adapt calibrates nothing; leave out --adapter and --save-adapter")
    if (form and not (timeline and out)) or (multi and not timeline):
        raise InputError(
            "--format and --multi are about events: give --timeline, and --out for --format"
        )
    events_format = format_named(form) if form else None
    _check_outputs(None if events_format else out, save_adapter, calendar)
    with orderly_stop("stopped; nothing was written"):
        classes = find_classes(
            recordings,
            labels=labels,
            background=background,
            adapter=adapter,
            encoder=encoder,
            prompts=prompts,
        )
        used = classes.vocabulary.adapter() if no_adapt else classes.adapter
        if used is None:
            estimator(preset)
        batch = gather_batch(recordings, classes, windows=timeline)
        if used is None:
            used = calibrate_place(
                batch, classes.vocabulary, place=place_of(recordings, place), preset=preset
            )
        rows = classify(batch, used, threshold=threshold, top=top)
    if adapter:
        _tell_drift(batch, rows, used)
    events = _find_events(batch, rows, used, confirm, multi) if timeline else None
    # First on the screen: a disk that turns out to be full then takes less with it.
    if as_json:
        results.print_json(rows, events, used, top, batch.failures)
    else:
        results.print_results(rows, events, used, batch.row, recordings, out)
    writers: list[tuple[Path | None, Callable[[Path], Iterable[Path]]]] = [
        (save_adapter, lambda path: [used.save(path)]),
        (out, lambda path: results.write_results(path, events_format, batch, rows, events, top)),
        (calendar, lambda path: results.write_calendar(rows, events, path)),
    ]
    errors: list[str] = []
    for target, write in writers:
        try:  # an output that fails, on a full disk for example, must not lose the others
            for path in write(target) if target else ():
                note(f"wrote {printable(path)}")
        except PrismError as error:
            errors.append(str(error))
    if errors:
        raise PrismError("; ".join(errors))
    end(batch.failures)


def _check_outputs(out: Path | None, save_adapter: Path | None, calendar: Path | None) -> None:
    if out:
        check_output(out, SUFFIXES)
    if save_adapter:
        check_output(save_adapter, (".safetensors",))
    if calendar:
        check_picture(calendar)


def _tell_drift(batch: Batch, rows: list[Row], adapter: Adapter) -> None:
    """Note where recordings do not sound like the calibration, as listen does."""
    import numpy as np

    from prism_audio.labelling.drift import LIMIT, batch_distance

    if adapter.facts.row not in ("", batch.row):
        return
    distance = batch_distance(adapter, batch.embeddings, np.array([row.index for row in rows]))
    if distance is not None and distance > LIMIT:
        note(
            f"note: these recordings do not sound like the calibration (distance {distance:.2f}); "
            "labels are less reliable here: calibrate this place, with --labels instead of --adapter"
        )


def _find_events(
    batch: Batch, rows: list[Row], adapter: Adapter, confirm: int, multi: bool
) -> list[FileEvent]:
    """The events of windows, against the background where there is enough sound to learn it."""
    from prism_audio.labelling.events import detect_events, has_background, merge_windows

    if adapter.facts.row == "clip":
        note("this adapter saw whole clips; 'prism calibrate --windows' makes one for windows")
    if has_background(batch):
        return detect_events(batch, adapter, confirm=confirm, multi=multi)
    note("less than a minute of sound: too short to learn the background; labels are merged")
    return merge_windows(rows, confirm)
