"""A batch: embeddings with where each came from, whatever kind of input that was.

Recordings are embedded here; a store or a file of arrays is read as it is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prism_audio.errors import InputError
from prism_audio.io.matrices import is_matrix_file, read_matrix
from prism_audio.io.types import Float

if TYPE_CHECKING:
    from prism_audio.encoders.embedding.engine import Failure, Progress
    from prism_audio.encoders.protocol import Encoder

AnyPath = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of embeddings.

    Attributes
    ----------
    embeddings : (N, d) array
        The rows.
    files : list of str
        For every row the recording it came from.
    start, end : (N,) arrays
        Where in that recording it lies, in seconds; NaN where that is not known.
    row : str
        What a row stands for: ``clip``, ``window``, or ``row`` where that is not known.
    encoder, fingerprint : str
        What embedded them; empty where that is not known.
    failures : list of (path, reason)
        Recordings that could not be embedded.
    """

    embeddings: Float
    files: list[str]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    row: str = "row"
    encoder: str = ""
    fingerprint: str = ""
    failures: list[tuple[str, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.files)

    @classmethod
    def of_windows(cls, windows: Sequence[tuple[float, float, Float]], encoder: Encoder) -> Batch:
        """Windows of a stream: when each starts and ends in seconds, and its row."""
        start, end, rows = zip(*windows, strict=True)
        return cls(
            np.stack(rows),
            [""] * len(rows),
            np.array(start),
            np.array(end),
            "window",
            encoder.id,
            encoder.fingerprint,
        )


def kind_of(paths: Sequence[AnyPath]) -> str:
    """``audio``, ``store`` or ``array``: what these paths are; raises where they are nothing."""
    from prism_audio.store.store import SETTINGS_FILE

    kinds = []
    for path in map(Path, paths):
        if not path.exists() and not path.is_symlink():
            raise InputError(f"{path}: there is no such file or folder")
        if is_matrix_file(path):
            kinds.append("array")
        else:
            kinds.append("store" if (path / SETTINGS_FILE).is_file() else "audio")
    if len(paths) > 1 and set(kinds) != {"audio"}:
        odd = next(path for path, kind in zip(paths, kinds, strict=True) if kind != "audio")
        raise InputError(f"{odd} is no recording; a store or a file of arrays comes alone")
    return kinds[0]


def read_batch(path: AnyPath) -> Batch:
    """The rows of a store that ``prism embed`` has made, or of a file of arrays."""
    from prism_audio.store.store import Store

    if is_matrix_file(path):
        rows = read_matrix(path).rows
        return Batch(rows, *read_places(path, len(rows)))
    store = Store.open(Path(path))
    if len(store) == 0:
        raise InputError(f"{path} holds no embeddings yet; run 'prism embed' to its end")
    about = store.settings
    return Batch(
        store.embeddings(),
        store.paths,
        store.start,
        store.end,
        about.row,
        about.encoder,
        about.fingerprint,
        list(store.failures.items()),
    )


def read_places(
    path: AnyPath, N: int
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """For each of the ``N`` rows of a store or a file of arrays its recording, and where it lies."""
    from prism_audio.store.store import Store

    if not is_matrix_file(path):
        store = Store.open(Path(path))
        return store.paths, store.start, store.end
    unknown = np.full(N, np.nan)
    return [f"{Path(path).name}[{i}]" for i in range(N)], unknown, unknown


def embed_batch(
    paths: Sequence[AnyPath],
    encoder: Encoder,
    *,
    per_window: bool = False,
    progress: Progress | None = None,
) -> Batch:
    """Embed recordings and all recordings below folders.

    Parameters
    ----------
    paths : sequence of paths
        Files and folders.
    encoder : Encoder
        What embeds them.
    per_window : bool
        A row for every window of the encoder instead of one for every recording.
    progress : Progress, optional
        Told how it goes.

    Raises
    ------
    InputError
        If there is nothing to embed. What cannot be read is in ``failures`` of the result.
    """
    from prism_audio.encoders.embedding.engine import Clip, Silent, embed_files

    progress = progress or Silent()
    failures: list[tuple[str, str]] = []
    files = _recordings(paths, failures)
    progress.begin(len(files), sum(map(_size, files)))
    rows: list[Float] = [np.empty((0, encoder.dim), np.float32)]
    names: list[str] = []
    spans: list[NDArray[np.float64]] = [np.empty((2, 0))]
    results = embed_files(files, encoder, per_window=per_window, on_audio=progress.audio)
    with closing(results):
        for result in results:
            if isinstance(result, Clip):
                rows.append(result.rows(encoder) if per_window else result.embedding[None])
                names += [str(result.path)] * len(result.start)
                spans.append(np.stack([result.start, result.end]))
            else:
                failures.append(_failure(result))
            progress.file(_size(result.path))
    start, end = np.concatenate(spans, axis=1)
    row = "window" if per_window else "clip"
    return Batch(
        np.concatenate(rows), names, start, end, row, encoder.id, encoder.fingerprint, failures
    )


def _recordings(paths: Sequence[AnyPath], failures: list[tuple[str, str]]) -> list[Path]:
    from prism_audio.datasets.folder import audio_files, nothing_found

    files: list[Path] = []
    for path in map(Path, paths):
        if not path.is_dir():
            files.append(path)
            continue
        found = audio_files(
            path, lambda where, error: failures.append((str(where), str(error.strerror)))
        )
        if not found and not failures:
            raise nothing_found(path)
        files += found
    return list(dict.fromkeys(files))


def _failure(result: Failure) -> tuple[str, str]:
    return str(result.path), result.reason


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
