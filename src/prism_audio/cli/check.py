"""``prism check``: how good the answers are at a place, from a few labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prism_audio.cli import options
from prism_audio.cli.console import note, printable, say, say_json
from prism_audio.cli.text_tables import number, show_table, show_text
from prism_audio.errors import InputError
from prism_audio.io.text import counted

if TYPE_CHECKING:
    from prism_audio.evaluation.check import Campaign
    from prism_audio.evaluation.clip_scores import Interval


def command(
    labels: Annotated[
        Path, typer.Option(help="The sheet of 'prism pick', or an export of Label Studio (.json).")
    ],
    adapter: Annotated[
        Path, typer.Option("--adapter", "-a", help="The calibrated place: a .safetensors file.")
    ],
    store: Annotated[
        Path | None,
        typer.Argument(help="The store that the clips are from; by default the one picked from."),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Also find the thresholds for this precision."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Tell from a few labels how good the answers are at this place.

    Accuracy before and after the calibration with intervals that hold 95 %,
    how sure it is that the calibration helps, and the precision of every
    label. The intervals account for how the clips were picked. Labels need not
    be complete: what is labelled counts, best in the order of the sheet.

    Example: [bold]prism check -a site.safetensors --labels todo/sheet.csv[/bold]
    """
    from prism_audio.evaluation.check import judge
    from prism_audio.evaluation.todo import read_settings
    from prism_audio.model.adapter import Adapter
    from prism_audio.store.store import Store

    site = Adapter.load(adapter)
    where = store or read_settings(labels).get("store")
    if not where:
        raise InputError(
            f"there is no pick.json beside {labels} that names the store of these clips; give it: "
            f"prism check STORE --adapter {adapter} --labels {labels}"
        )
    campaign, random = judge(Store.open(where), site, labels)
    if site.facts.labels:
        note(
            f"{printable(adapter)} was calibrated with {site.facts.labels} labels: clips that it "
            "learnt from flatter it; check it with others"
        )
    if not random:
        note("the sheet has no probabilities: it is taken as a simple random sample of the clips")
    if as_json:
        say_json(_document(campaign, site.labels, precision))
    else:
        _show(campaign, site.labels, precision)


def _document(campaign: Campaign, names: tuple[str, ...], wanted: float | None) -> dict[str, Any]:
    difference = campaign.difference
    one = campaign.threshold(wanted) if wanted is not None else None
    return {
        "clips": len(campaign.rows),
        "of": len(campaign.population),
        "accuracy": {
            "zero_shot": _numbers(campaign.zero_shot),
            "adapted": _numbers(campaign.adapted),
            "difference": _numbers(difference.interval),
        },
        "better": round(difference.confidence, 4),
        "more": difference.more,
        "threshold": None if one is None else {"score": one[0], "part": one[1]},
        "labels": [
            {
                "label": names[row.label],
                "answers": row.answers,
                "listened": row.listened,
                "precision": _numbers(row.precision),
                "threshold": row.threshold,
                "part": row.reached,
            }
            for row in campaign.precisions(wanted)
        ],
    }


def _show(campaign: Campaign, names: tuple[str, ...], wanted: float | None) -> None:
    difference = campaign.difference
    show_table(
        ("in %", "zero-shot", "adapted", "difference"),
        [
            (
                "accuracy",
                *map(_told, (campaign.zero_shot, campaign.adapted, difference.interval)),
            )
        ],
    )
    say("")
    limits = ("score for it", "part above") if wanted is not None else ()
    show_table(
        ("answer", "clips", "listened", "precision", *limits),
        [
            (
                names[row.label],
                str(row.answers),
                str(row.listened),
                _told(row.precision),
                *((number(row.threshold), _percent(row.reached)) if limits else ()),
            )
            for row in campaign.precisions(wanted)
        ],
        numbers=("clips", "listened", *limits),
        rest="--json has all",
    )
    say("")
    say(f"{counted(len(campaign.rows), 'label')}, {len(campaign.population)} clips at this place")
    show_text(campaign.verdict)
    if wanted is not None and (one := campaign.threshold(wanted)):
        show_text(
            f"for a precision of {100 * wanted:g} %: --threshold {one[0]:.3f}, which "
            f"{100 * one[1]:.0f} % of the clips reach"
        )


def _numbers(interval: Interval) -> dict[str, float | None]:
    return {k: None if v != v else round(v, 4) for k, v in interval._asdict().items()}


def _told(interval: Interval) -> str:
    value, low, high = (100 * v for v in interval)
    return "" if value != value else f"{value:.0f} [{low:.0f}, {high:.0f}]"


def _percent(part: float | None) -> str:
    return "" if part is None else f"{100 * part:.0f} %"
