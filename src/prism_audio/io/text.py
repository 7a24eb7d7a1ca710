"""Text for people: numbers with their nouns."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number and its noun, in the plural where it is not one.

    >>> counted(1, "clip"), counted(3, "clip")
    ('1 clip', '3 clips')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
