"""A SHA-256 inside a file of any format, so that damage is noticed without a second file.

The text ``prism-sha256:DIGITS:prism-sha256`` stands somewhere in the file: in a JSON field, a comment
or a metadata entry. The digits are the hash of the file with zeros in their place, and the last such
text in a file counts. The name stands on both sides so that a seal which is itself damaged is known.
"""

from __future__ import annotations

import hashlib
import re

_NAME = b"prism-sha256"
_ZEROS = b"0" * 64
# What a writer puts where the seal shall be.
BLANK = b":".join([_NAME, _ZEROS, _NAME]).decode()


def sealed(data: bytes) -> bytes:
    """``data`` with its hash in the place of the last :data:`BLANK`."""
    head, blank, tail = data.rpartition(BLANK.encode())
    return head + blank.replace(_ZEROS, hashlib.sha256(data).hexdigest().encode()) + tail


def is_intact(data: bytes) -> bool | None:
    """Whether ``data`` is as it was sealed; None if it carries no seal."""
    seals = list(re.finditer(_NAME + rb":([0-9a-f]{64}):" + _NAME, data))
    if not seals:
        return False if _NAME in data else None
    start, end = seals[-1].span(1)
    blank = data[:start] + _ZEROS + data[end:]
    return hashlib.sha256(blank).hexdigest().encode() == data[start:end]
