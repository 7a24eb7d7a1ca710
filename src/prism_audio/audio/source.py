"""An open recording: where its bytes come from, and what a decoder gives of its sound."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from prism_audio.errors import AudioError
from prism_audio.io.types import Float32

log = logging.getLogger(__name__)

AudioFile: TypeAlias = str | os.PathLike[str] | BinaryIO
# A file, one that is open already, or an array with its rate in Hz.
AudioSource: TypeAlias = "AudioFile | OpenRecording | tuple[Any, int]"


class OpenRecording:
    """An open recording: its bytes, its name for messages, its length in bytes."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.file = file
        self.name = name
        file.seek(0, os.SEEK_END)
        self.size = file.tell()
        if not isinstance(file.read(0), bytes):
            raise TypeError("a text file")

    def read_at(self, offset: int, count: int) -> bytes:
        """Bytes from ``offset`` on: ``count`` of them, fewer only where the file ends."""
        parts = []
        try:
            self.file.seek(offset)
            while count > 0 and (part := self.file.read(count)):
                parts.append(part)
                count -= len(part)
        except Exception as error:  # whatever the caller's own kind of file may raise
            raise self.refused(
                f"it cannot be read on from byte {offset} ({error})",
                "Check the disk or the connection it comes from.",
            ) from error
        return b"".join(parts)

    def warn(self, message: str) -> None:
        """Say what is odd about a recording that can be used all the same."""
        log.warning("%s: %s", self.name, message)

    def refused(self, reason: str, remedy: str) -> AudioError:
        """Build the error for this recording."""
        return AudioError(f"{self.name}: {reason}. {remedy}")

    def damaged(self, seconds: float, said: object) -> AudioError:
        """Build the error for a recording that breaks off ``seconds`` after its start."""
        return self.refused(
            f"it is damaged after {seconds:.2f} s ({said})",
            "Copy it again from where it came; to keep the sound before the damage, convert it: "
            "ffmpeg -i <file> <new>.wav",
        )


class Reader(NamedTuple):
    """An open recording, as its decoder describes it.

    ``frames`` is what the header promises (None: it does not say); ``blocks(n)`` gives the samples
    in order as arrays (about n at most, channels), and raises :class:`AudioError` at damage.
    """

    rate: int
    channels: int
    frames: int | None
    format: str
    blocks: Callable[[int], Iterator[Float32]]


@contextmanager
def opened(source: AudioFile) -> Iterator[OpenRecording]:
    """Open a recording for reading; what the caller opened stays open, rewound by the next use.

    An open file is named in messages by its ``name``, so give an upload one:
    ``upload = io.BytesIO(data); upload.name = "street.wav"``.
    """
    if isinstance(source, str | os.PathLike):
        with _open(Path(source)) as file:
            yield OpenRecording(file, str(source))
        return
    name = getattr(source, "name", None)
    if not isinstance(name, str):  # temporary files have a number for a name
        name = "<audio in memory>"
    try:
        recording = OpenRecording(source, name)
    except (AttributeError, TypeError, ValueError, OSError) as error:
        raise AudioError(
            f"{name}: a {type(source).__name__} is neither a path nor a binary file that can seek. "
            "Give a path, or the bytes as io.BytesIO(data)."
        ) from error
    yield recording


def _open(path: Path) -> BinaryIO:
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise AudioError(f"{path}: this is a pipe or a device. Write it to a file first.")
        return path.open("rb")
    except FileNotFoundError:
        raise AudioError(f"{path}: there is no such file. Check the name.") from None
    except IsADirectoryError:
        raise AudioError(f"{path}: this is a folder. Name one file in it.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        reason = getattr(error, "strerror", None) or error
        raise AudioError(
            f"{path}: the system cannot open it ({reason}). Check its name and permissions."
        ) from error
