"""The audio tower of ``concepts``: YAMNet, which scores 0.975 s of sound for 521 concepts.

The published network takes a window of samples and begins with its log-mel spectrum: 96 frames, 160
samples apart. Nearly half of the time goes there. Windows that follow each other at ``HOP`` have half
of their frames in common, so the network is cut behind its spectrum: every second window's frames are
those of its neighbours, bit for bit, and need not be computed again.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_audio.errors import InputError
from prism_audio.io.runtime import usable_cores
from prism_audio.io.stderr import no_stderr
from prism_audio.io.types import Float32

RATE = 16_000
SAMPLES = 15_600
# From one window to the next, so that half of its frames are new.
HOP = 7_680
CONCEPTS = 521
_FRAMES, _BANDS = 96, 64
_NEW = HOP // 160
# Windows scored by one thread in a row: more than a short clip has, so that a thread per clip never
# waits for another, and few enough to share a long recording out. Odd, so that both ends are computed
# and every second one between them is not.
_SLICE = 17


class YamNet:
    """YAMNet on all cores: a few interpreters of one thread each, one window an invocation.

    The model sees one window at a time, so no window can influence another, and the interpreter
    gives up Python's lock while it computes, so threads suffice. May be called from any thread.
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

    @cached_property
    def silence(self) -> Float32:
        """Scores (521,) of digital silence."""
        (row,) = self._scores(np.zeros((1, SAMPLES), np.float32))
        return np.asarray(row)

    @cached_property
    def _parts(self) -> tuple[bytes, bytes]:
        return _cut(self._model)

    def _scores(self, windows: Float32) -> Float32:
        with self._interpreter() as interpreter:
            return interpreter.scores(windows)

    @contextmanager
    def _interpreter(self) -> Iterator[_Interpreter]:
        with self._permits:
            try:
                interpreter = self._idle.pop()
            except IndexError:
                interpreter = _Interpreter(*self._parts)
            yield interpreter
            self._idle.append(interpreter)


class _Interpreter:
    """Both parts of the network, for one thread at a time."""

    def __init__(self, spectrum: bytes, scoring: bytes) -> None:
        with _QUIET, no_stderr():
            self._spectrum = _Part(spectrum)
            self._scoring = _Part(scoring)
        self._silence: Float32 | None = None

    def scores(self, windows: Float32) -> Float32:
        """Scores (B, 521) of windows (B, 15600), quickest if they are a recording's in order."""
        rows = np.empty((len(windows), CONCEPTS), np.float32)
        sounding: NDArray[np.bool_] = np.any(windows, axis=1)
        # Many collections pad their clips with digital silence, whose scores never change.
        if not sounding.all():
            rows[~sounding] = self._silent_row()
        frames = self._frames(windows, sounding)
        for at in np.flatnonzero(sounding):
            rows[at] = self._scoring(frames[at])[0]
        return rows

    def _frames(self, windows: Float32, wanted: NDArray[np.bool_]) -> Float32:
        """Log-mel spectra (B, 96, 64) of the windows that are wanted."""
        frames = np.empty((len(windows), _FRAMES, _BANDS), np.float32)
        adjoin = [np.array_equal(a[HOP:], b[:-HOP]) for a, b in pairwise(windows)]
        between = {
            at
            for at in range(1, len(windows) - 1, 2)
            if adjoin[at - 1] and adjoin[at] and wanted[at - 1 : at + 2].all()
        }
        for at in np.flatnonzero(wanted):
            if at not in between:
                frames[at] = self._spectrum(windows[at])
        for middle in between:
            frames[middle, :_NEW] = frames[middle - 1, _NEW:]
            frames[middle, _NEW:] = frames[middle + 1, :_NEW]
        return frames

    def _silent_row(self) -> Float32:
        if self._silence is None:
            self._silence = self._scoring(self._spectrum(np.zeros(SAMPLES, np.float32)))[0]
        return self._silence


class _Part:
    """A network with one input and one output."""

    def __init__(self, model: bytes) -> None:
        from ai_edge_litert.interpreter import Interpreter

        self._runtime: Any = Interpreter(model_content=model, num_threads=1)
        self._runtime.allocate_tensors()
        self._given = self._runtime.get_input_details()[0]["index"]
        self._wanted = self._runtime.get_output_details()[0]["index"]

    def __call__(self, given: Float32) -> Float32:
        self._runtime.set_tensor(self._given, given)
        self._runtime.invoke()
        result: Float32 = self._runtime.get_tensor(self._wanted)
        return result


def _cut(model: bytes) -> tuple[bytes, bytes]:
    """The network from samples to log-mel spectrum, and the one from there to scores."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    def part(take: slice, given: Any, wanted: Any) -> bytes:
        network = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model))
        graph = network.subgraphs[0]
        graph.operators, graph.inputs, graph.outputs = graph.operators[take], given, wanted
        builder = flatbuffers.Builder(len(model))
        builder.Finish(network.Pack(builder), b"TFL3")
        return bytes(builder.Output())

    network = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model))
    graph = network.subgraphs[0]
    codes = [network.operatorCodes[step.opcodeIndex] for step in graph.operators]
    logarithm = [max(code.builtinCode, code.deprecatedBuiltinCode) for code in codes].index(
        schema.BuiltinOperator.LOG
    )
    spectrum = graph.operators[logarithm].outputs
    return (
        part(slice(logarithm + 1), graph.inputs, spectrum),
        part(slice(logarithm + 1, None), spectrum, graph.outputs),
    )


_QUIET = threading.Lock()
