"""How ``prism diagnose`` tells what it found, to people and to programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from prism_audio.cli.console import say
from prism_audio.cli.text_tables import show_pairs, show_table, show_text
from prism_audio.model.diagnose import Look, Shift


def shift_document(shift: Shift) -> dict[str, Any]:
    """A shift for programs."""
    return {
        "pairs": shift.pairs,
        "dim": shift.d,
        "rank_90": shift.rank,
        "clean_rank_90": shift.clean_rank,
        "size": round(shift.size, 4),
        "translation": round(shift.translation, 4),
        "affine": None if shift.affine is None else round(shift.affine, 4),
        "energy": [round(float(value), 5) for value in shift.energy],
        "clean_energy": [round(float(value), 5) for value in shift.clean_energy],
    }


def show_shift(shift: Shift) -> None:
    """A shift for people."""
    say(f"{shift.pairs} pairs of clips, {shift.d} dimensions")
    say("")
    most = len(shift.energy)
    steps = sorted({k for k in (1, 2, 5, 10, 20, 40, 60, 100, 200, 400, shift.rank) if k <= most})
    show_table(
        ("directions", "energy of the shift", "of the clean clips"),
        [
            (
                str(k),
                f"{100 * shift.energy[k - 1]:.1f} %",
                f"{100 * shift.clean_energy[k - 1]:.1f} %",
            )
            for k in steps
        ],
        numbers=("directions", "energy of the shift", "of the clean clips"),
    )
    say("")
    affine = "too few pairs to tell" if shift.affine is None else f"{100 * shift.affine:.0f} %"
    show_pairs(
        "the shift from clean to noisy",
        [
            (
                "90 % of its energy",
                f"in {shift.rank} directions (the clean clips: {shift.clean_rank})",
            ),
            ("its length", f"{shift.size:.2f} (unrelated directions are 1.41 apart)"),
            ("the same for all clips", f"{100 * shift.translation:.0f} % of its energy"),
            ("one affine map explains", f"{affine} on clips that it was not fitted to"),
        ],
    )
    say("")
    show_text(_reading(shift))


def _reading(shift: Shift) -> str:
    if 2 * shift.rank > shift.pairs:
        return (
            f"{shift.pairs} pairs cannot show more than {shift.pairs} directions: "
            f"take {4 * shift.rank} pairs or more before trusting the rank"
        )
    if shift.rank >= shift.clean_rank:
        return (
            "the shift takes up as many directions as the clips themselves do: "
            "it is low-rank only as far as every embedding here is"
        )
    return "the shift takes up fewer directions than the clips themselves: the hypothesis holds"


def look_document(look: Look) -> dict[str, Any]:
    """A look for programs."""
    told = {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in asdict(look).items()
    }
    told["margin"] = None if look.margin != look.margin else told["margin"]
    told["verdict"] = str(look.verdict)
    return {**told, "reasons": list(look.verdict.reasons), "holds": look.holds}


def show_look(look: Look) -> None:
    """A look for people."""
    halves = "too few clips to calibrate on half of them"
    if look.own is not None and look.other is not None:
        halves = (
            f"agrees with zero-shot on {100 * look.own:.0f} % of the half it was made on, on "
            f"{100 * look.other:.0f} % of the other: ratio {look.holds or 0:.2f}, where 1 is a "
            "correction that carries over and below 0.9 one that follows the batch"
        )
    show_pairs(
        f"{look.rows} clips, {look.d} dimensions, without clean versions",
        [
            ("classes found", f"{look.classes} by zero-shot"),
            ("confidence", f"{look.confidence:.2f} mean best cosine, {look.margin:.2f} ahead"),
            ("common direction", f"{look.concentration:.2f} (1: all clips point the same way)"),
            (
                "spread within classes",
                f"90 % in {look.within_rank} directions, effective rank {look.within_effective:.0f}",
            ),
            ("calibration on a half", halves),
            ("verdict", f"{look.verdict}: {'; '.join(look.verdict.reasons)}"),
        ],
    )
    say("")
    show_text(
        "How far noise has moved the clips cannot be known from noisy clips alone: their spread "
        "holds the differences between sounds as well. --clean versions of them would tell."
    )
