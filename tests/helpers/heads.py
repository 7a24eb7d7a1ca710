"""Exported heads, run as their users would run them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from prism_audio.io.runtime import import_onnxruntime

_PROGRAM = r"""
#include <stdio.h>
#include "head.h"
int main(void)
{
    float embedding[PRISM_DIM], scores[PRISM_CLASSES];
    while (fread(embedding, sizeof embedding, 1, stdin) == 1) {
        int c;
        prism_scores(embedding, scores);
        printf("%d", prism_predict(embedding));
        for (c = 0; c < PRISM_CLASSES; ++c)
            printf(" %.9g", (double)scores[c]);
        printf("\n");
    }
    return 0;
}
"""

_LABELS = r"""
#include <stdio.h>
#include "head.h"
int main(void)
{
    int c;
    for (c = 0; c < PRISM_CLASSES; ++c)
        printf("%s%c", prism_labels[c], 0);
    return prism_biases[0] > 1e30f || prism_prototypes[0][0] > 1e30f;
}
"""


def compiled(header: Path, folder: Path, program: str) -> Path:
    """A program that includes the header, compiled with every warning an error."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    folder = folder / "compiled"
    folder.mkdir(exist_ok=True)
    shutil.copy(header, folder / "head.h")
    (folder / "main.c").write_text(program)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic-errors", "-Wconversion"]
    done = subprocess.run(
        [compiler, *strict, "-O2", "-o", folder / "main", folder / "main.c"],  # and no -lm
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "main"


def c_predictions(header: Path, E: np.ndarray, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Labels (N,) and scores (N, C) of the C head."""
    program = compiled(header, folder, _PROGRAM)
    data = np.ascontiguousarray(E, dtype=np.float32).tobytes()
    out = subprocess.run([program], input=data, capture_output=True, check=True).stdout
    table = np.array([line.split() for line in out.decode().splitlines()], dtype=np.float64)
    return table[:, 0].astype(int), table[:, 1:]


def c_labels(header: Path, folder: Path) -> list[str]:
    """The labels as C sees them."""
    program = compiled(header, folder, _LABELS)
    out = subprocess.run([program], capture_output=True, check=True).stdout
    return out.decode().split("\0")[:-1]


def onnx_predictions(model: Path, E: np.ndarray) -> np.ndarray:
    """Labels (N,) of the ONNX head."""
    return onnx_outputs(model, E)[1]


def onnx_outputs(model: Path, E: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores (N, C) and labels (N,) of the ONNX head."""
    session = import_onnxruntime().InferenceSession(str(model), providers=["CPUExecutionProvider"])
    scores, label = session.run(["scores", "label"], {"embedding": E.astype(np.float32)})
    return scores, label
