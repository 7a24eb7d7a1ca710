"""The audio tower of ``concepts``: YAMNet, which scores 0.975 s of sound for 521 concepts."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_audio.encoders.base import usable_cores
from prism_audio.errors import InputError
from prism_audio.quiet import no_stderr

Float32 = NDArray[np.float32]

RATE = 16_000
SAMPLES = 15_600
CONCEPTS = 521
# Windows scored by one thread in a row: more than a short clip has, so that a thread per clip never
# waits for another, and few enough to share a long recording out.
_SLICE = 16


class YamNet:
    """YAMNet on all cores: a few interpreters of one thread each, one window an invocation.

    The model sees one window at a time, so no window can influence another, and the interpreter
    gives up Python's lock while it computes, so threads suffice. May be called from any thread.

    Parameters
    ----------
    model : Path
        The TFLite file.
    threads : int, optional
        Interpreters at work; by default one for every core this process may use, and one more.
    """

    def __init__(self, model: Path, threads: int | None = None) -> None:
        self._model = model.read_bytes()
        # One more than the cores: while one waits for Python's lock, the others compute.
        self._threads = threads or usable_cores() + 1
        self._start()
        # Threads and locks do not survive a fork, so a forked process begins afresh.
        if hasattr(os, "register_at_fork"):
            start = weakref.WeakMethod(self._start)
            os.register_at_fork(after_in_child=lambda: (again := start()) and again())

    def _start(self) -> None:
        self._idle: list[_Interpreter] = []
        self._permits = threading.Semaphore(self._threads)
        self._helpers = ThreadPoolExecutor(self._threads, thread_name_prefix="yamnet")

    def scores(self, windows: Float32) -> Float32:
        """Scores (B, 521), each 0 to 1, of windows (B, 15600) at 16 kHz."""
        windows = np.asarray(windows, dtype=np.float32)
        if windows.ndim != 2 or windows.shape[1] != SAMPLES:
            raise InputError(
                f"windows of shape (any, {SAMPLES}) were wanted ({SAMPLES / RATE:g} s at "
                f"{RATE} Hz), not {windows.shape}"
            )
        if not np.isfinite(windows).all():
            raise InputError("the windows hold NaN or infinite samples")
        if len(windows) <= _SLICE:
            return self._scores(windows)
        slices = [windows[at : at + _SLICE] for at in range(0, len(windows), _SLICE)]
        return np.concatenate(list(self._helpers.map(self._scores, slices)))

    def _scores(self, windows: Float32) -> Float32:
        with self._interpreter() as interpreter:
            rows = [interpreter.scores(window) for window in windows]
        return np.array(rows, np.float32).reshape(len(rows), CONCEPTS)

    @contextmanager
    def _interpreter(self) -> Iterator[_Interpreter]:
        with self._permits:
            try:
                interpreter = self._idle.pop()
            except IndexError:
                interpreter = _Interpreter(self._model)
            yield interpreter
            self._idle.append(interpreter)


class _Interpreter:
    """One interpreter, for one thread at a time."""

    def __init__(self, model: bytes) -> None:
        from ai_edge_litert.interpreter import Interpreter

        with _QUIET, no_stderr():
            self._runtime: Any = Interpreter(model_content=model, num_threads=1)
            self._runtime.allocate_tensors()
        self._given = self._runtime.get_input_details()[0]["index"]
        self._wanted = self._runtime.get_output_details()[0]["index"]
        self._silence: Float32 | None = None

    def scores(self, window: Float32) -> Float32:
        # Many collections pad their clips with digital silence, whose scores never change.
        if window.any():
            return self._invoke(window)
        if self._silence is None:
            self._silence = self._invoke(window)
        return self._silence

    def _invoke(self, window: Float32) -> Float32:
        self._runtime.set_tensor(self._given, window)
        self._runtime.invoke()
        row: Float32 = self._runtime.get_tensor(self._wanted)[0]
        return row


_QUIET = threading.Lock()
