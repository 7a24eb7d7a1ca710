"""Which bytes of a file libsndfile may see: known kinds of audio, without tags that make it hang.

Some parsers of libsndfile never return from a hostile header: the metadata lists of RIFF files and
the Amiga IFF family loop for ever on 50 bytes (seen in 1.2.2). A call that hangs inside C cannot be
interrupted, so such bytes must not reach it. Two rules keep them away: a file is shown to libsndfile
only if its first bytes are those of a kind named here, and of a RIFF file only the chunks that carry
sound are shown, without tags.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from prism_audio.audio.ogg import link_starts
from prism_audio.audio.source import OpenRecording
from prism_audio.errors import AudioError

_RECONVERT = "Copy it again from where it came, or convert it: ffmpeg -i <file> <new>.wav"
_FARTHEST = 1 << 62  # a position that C can still hold
_MAX_CHUNKS = 4096
_MAX_SMALL_CHUNK = 1 << 16
_SOUND_CHUNKS = (b"ds64", b"fmt ", b"fact")
# Recorders that could not write the length (a pipe, a power cut) leave 0 or a number about this large.
_UNKNOWN_LENGTH = 0x7FFF_0000


class View:
    """A read-only file made of new first bytes and one stretch of an older file.

    It never raises, because the C code that calls it could not pass an exception on: a failed read
    is an end of file, noted in ``failure`` for whoever opened it.
    """

    def __init__(self, source: OpenRecording, head: bytes, start: int, stop: int) -> None:
        self._source = source
        self._head = head
        self._start = start
        self._size = len(head) + max(0, stop - start)
        self._position = 0
        self.failure: AudioError | None = None

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        target = offset + (0, self._position, self._size)[whence]
        if 0 <= target < _FARTHEST:
            self._position = target
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, count: int = -1) -> bytes:
        rest = max(0, self._size - self._position)
        count = rest if count < 0 else min(count, rest)
        from_head = self._head[self._position : self._position + count]
        data = from_head
        if len(from_head) < count:
            offset = self._position + len(from_head) - len(self._head) + self._start
            try:
                data += self._source.read_at(offset, count - len(from_head))
            except AudioError as error:
                self.failure = error
        self._position += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        target = memoryview(buffer).cast("B")
        data = self.read(len(target))
        target[: len(data)] = data
        return len(data)


def whole(source: OpenRecording) -> View:
    """The file as it is."""
    return View(source, b"", 0, source.size)


def known(source: OpenRecording) -> list[View]:
    """What libsndfile may see of this file: a view for each link of an Ogg file, else one view.

    Empty where the kind of file is not a known one. A RIFF file (wav) whose chunks do not lead to any
    sound is an :class:`AudioError`.
    """
    start = _after_id3(source)
    magic = source.read_at(start, 12)
    if _is_riff(magic):
        return [_riff(source, start, magic)]
    if magic[:4] == b"OggS":
        stops = [*link_starts(source, start), source.size]
        return [View(source, b"", *span) for span in pairwise(stops)]
    return [View(source, b"", start, source.size)] if _is_known(magic) else []


def riff_comment(source: OpenRecording) -> str:
    """The comment (ICMT) in a RIFF file, where field recorders note the time; empty if none."""
    start = _after_id3(source)
    magic = source.read_at(start, 12)
    if not _is_riff(magic):
        return ""
    order = _byte_order(magic)
    for name, size, body in _chunks(source, start + 12, order):
        if name == b"LIST" and source.read_at(body, 4) == b"INFO":
            for tag, length, text in _chunks(source, body + 4, order, body + size):
                if tag == b"ICMT":
                    raw = source.read_at(text, min(length, _MAX_SMALL_CHUNK))
                    return raw.partition(b"\0")[0].decode("utf-8", "replace")
    return ""


def _is_riff(magic: bytes) -> bool:
    return magic[:4] in (b"RIFF", b"RIFX", b"RF64") and magic[8:] == b"WAVE"


def _byte_order(magic: bytes) -> str:
    return ">" if magic[:4] == b"RIFX" else "<"


def _is_known(magic: bytes) -> bool:
    return (
        magic[:4] in (b"fLaC", b"caff", b".snd")
        or (magic[:4] == b"FORM" and magic[8:] in (b"AIFF", b"AIFC"))
        or magic == b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb"  # Sony Wave64
        # An MPEG audio frame: eleven set bits, then a version and a layer that exist.
        or (len(magic) > 1 and magic[0] == 0xFF and magic[1] & 0xE0 == 0xE0 and magic[1] & 6 != 0)
    )


def _after_id3(source: OpenRecording) -> int:
    """Offset of the first byte after the ID3v2 tags, where libsndfile would guess the format again."""
    start = 0
    for _ in range(16):
        tag = source.read_at(start, 10)
        if len(tag) < 10 or tag[:3] != b"ID3":
            break
        has_footer = bool(tag[5] & 0x10)
        size = sum(
            (byte & 0x7F) << shift for byte, shift in zip(tag[6:], (21, 14, 7, 0), strict=True)
        )
        start += 10 + size + 10 * has_footer
    return start


def _riff(source: OpenRecording, start: int, magic: bytes) -> View:
    """A RIFF file reduced to its format and samples, with the length that the file really has."""
    order = _byte_order(magic)
    chunks: dict[bytes, bytes] = {}
    for name, size, body in _chunks(source, start + 12, order):
        if name == b"data":
            length = _real_length(source, size, body, chunks.get(b"ds64", b""))
            return View(source, _head(magic, order, chunks, length), body, body + length)
        if name in _SOUND_CHUNKS and name not in chunks and size <= _MAX_SMALL_CHUNK:
            chunks[name] = source.read_at(body, size)
    raise source.refused("its header is damaged: it leads to no sound ('data' chunk)", _RECONVERT)


def _chunks(
    source: OpenRecording, position: int, order: str, stop: int | None = None
) -> Iterator[tuple[bytes, int, int]]:
    """Name, size and first byte of each chunk before ``stop``, as far as the sizes lead."""
    for _ in range(_MAX_CHUNKS):
        header = source.read_at(position, 8)
        if len(header) < 8 or (stop is not None and position >= stop):
            return
        name, size = struct.unpack(f"{order}4sI", header)
        yield name, size, position + 8
        position += 8 + size + size % 2


def _real_length(source: OpenRecording, size: int, body: int, ds64: bytes) -> int:
    """Bytes of sound in a 'data' chunk, whatever its header says."""
    if size == 0xFFFFFFFF and len(ds64) >= 16:
        (size,) = struct.unpack_from("<Q", ds64, 8)
    there = source.size - body
    if there < size < _UNKNOWN_LENGTH:
        source.warn(f"cut short, {size - there} bytes of sound are missing")
    return min(size, there) if size else there


def _head(magic: bytes, order: str, chunks: dict[bytes, bytes], length: int) -> bytes:
    """All that stands before the samples."""
    head = magic
    for name, content in chunks.items():
        if name == b"ds64" and len(content) >= 16:
            content = content[:8] + struct.pack("<Q", length) + content[16:]
        head += struct.pack(f"{order}4sI", name, len(content)) + content + bytes(len(content) % 2)
    return head + struct.pack(f"{order}4sI", b"data", min(length, 0xFFFFFFFF))
