"""CLAP by onnxruntime: no PyTorch, nothing beyond the core install.

Every window is a run of its own on one thread, and as many run side by side as there are cores.
That is faster than one batch on all cores, and no window can change another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from prism_audio.encoders.clap.base import ClapBase, too_long, unit_rows
from prism_audio.encoders.clap.mel import MelFrontEnd
from prism_audio.encoders.clap.session import TowerSession
from prism_audio.encoders.clap.settings import read_config, read_front_end
from prism_audio.errors import AssetError, InputError
from prism_audio.io.runtime import usable_cores
from prism_audio.io.types import Float32

# Raised when the computation around the networks changes an embedding.
_VERSION = 1
_TEXT_BATCH = 16
# RoBERTa's sizes, for a config.json that leaves out what is usual.
_POSITIONS, _PADDING, _WIDTH = 514, 1, 512
# What the names of the two ONNX files end in.
PRECISIONS = {"fp32": "", "int8": "_quantized"}


class OnnxClapEncoder(ClapBase):
    """CLAP from ONNX files.

    Parameters
    ----------
    folder : Path
        ``config.json``, ``preprocessor_config.json``, ``tokenizer.json`` and the two towers,
        ``onnx/audio_model.onnx`` and ``onnx/text_model.onnx`` (``..._quantized.onnx`` for int8).
    precision : str, optional
        ``fp32`` or ``int8``; by default the first of the two that is there.
    name : str, optional
        The encoder's ``id``; the folder by default.
    threads : int, optional
        Windows computed side by side; by default one for each core.

    Attributes
    ----------
    id, fingerprint, dim, rate, window, hop
        As in :class:`~prism_audio.encoders.protocol.Encoder`. The fingerprint is a hash of the files'
        contents and of the sound's preparation, wherever the folder lies.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        precision: str | None = None,
        name: str | None = None,
        threads: int | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise InputError(f"threads must be 1 or more, not {threads}")
        folder = Path(folder).expanduser()
        config, mel = read_config(folder), read_front_end(folder)
        self._files = tower_files(folder, precision)
        tokens = folder / "tokenizer.json"
        text = config.get("text_config") or {}
        self._room = (
            text.get("max_position_embeddings", _POSITIONS) - text.get("pad_token_id", _PADDING) - 1
        )
        self._tokenizer = _tokenizer(tokens)
        dim = int(config.get("projection_dim", _WIDTH))
        fingerprint = _fingerprint(mel, self._room, [*self._files, tokens])
        super().__init__(name or str(folder), fingerprint, dim, mel)
        self._pool = ThreadPoolExecutor(threads or usable_cores(), thread_name_prefix="clap")
        self._loading = Lock()

    @cached_property
    def _audio(self) -> TowerSession:
        return TowerSession(self._files[0], "input_features", "audio_embeds")

    @cached_property
    def _text(self) -> TowerSession:
        return TowerSession(self._files[1], "input_ids", "text_embeds", lasting=False)

    def _tower(self, name: str) -> TowerSession:
        """A tower, loaded when it is first needed: who only embeds sound never loads the text's.

        Sound follows text: the text tower, by far the larger, is dropped when sound is embedded.
        """
        with self._loading:
            if name == "_audio":
                self.__dict__.pop("_text", None)
            tower: TowerSession = getattr(self, name)
        if tower.width not in (None, self.dim):
            raise AssetError(
                f"{self.id}: a tower gives {tower.width} numbers, config.json says {self.dim}"
            )
        return tower

    def _audio_rows(self, windows: Float32) -> Float32:
        tower = self._tower("_audio")

        def row(window: Float32) -> Float32:
            return unit_rows(tower.run(self.mel.picture(window)[None, None]))

        return self._joined(list(self._pool.map(row, windows)))

    def _text_rows(self, texts: list[str]) -> Float32:
        tower = self._tower("_text")
        tokens = [self._tokenizer.encode(text).ids for text in texts]
        for text, ids in zip(texts, tokens, strict=True):
            if len(ids) > self._room:
                raise too_long(text, self._room)
        batches = list(_equal_lengths(tokens, _TEXT_BATCH if tower.batches else 1))
        rows = np.empty((len(texts), self.dim), np.float32)
        runs = self._pool.map(
            lambda batch: tower.run(np.array([tokens[i] for i in batch], np.int64)), batches
        )
        for batch, result in zip(batches, runs, strict=True):
            rows[batch] = unit_rows(result)
        return rows


def tower_files(folder: Path, precision: str | None = None) -> tuple[Path, Path]:
    """The files of the audio and the text tower in ``folder``."""
    if precision is not None and precision not in PRECISIONS:
        raise InputError(f"precision {precision!r} is not one of {', '.join(PRECISIONS)}")
    for kind in [precision] if precision else PRECISIONS:
        end = PRECISIONS[kind]
        audio, text = (folder / "onnx" / f"{tower}_model{end}.onnx" for tower in ("audio", "text"))
        if audio.is_file() and text.is_file():
            return audio, text
    raise AssetError(
        f"{folder} lacks {audio.relative_to(folder)} or {text.relative_to(folder)}. "
        "'prism export-encoder' writes both from a PyTorch model."
    )


def _equal_lengths(tokens: list[list[int]], most: int) -> Iterator[list[int]]:
    """Numbers of texts with equally many tokens: without a mask, padding would change the result."""
    by_length: dict[int, list[int]] = {}
    for number, ids in enumerate(tokens):
        by_length.setdefault(len(ids), []).append(number)
    for numbers in by_length.values():
        for start in range(0, len(numbers), most):
            yield numbers[start : start + most]


def _tokenizer(path: Path) -> Any:
    from tokenizers import Tokenizer

    if not path.is_file():
        raise AssetError(f"{path} is not there; copy the model's tokenizer.json to this place")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises bare exceptions
        raise AssetError(f"{path} is not a tokenizer ({error}); fetch it again") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _fingerprint(mel: MelFrontEnd, room: int, files: list[Path]) -> str:
    constants = [_VERSION, mel.rate, mel.samples, mel.size, mel.hop, mel.padding, room]
    digest = hashlib.sha256(json.dumps(constants).encode())
    digest.update(mel.filters.tobytes())
    for path in files:
        # Weights may lie in a file of their own, named after the network.
        for part in sorted(path.parent.glob(f"{path.name}*")):
            with part.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
