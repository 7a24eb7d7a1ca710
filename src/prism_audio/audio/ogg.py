"""Find the links of a chained Ogg file: streams that were written one after another into one file.

Internet radio, some recorders, and plain concatenation make such files. libsndfile decodes the first
link and takes the rest for noise, so each link is shown to it as a file of its own.
"""

from __future__ import annotations

from prism_audio.audio.source import OpenRecording

_CAPTURE = b"OggS"
_HEADER = 27
_FIRST_PAGE = 2  # the flag of a page that begins a stream
_SEARCH = 1 << 16


def link_starts(source: OpenRecording, start: int) -> list[int]:
    """Offsets at which the links begin; ``start`` is the first.

    Only the headers of pages are read. Several streams that run side by side (sound and film) begin
    together, with no other page between their first pages, and are one link.
    """
    starts: list[int] = []
    position, within = start, False
    while (header := source.read_at(position, _HEADER + 255))[:4] == _CAPTURE:
        if len(header) < _HEADER:
            break
        first = bool(header[5] & _FIRST_PAGE)
        if first and (within or not starts):
            starts.append(position)
        within = not first
        segments = header[26]
        position += _HEADER + segments + sum(header[_HEADER : _HEADER + segments])
        if source.read_at(position, 4) != _CAPTURE:
            position = _next_page(source, position)
    return starts or [start]


def _next_page(source: OpenRecording, position: int) -> int:
    """Offset of the next page at or after ``position``, or the end of the file."""
    while block := source.read_at(position, _SEARCH):
        if (at := block.find(_CAPTURE)) >= 0:
            return position + at
        if len(block) < _SEARCH:
            break
        position += len(block) - len(_CAPTURE) + 1
    return source.size
