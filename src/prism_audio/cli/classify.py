"""``prism classify``: recordings to labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prism_audio.cli import options

if TYPE_CHECKING:
    from prism_audio.labelling.batch import Batch
    from prism_audio.labelling.classify import Row
    from prism_audio.labelling.events import FileEvent
    from prism_audio.labelling.formats import EventFormat
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
    from prism_audio.cli.console import end, every_output, note, orderly_stop, printable
    from prism_audio.cli.gather import gather_batch, place_of
    from prism_audio.errors import InputError
    from prism_audio.labelling.calibration import calibrate_place, estimator
    from prism_audio.labelling.classify import classify
    from prism_audio.labelling.formats.files import format_named
    from prism_audio.labelling.sources import find_classes

    if no_adapt and (adapter or save_adapter):
        raise InputError("--no-adapt calibrates nothing; leave out --adapter and --save-adapter")
    if adapter and save_adapter:
        raise InputError("--adapter calibrates nothing, so there is nothing for --save-adapter")
    events_format = format_named(form) if form else None
    if events_format and not (timeline and out):
        raise InputError("--format writes events: give --timeline, and --out for where they go")
    _check_outputs(None if events_format else out, save_adapter)
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
    events = _find_events(batch, rows, used, confirm) if timeline else None
    # First on the screen: a disk that turns out to be full then takes less with it.
    if as_json:
        _print_json(rows, events, used, top, batch.failures)
    else:
        _print(rows, events, used, batch.row, recordings, out)
    with every_output() as output:
        if save_adapter:
            with output():
                used.save(save_adapter)
                note(f"wrote {printable(save_adapter)}")
        if out:
            with output():
                for path in _write(out, events_format, batch, rows, events, top):
                    note(f"wrote {printable(path)}")
    end(batch.failures)


def _check_outputs(out: Path | None, save_adapter: Path | None) -> None:
    from prism_audio.io.table_files import SUFFIXES, check_output

    if out:
        check_output(out, SUFFIXES)
    if save_adapter:
        check_output(save_adapter, (".safetensors",))


def _find_events(batch: Batch, rows: list[Row], adapter: Adapter, confirm: int) -> list[FileEvent]:
    """The events of windows, against the background where there is enough sound to learn it."""
    from prism_audio.cli.console import note
    from prism_audio.labelling.events import detect_events, has_background, merge_windows

    if adapter.facts.row == "clip":
        note("this adapter saw whole clips; 'prism calibrate --windows' makes one for windows")
    if has_background(batch):
        return detect_events(batch, adapter, confirm=confirm)
    note("less than a minute of sound: too short to learn the background; labels are merged")
    return merge_windows(rows, confirm)


def _write(
    out: Path,
    form: EventFormat | None,
    batch: Batch,
    rows: list[Row],
    events: list[FileEvent] | None,
    top: int,
) -> Iterator[Path]:
    """Write rows and events; gives each file once it is there."""
    from prism_audio.io.table_files import write_table
    from prism_audio.labelling.events import FileEvent
    from prism_audio.labelling.formats import TimedLabel
    from prism_audio.labelling.formats.files import recordings_of, write_events
    from prism_audio.labelling.table import Table

    if form and events is not None:
        timed = [TimedLabel(e.file, e.start, e.end, e.label, e.confidence) for e in events]
        yield from write_events(out, form, timed, recordings_of(batch))
        return
    Table(rows, top=top).save(out)
    yield out
    if events is not None:
        beside = out.with_suffix(f".events{out.suffix}")
        write_table(beside, FileEvent._fields, [event._asdict() for event in events])
        yield beside


def _print_json(
    rows: list[Row],
    events: list[FileEvent] | None,
    adapter: Adapter,
    top: int,
    failures: list[tuple[str, str]],
) -> None:
    from prism_audio.cli.console import printable, say_json
    from prism_audio.labelling.classify import summarise

    summary = summarise(rows)
    document: dict[str, Any] = {
        "rows": [row.columns(top) for row in rows],
        "summary": {
            "rows": summary.rows,
            "changed": summary.changed,
            "unknown": summary.unknown,
            "before": dict(summary.before),
            "after": dict(summary.after),
            "verdict": verdict_of(adapter),
            "reasons": adapter.facts.reasons,
        },
        "failures": [
            {"file": printable(file), "reason": printable(reason)} for file, reason in failures
        ],
    }
    if events is not None:
        document["events"] = [event._asdict() for event in events]
    say_json(document)


def _print(
    rows: list[Row],
    events: list[FileEvent] | None,
    adapter: Adapter,
    what: str,
    recordings: list[Path],
    out: Path | None,
) -> None:
    from prism_audio.cli.console import printable, say
    from prism_audio.cli.text_tables import number, show_table, show_text
    from prism_audio.io.text import counted
    from prism_audio.labelling.classify import summarise

    # A folder that was typed need not be read again in every line.
    only = recordings[0] if len(recordings) == 1 and recordings[0].is_dir() else None
    prefix = printable(only).rstrip("/") + "/" if only else ""
    rest = f"all go to {printable(out)}" if out else "-o rows.csv writes all"
    if events is None:
        show_table(
            ("file", "label", "score", "margin", "runner-up", "zero-shot"),
            [
                (
                    row.file.removeprefix(prefix),
                    row.label,
                    number(row.score),
                    number(row.margin),
                    row.runner_up or "",
                    "same" if row.zero_shot == row.best else row.zero_shot,
                )
                for row in rows
            ],
            numbers=("score", "margin"),
            rest=rest,
        )
    else:
        show_table(
            ("file", "from", "to", "label", "score", "confidence"),
            [
                (
                    event.file.removeprefix(prefix),
                    number(event.start),
                    number(event.end),
                    event.label,
                    number(event.score),
                    number(event.confidence),
                )
                for event in events
            ],
            numbers=("from", "to", "score", "confidence"),
            rest=rest,
        )
    summary = summarise(rows)
    say("")
    show_table(
        ("class", "zero-shot", "now"),
        [
            (label, str(summary.before[label]), str(summary.after[label]))
            for label, _ in (summary.after + summary.before).most_common()
        ],
        numbers=("zero-shot", "now"),
    )
    say("")
    share = f"{summary.changed} of {counted(summary.rows, 'label')} changed"
    unsure = f"; {counted(summary.unknown, what)} unknown" if summary.unknown else ""
    say(share + unsure)
    say(f"verdict: {verdict_of(adapter)}")
    for reason in adapter.facts.reasons:
        show_text(f"  {reason}")


def verdict_of(adapter: Adapter) -> str:
    """The verdict of the calibration; where there was none, zero-shot."""
    return adapter.facts.verdict or "zero-shot"
