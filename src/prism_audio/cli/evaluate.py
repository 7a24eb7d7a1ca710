"""``prism evaluate``: how good results are against a truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prism_audio.cli import options
from prism_audio.cli.console import note, printable, say, say_json
from prism_audio.cli.pictures import check_picture, draw_confusion
from prism_audio.cli.text_tables import show_table
from prism_audio.errors import InputError
from prism_audio.io.text import counted

if TYPE_CHECKING:
    from prism_audio.evaluation.label_thresholds import LabelThreshold
    from prism_audio.evaluation.results import Record
    from prism_audio.labelling.formats.base import TimedLabel


def command(
    results: Annotated[
        Path,
        typer.Argument(
            help="Rows or events of 'prism classify' (.csv .json .parquet), or event files."
        ),
    ],
    truth: Annotated[
        Path,
        typer.Option(
            help="Clips: a table (file, label) or a folder with a sub-folder a class. "
            "Events: Audacity, Raven or sed_eval files."
        ),
    ],
    picture: Annotated[
        Path | None, typer.Option(help="Draw the confusions of clips: .png, .svg or .pdf.")
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="Find the threshold of every label for this precision."
        ),
    ] = None,
    save_thresholds: Annotated[
        Path | None,
        typer.Option(help="Put these thresholds into this adapter; all commands then use them."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Hold results against a truth: accuracy of clips, or F1 of events.

    Recordings meet by their names, without folder and suffix. Intervals hold
    95 % and come from redrawing recordings. Events are scored by the rules of
    the DCASE challenges: onset within 0.5 s, offset within half of the length,
    and segments of 1 s. --precision finds the least threshold of every label at
    which what is reported is right often enough.

    Example: [bold]prism evaluate out.csv --truth labels.csv[/bold]
    Example: [bold]prism evaluate out.events.csv --truth audacity_labels/[/bold]
    Example: [bold]prism evaluate out.csv --truth t.csv --precision 0.9[/bold]
    """
    from prism_audio.evaluation.label_thresholds import find_thresholds, judge_events
    from prism_audio.evaluation.label_thresholds import save_thresholds as keep_thresholds
    from prism_audio.evaluation.results import (
        are_events,
        as_events,
        judge_clips,
        read_records,
        read_truth,
        with_strengths,
    )
    from prism_audio.labelling.formats.files import read_events

    if picture is not None:
        check_picture(picture)
    if save_thresholds is not None and precision is None:
        raise InputError("--save-thresholds keeps what --precision has found; give both")
    if results.is_dir() or results.suffix in (".txt", ".tsv"):
        if precision is not None:
            raise InputError(
                f"{results} does not tell how strong its events are; for --precision give the "
                "table that 'prism classify --timeline -o out.csv' writes, out.events.csv"
            )
        _evaluate_events(read_events(results), read_events(truth), None, as_json)
        return
    records = read_records(results)
    of_events = are_events(records)
    limits = None
    if of_events:
        wanted, found = read_events(truth), as_events(records, results)
        if precision is not None:
            judged = judge_events(with_strengths(records, found), wanted)
            limits = find_thresholds(judged, precision)
        _evaluate_events(found, wanted, limits, as_json)
    else:
        if precision is not None:
            limits = find_thresholds(judge_clips(records, read_truth(truth)), precision)
        _evaluate_clips(records, truth, limits, picture, as_json)
    if save_thresholds is not None and limits is not None:
        keep_thresholds(save_thresholds, limits, of_events=of_events)
        note(f"wrote the thresholds into {printable(save_thresholds)}")


def _show_thresholds(rows: Sequence[LabelThreshold]) -> None:
    say("")
    columns = ("threshold", "right before", "right after", "of all right")
    show_table(
        ("label", *columns),
        [
            (
                row.label,
                "none" if row.threshold is None else f"{row.threshold:.4f}",
                f"{row.right} of {row.answers}",
                f"{row.right_left} of {row.answers_left}",
                _percent(row.right_left / row.right) if row.right else "",
            )
            for row in rows
        ],
        numbers=columns,
        most=60,
    )
    lost = [row.label for row in rows if row.threshold is None]
    if lost:
        say(f"none suffices for {', '.join(lost)}: left as before; word these labels differently")


def _evaluate_events(
    found: list[TimedLabel],
    wanted: list[TimedLabel],
    limits: list[LabelThreshold] | None,
    as_json: bool,
) -> None:
    from prism_audio.evaluation.event_scores import (
        add_up,
        count_events,
        count_segments,
        f1_interval,
        total,
    )

    recordings = sorted({event.file for event in (*wanted, *found)})
    pairs = [
        ([e for e in wanted if e.file == name], [e for e in found if e.file == name])
        for name in recordings
    ]
    kinds = {
        "events": [count_events(*pair) for pair in pairs],
        "segments": [count_segments(*pair) for pair in pairs],
    }
    events, segments = map(add_up, kinds.values())
    intervals = {kind: f1_interval(counts) for kind, counts in kinds.items()}
    if as_json:
        say_json(
            {
                kind: {
                    "all": _as_dict(total(counts.values())) | {"f1_interval": intervals[kind]},
                    "labels": {label: _as_dict(count) for label, count in counts.items()},
                }
                for kind, counts in (("events", events), ("segments", segments))
            }
            | _as_document(limits)
        )
        return
    both = {label: (events[label], segments[label]) for label in events}
    both["all"] = total(events.values()), total(segments.values())
    rows = [
        (label, *(_percent(getattr(count, name)) for count in counts for name in NAMES))
        for label, counts in both.items()
    ]
    columns = [f"{kind} {name}" for kind in ("event", "seg.") for name in ("prec.", "rec.", "F1")]
    show_table(("label", *columns), rows, numbers=columns)
    where = counted(len(recordings), "recording")
    say(f"{counted(len(wanted), 'true event')}, {len(found)} found, in {where}; in %")
    for kind, bounds in intervals.items():
        if bounds is not None:
            say(f"F1 of {kind}: 95 % of redrawn recordings give "
                f"{100 * bounds[0]:.1f} to {100 * bounds[1]:.1f}")  # fmt: skip
    if limits is not None:
        _show_thresholds(limits)


NAMES = ("precision", "recall", "f1")


def _evaluate_clips(
    records: Sequence[Record],
    truth: Path,
    limits: list[LabelThreshold] | None,
    picture: Path | None,
    as_json: bool,
) -> None:
    from prism_audio.evaluation import clip_scores as scores
    from prism_audio.evaluation.results import pair_clips, read_truth

    labels = read_truth(truth)
    before, after = (pair_clips(list(records), labels, name) for name in ("zero_shot", "label"))
    measures: dict[str, dict[str, scores.Interval]] = {}
    for name, measure in (("accuracy", scores.accuracy), ("macro_f1", scores.macro_f1)):
        measures[name] = {
            "zero_shot": scores.interval(measure, before),
            "label": scores.interval(measure, after),
            "difference": scores.interval(measure, after, less=before),
        }
    counts = scores.count_classes(after)
    if as_json:
        document: dict[str, Any] = {"clips": len(after.truth)}
        document |= {
            name: {which: value._asdict() for which, value in kinds.items()}
            for name, kinds in measures.items()
        }
        document["labels"] = {label: _as_dict(count) for label, count in counts.items()}
        say_json(document | _as_document(limits))
    else:
        show_table(
            ("in %", "zero-shot", "answer", "difference"),
            [
                (name.replace("_", "-"), *(_told(kinds[which]) for which in kinds))
                for name, kinds in measures.items()
            ],
        )
        say("")
        show_table(
            ("label", "clips", "precision", "recall", "F1"),
            [
                (label, str(c.hits + c.misses), *(_percent(getattr(c, name)) for name in NAMES))
                for label, c in counts.items()
            ],
            numbers=("clips", "precision", "recall", "F1"),
            most=60,
        )
        say(f"{len(after.truth)} of {counted(len(records), 'clip')} have a true label")
        if limits is not None:
            _show_thresholds(limits)
    if picture is not None:
        draw_confusion(*scores.confusion(after), picture)
        note(f"wrote {printable(picture)}")


def _as_document(limits: list[LabelThreshold] | None) -> dict[str, Any]:
    if limits is None:
        return {}
    return {"thresholds": {row.label: row._asdict() for row in limits}}


def _as_dict(counts: Any) -> dict[str, float | int | None]:
    rates = {name: getattr(counts, name) for name in NAMES}
    return {**counts._asdict(), **{k: None if v != v else round(v, 4) for k, v in rates.items()}}


def _percent(value: float) -> str:
    return "" if value != value else f"{100 * value:.1f}"


def _told(interval: Any) -> str:
    value, low, high = (100 * v for v in interval)
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"
