"""The text tower of ``concepts``: all-MiniLM-L6-v2, a small sentence encoder."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from prism_audio.errors import InputError
from prism_audio.io.runtime import import_onnxruntime
from prism_audio.io.types import Float32

WIDTH = 384
LONGEST = 256
_THREADS = 4


class MiniLM:
    """Sentences to unit vectors: the mean of their tokens' states.

    Each sentence is computed by itself. In a batch this int8 model would scale all sentences by the
    largest value among them, and one would change the others.
    """

    def __init__(self, model: Path, tokenizer: Path) -> None:
        from tokenizers import Tokenizer

        onnxruntime = import_onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def vectors(self, texts: Sequence[str]) -> Float32:
        """Unit rows (len(texts), 384) in the order of ``texts``."""
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise InputError("a list of texts was wanted, one string each")
        with ThreadPoolExecutor(_THREADS) as threads:
            rows = list(threads.map(self._vector, texts))
        return np.stack(rows) if rows else np.empty((0, WIDTH), np.float32)

    def _vector(self, text: str) -> Float32:
        tokens = self._tokenizer.encode(text).ids
        if len(tokens) > LONGEST:
            raise InputError(
                f"a text has {len(tokens)} tokens and {LONGEST} can be read: {text[:60]!r}. "
                "Shorten it to what is heard."
            )
        ids = np.array([tokens], np.int64)
        states = self._session.run(
            ["last_hidden_state"],
            {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "token_type_ids": np.zeros_like(ids),
            },
        )[0]
        mean = states[0].mean(axis=0, dtype=np.float64)
        unit: Float32 = (mean / np.linalg.norm(mean)).astype(np.float32)
        return unit
