"""What ``prism classify`` prints and writes: rows, events, summary, verdict, calendar."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prism_audio.cli.console import failure_list, printable, say, say_json
from prism_audio.cli.pictures import draw_calendar
from prism_audio.cli.text_tables import number, show_table, show_text
from prism_audio.errors import InputError
from prism_audio.io.table_files import write_table
from prism_audio.io.text import counted
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.classify import Row, summarise
from prism_audio.labelling.formats import EventFormat, TimedLabel
from prism_audio.labelling.formats.files import recordings_of, write_events
from prism_audio.labelling.table import Table
from prism_audio.labelling.wall_clock import hours_of
from prism_audio.model.adapter import Adapter

if TYPE_CHECKING:  # finding events takes SciPy, which is slow to import
    from prism_audio.labelling.events import FileEvent


def write_results(
    out: Path,
    form: EventFormat | None,
    batch: Batch,
    rows: list[Row],
    events: list[FileEvent] | None,
    top: int,
) -> Iterator[Path]:
    """Write rows and events; gives each file once it is there."""
    if form and events is not None:
        timed = [TimedLabel(e.file, e.start, e.end, e.label, e.confidence) for e in events]
        yield from write_events(out, form, timed, recordings_of(batch))
        return
    Table(rows, top=top).save(out)
    yield out
    if events is not None:
        from prism_audio.labelling.events import FileEvent

        beside = out.with_suffix(f".events{out.suffix}")
        write_table(beside, FileEvent._fields, [event._asdict() for event in events])
        yield beside


def write_calendar(rows: list[Row], events: list[FileEvent] | None, path: Path) -> list[Path]:
    """Draw how often each label was heard by day and hour, and write the counts beside it."""
    heard = [(e.time, e.label) for e in events or ()]
    if events is None:
        heard = [(row.time, row.label) for row in rows if row.convinced]
    counts = hours_of(heard)
    if not counts:
        raise InputError(
            f"{path}: nothing was heard in a recording that tells when it began; a calendar needs "
            "file names such as SITE_20240131_063000.wav, or the comment of an AudioMoth"
        )
    recorded = {(day, hour) for day, hour, _ in hours_of((row.time, "") for row in rows)}
    draw_calendar(counts, recorded, path)
    table = path.with_suffix(".csv")
    columns = ("day", "hour", "label", "count")
    lines = [dict(zip(columns, (*key, count), strict=True)) for key, count in counts.items()]
    write_table(table, columns, lines)
    return [path, table]


def print_json(
    rows: list[Row],
    events: list[FileEvent] | None,
    adapter: Adapter,
    top: int,
    failures: list[tuple[str, str]],
) -> None:
    """One JSON document with rows, events, summary and failures."""
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
        "failures": failure_list(failures),
    }
    if events is not None:
        document["events"] = [event._asdict() for event in events]
    say_json(document)


def print_results(
    rows: list[Row],
    events: list[FileEvent] | None,
    adapter: Adapter,
    what: str,
    recordings: list[Path],
    out: Path | None,
) -> None:
    """Tables of rows or events and of classes, and the verdict with what to do next."""
    # A folder that was typed need not be read again in every line.
    only = recordings[0] if len(recordings) == 1 and recordings[0].is_dir() else None
    prefix = printable(only).rstrip("/") + "/" if only else ""
    rest = f"all go to {printable(out)}" if out else "-o rows.csv writes all"
    if events is None:
        _print_clips(rows, what, prefix, rest)
    else:
        _print_events(rows, events, prefix, rest)
    say(f"verdict: {verdict_of(adapter)}")
    for reason in adapter.facts.reasons:
        show_text(f"  {reason}")
    if (step := NEXT_STEPS.get(adapter.facts.verdict)) is not None:
        show_text(f"  {step}")


def _print_clips(rows: list[Row], what: str, prefix: str, rest: str) -> None:
    """The rows, and how many got each class, before and after."""
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


def _print_events(rows: list[Row], events: list[FileEvent], prefix: str, rest: str) -> None:
    """The events, and how often and how long each label was heard."""
    lengths: dict[str, list[float]] = {}
    for event in events:
        lengths.setdefault(event.label, []).append(event.end - event.start)
    if events:
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
        say("")
        often = sorted(lengths.items(), key=lambda pair: -len(pair[1]))
        show_table(
            ("label", "events", "seconds"),
            [(label, str(len(each)), f"{sum(each):.0f}") for label, each in often],
            numbers=("events", "seconds"),
        )
        say("")
    ends = {row.file: row.end or 0.0 for row in rows}
    recordings = counted(len(ends), "recording")
    say(f"{counted(len(events), 'event')} in {sum(ends.values()) / 60:.1f} minutes, {recordings}")


# What a verdict asks people to do.
NEXT_STEPS = {
    "adapted": "next: use this calibration for new recordings; --save-adapter keeps it",
    "shrunk": "next: add recordings of this place, ten or more for every label",
    "zero-shot": "next: add recordings, and see that most of the labels occur in them",
}


def verdict_of(adapter: Adapter) -> str:
    """The verdict of the calibration; where there was none, zero-shot."""
    return adapter.facts.verdict or "zero-shot"
