"""The adapter as an ONNX graph: embeddings in, cosines and labels out.

    embedding (N, d) float32  ->  scores (N, C) float32,  label (N,) int64

``scores`` are the cosines of ``Adapter.scores`` and so of ``prism classify``: a threshold found there
holds here. That takes the whole map, (d + 1) x d numbers; who needs labels alone and has no room
takes the C header or the NPZ file, which hold the folded head, (d + 1) x C numbers.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from prism_audio.errors import PrismError
from prism_audio.export.arrays import about
from prism_audio.io import seal
from prism_audio.io.atomic import atomic_write
from prism_audio.io.runtime import import_extra, import_onnxruntime
from prism_audio.model.adapter import Adapter

# Old enough for any runtime in use.
OPSET, IR_VERSION = 13, 8
TOLERANCE = 1e-5
_TINY = 1e-30


def onnx_model(adapter: Adapter) -> bytes:
    """The graph, serialised."""
    onnx = import_extra(
        "onnx", "writing ONNX needs the package onnx: pip install 'prism-audio[onnx]'"
    )
    helper, kinds = onnx.helper, onnx.TensorProto
    C, d = adapter.prototypes.shape
    constants = {
        "map": adapter.W[:d],
        "shift": adapter.W[d],
        "prototypes": adapter.prototypes.T,
        "tiny": np.array(_TINY),
        "low": np.array(-1.0),
        "high": np.array(1.0),
    }
    node = helper.make_node
    nodes = [
        # Divided by its largest entry first, so that no embedding's square overflows.
        node("Abs", ["embedding"], ["sizes"]),
        node("ReduceMax", ["sizes"], ["peak"], axes=[1], keepdims=1),
        node("Max", ["peak", "tiny"], ["peak_safe"]),
        node("Div", ["embedding", "peak_safe"], ["bounded"]),
        node("ReduceL2", ["bounded"], ["length"], axes=[1], keepdims=1),
        node("Max", ["length", "tiny"], ["length_safe"]),
        node("Div", ["bounded", "length_safe"], ["unit"]),
        node("MatMul", ["unit", "map"], ["mapped"]),
        node("Add", ["mapped", "shift"], ["moved"]),
        node("ReduceL2", ["moved"], ["moved_length"], axes=[1], keepdims=1),
        node("Max", ["moved_length", "tiny"], ["moved_safe"]),
        node("Div", ["moved", "moved_safe"], ["corrected"]),
        node("MatMul", ["corrected", "prototypes"], ["cosines"]),
        node("Clip", ["cosines", "low", "high"], ["scores"]),
        node("ArgMax", ["cosines"], ["label"], axis=1, keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "prism",
        [helper.make_tensor_value_info("embedding", kinds.FLOAT, ["N", d])],
        [
            helper.make_tensor_value_info("scores", kinds.FLOAT, ["N", C]),
            helper.make_tensor_value_info("label", kinds.INT64, ["N"]),
        ],
        [
            onnx.numpy_helper.from_array(np.ascontiguousarray(array, dtype=np.float32), name)
            for name, array in constants.items()
        ],
    )
    model = helper.make_model(
        graph,
        producer_name="prism-audio",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    told = {**about(adapter), "use": "scores: cosines; label: index into labels"}
    told["labels"] = json.dumps(list(adapter.labels))
    told["sha256"] = seal.BLANK
    helper.set_model_props(model, {name: str(value) for name, value in told.items()})
    onnx.checker.check_model(model)
    return seal.sealed(model.SerializeToString())


def write_onnx(adapter: Adapter, path: str | os.PathLike[str]) -> float:
    """Write the graph after onnxruntime has agreed with NumPy; gives the largest difference."""
    model = onnx_model(adapter)
    difference = check_onnx(model, adapter)
    with atomic_write(path) as file:
        file.write(model)
    return difference


def check_onnx(model: bytes, adapter: Adapter) -> float:
    """The largest difference between the graph's scores and the adapter's on probing embeddings.

    More than :data:`TOLERANCE`, or a label that differs where it is not a tie, is an error.
    """
    probes = _probes(adapter)
    scores, label = _session(model).run(None, {"embedding": probes})
    wanted = adapter.scores(probes)
    difference = float(np.abs(scores - wanted).max())
    chosen = np.take_along_axis(wanted, label[:, None], axis=1)[:, 0]
    if not difference <= TOLERANCE or (wanted.max(axis=1) - chosen > TOLERANCE).any():
        raise PrismError(
            f"the ONNX graph differs from the adapter by {difference:.1e} (allowed: {TOLERANCE:g}); "
            "nothing was written. Update onnxruntime, or report this adapter"
        )
    return difference


def _session(model: bytes) -> Any:
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _probes(adapter: Adapter) -> np.ndarray:
    """Embeddings of all kinds: random ones, the prototypes, silence, very long and short ones."""
    random = np.random.default_rng(0).standard_normal((256, adapter.dim))
    rows = [random, adapter.prototypes, np.zeros((1, adapter.dim)), random[:4] * 1e25]
    return np.concatenate([*rows, random[4:8] * 1e-25]).astype(np.float32)
