"""Text for people: numbers with their nouns, names that can be part of a path."""

from __future__ import annotations

import re


def counted(number: int, noun: str) -> str:
    """A number and its noun, in the plural where it is not one.

    >>> counted(1, "clip"), counted(3, "clip")
    ('1 clip', '3 clips')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def slug(text: str) -> str:
    """Text as part of a file name or an address: small letters, digits, ``-`` and ``_``.

    >>> slug("Dog bark (near)")
    'dog-bark-near'
    """
    return re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-")[:64] or "sound"
