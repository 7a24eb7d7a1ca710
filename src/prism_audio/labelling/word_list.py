"""Warnings about a list of labels that is likely not what was meant."""

from __future__ import annotations

import re
from collections.abc import Sequence

# What people put between labels instead of commas.
_SEPARATORS = re.compile(r"[;|/\t\n、，；]| - ")
# Small words of other languages that no English label needs; letters beyond ASCII say the rest.
_FOREIGN = {
    "der", "die", "das", "und", "ein", "eine", "le", "les", "du", "des", "et", "un", "une", "el", "los",
    "las", "il", "gli", "di", "hund", "katze", "chien", "chat", "perro", "gato", "cane", "gatto",
    "vogel", "oiseau", "sirene", "sirena", "pluie", "lluvia", "regen",
}  # fmt: skip


def label_warnings(labels: Sequence[str], background: int = 0, language: str = "en") -> list[str]:
    """What looks wrong with labels, of which the last ``background`` are background words.

    ``language`` is that of the encoder's texts.
    """
    told = []
    joined = next((label for label in labels if _SEPARATORS.search(label)), None)
    if joined is not None:
        told.append(f"{joined!r} is taken as one label; put commas between labels")
    if len(labels) - background == 1:
        against = (
            "only background words compete with it" if background else "nothing competes with it"
        )
        told.append(
            f"{labels[0]!r} is the only label and {against}; list other sounds that occur there as well"
        )
    if language == "en":
        foreign = [label for label in labels if _is_foreign(label)]
        if foreign:
            told.append(
                f"{', '.join(map(repr, foreign[:3]))}: this encoder knows English; use English words"
            )
    return told


def _is_foreign(label: str) -> bool:
    return not label.isascii() or any(word in _FOREIGN for word in label.lower().split())
