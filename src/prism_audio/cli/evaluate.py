"""``prism evaluate``: how good results are against a truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prism_audio.cli import options

if TYPE_CHECKING:
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
    as_json: options.Json = False,
) -> None:
    """Hold results against a truth: accuracy of clips, or F1 of events.

    Recordings meet by their names, without folder and suffix. Intervals hold
    95 % and come from redrawing recordings. Events are scored by the rules of
    the DCASE challenges: onset within 0.5 s, offset within half of the length,
    and segments of 1 s.

    Example: [bold]prism evaluate out.csv --truth labels.csv[/bold]
    Example: [bold]prism evaluate out.events.csv --truth audacity_labels/[/bold]
    """
    from prism_audio.cli.pictures import check_picture
    from prism_audio.evaluation.results import are_events, as_events, read_records
    from prism_audio.labelling.formats.files import read_events

    if picture is not None:
        check_picture(picture)
    if results.is_dir() or results.suffix in (".txt", ".tsv"):
        _evaluate_events(read_events(results), truth, as_json)
        return
    records = read_records(results)
    if are_events(records):
        _evaluate_events(as_events(records, results), truth, as_json)
    else:
        _evaluate_clips(records, truth, picture, as_json)


def _evaluate_events(found: list[TimedLabel], truth: Path, as_json: bool) -> None:
    from prism_audio.cli.console import say, say_json
    from prism_audio.cli.text_tables import show_table
    from prism_audio.evaluation.event_scores import add_up, count_events, count_segments, total
    from prism_audio.labelling.formats.files import read_events

    wanted = read_events(truth)
    recordings = sorted({event.file for event in (*wanted, *found)})
    pairs = [
        ([e for e in wanted if e.file == name], [e for e in found if e.file == name])
        for name in recordings
    ]
    events = add_up(count_events(*pair) for pair in pairs)
    segments = add_up(count_segments(*pair) for pair in pairs)
    if as_json:
        say_json(
            {
                kind: {
                    "all": _as_dict(total(counts.values())),
                    "labels": {label: _as_dict(count) for label, count in counts.items()},
                }
                for kind, counts in (("events", events), ("segments", segments))
            }
        )
        return
    rows = [
        (
            label,
            *(
                _percent(getattr(kind[label], name))
                for kind in (events, segments)
                for name in NAMES
            ),
        )
        for label in events
    ]
    ends = [total(kind.values()) for kind in (events, segments)]
    rows.append(("all", *(_percent(getattr(count, name)) for count in ends for name in NAMES)))
    columns = [f"{kind} {name}" for kind in ("event", "seg.") for name in ("prec.", "rec.", "F1")]
    show_table(("label", *columns), rows, numbers=columns)
    say(f"{len(wanted)} true events, {len(found)} found, in {len(recordings)} recordings; in %")


NAMES = ("precision", "recall", "f1")


def _evaluate_clips(
    records: Sequence[Record], truth: Path, picture: Path | None, as_json: bool
) -> None:
    from prism_audio.cli.console import note, printable, say, say_json
    from prism_audio.cli.pictures import draw_confusion
    from prism_audio.cli.text_tables import show_table
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
        say_json(document)
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
        say(f"{len(after.truth)} of {len(records)} clips have a true label")
    if picture is not None:
        draw_confusion(*scores.confusion(after), picture)
        note(f"wrote {printable(picture)}")


def _as_dict(counts: Any) -> dict[str, float | int | None]:
    rates = {name: getattr(counts, name) for name in NAMES}
    return {**counts._asdict(), **{k: None if v != v else round(v, 4) for k, v in rates.items()}}


def _percent(value: float) -> str:
    return "" if value != value else f"{100 * value:.1f}"


def _told(interval: Any) -> str:
    value, low, high = (100 * v for v in interval)
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"
