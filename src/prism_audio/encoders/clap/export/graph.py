"""Build an ONNX graph node by node, with the few layers that transformers are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
# Gelu is an operator from opset 20 on; onnxruntime knows it, and this file version, since 1.17.
_OPSET, _FILE_VERSION = 20, 9


class Graph:
    """Nodes and constants of a network under construction; every method gives the output's name.

    Parameters
    ----------
    weights : mapping of names to arrays
        The network's weights by their PyTorch names.
    """

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self._weights = weights
        self._nodes: list[Any] = []
        self._constants: dict[str, Array] = {}

    def weight(self, name: str) -> Array:
        """A weight by its PyTorch name."""
        return self._weights[name]

    def constant(self, value: Array, name: str | None = None) -> str:
        """A constant of the graph, under its own name or a numbered one."""
        name = name or f"constant_{len(self._constants)}"
        self._constants[name] = np.asarray(value, order="C")
        return name

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """One operator with one output."""
        from onnx import helper

        output = f"{kind.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def reshape(self, x: str, *shape: int) -> str:
        """``x`` in another shape; 0 keeps a dimension, -1 takes what is left."""
        return self.op("Reshape", x, self.constant(np.array(shape, np.int64)))

    def rows(self, x: str, index: Array, axis: int = 1) -> str:
        """The rows of ``x`` with these numbers along an axis."""
        return self.op("Gather", x, self.constant(index.astype(np.int64)), axis=axis)

    def linear(self, x: str, name: str) -> str:
        """The PyTorch layer ``Linear`` of that name."""
        bias = self._weights.get(f"{name}.bias")
        return self.affine(x, self.weight(f"{name}.weight").T, bias, name)

    def affine(self, x: str, matrix: Array, bias: Array | None, name: str) -> str:
        """``x @ matrix + bias``."""
        y = self.op("MatMul", x, self.constant(matrix, f"{name}.matrix"))
        return y if bias is None else self.op("Add", y, self.constant(bias, f"{name}.bias"))

    def norm(self, x: str, name: str, epsilon: float) -> str:
        """The PyTorch layer ``LayerNorm`` of that name, over the last axis."""
        pair = [
            self.constant(self.weight(f"{name}.{part}"), f"{name}.{part}")
            for part in ("weight", "bias")
        ]
        return self.op("LayerNormalization", x, *pair, axis=-1, epsilon=epsilon)

    def projection(self, x: str, name: str) -> str:
        """CLAP's way from a tower into the joint space: two layers with a ReLU between them."""
        hidden = self.op("Relu", self.linear(x, f"{name}.linear1"))
        return self.linear(hidden, f"{name}.linear2")

    def attention(self, qkv: str, heads: int, width: int, groups: int, bias: str | None) -> str:
        """Attention within groups of equally many tokens that follow each other.

        ``qkv`` holds tokens (batch, tokens, 3 * heads * width): queries, already scaled, keys and
        values. ``bias`` is added to the scores (groups, heads, tokens, tokens).
        """
        parts = self.reshape(qkv, 0, groups, -1, 3, heads, width)
        parts = self.op("Transpose", parts, perm=[3, 0, 1, 4, 2, 5])
        q, k, v = (self.rows(parts, np.array(i), axis=0) for i in range(3))
        scores = self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 2, 4, 3]))
        if bias is not None:
            scores = self.op("Add", scores, bias)
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        mixed = self.op("Transpose", mixed, perm=[0, 1, 3, 2, 4])
        return self.reshape(mixed, 0, -1, heads * width)

    def model(
        self,
        given: tuple[str, type, Sequence[int | str]],
        output: str,
        wanted: tuple[str, Sequence[int | str]],
    ) -> Any:
        """The finished ``ModelProto``.

        ``given`` is the one input: name, dtype and shape, in which a string is a free dimension.
        ``output`` is the node that gives the result, ``wanted`` its name and shape outside (float32).
        """
        from onnx import TensorProto, helper, numpy_helper

        name, kind, shape = given
        number = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        nodes = [*self._nodes, helper.make_node("Identity", [output], [wanted[0]], name="result")]
        graph = helper.make_graph(
            nodes,
            "clap",
            [helper.make_tensor_value_info(name, number, shape)],
            [helper.make_tensor_value_info(wanted[0], TensorProto.FLOAT, wanted[1])],
            [numpy_helper.from_array(value, key) for key, value in self._constants.items()],
        )
        return helper.make_model(
            graph,
            producer_name="prism-audio",
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_FILE_VERSION,
        )


def query_key_value(
    graph: Graph, name: str, width: int, names: tuple[str, str, str]
) -> tuple[Array, Array]:
    """Matrix and bias of queries, keys and values side by side; queries divided by √width."""
    scale = np.float32(width**-0.5)
    matrices, biases = [], []
    for part in names:
        matrix = graph.weight(f"{name}.{part}.weight").T
        bias = graph._weights.get(f"{name}.{part}.bias", np.zeros(matrix.shape[1], np.float32))
        factor = scale if part == names[0] else np.float32(1)
        matrices.append(matrix * factor)
        biases.append(bias * factor)
    return np.concatenate(matrices, axis=1), np.concatenate(biases)
