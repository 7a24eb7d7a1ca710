"""CLAP's text tower (RoBERTa) as an ONNX graph: tokens of equally long texts to embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prism_audio.encoders.clap.export.graph import Array, Graph, query_key_value
from prism_audio.errors import InputError

_TEXT = "text_model"


def text_graph(config: Any, weights: Mapping[str, Array]) -> Any:
    """The ``ModelProto`` from ``input_ids`` (batch, length) to ``text_embeds`` (batch, d).

    ``config`` is a ``ClapConfig``, ``weights`` are the model's in float32. There is no mask, as in the
    public exports of CLAP: the texts of a batch must have the same number of tokens.
    """
    text = config.text_config
    if text.hidden_act != "gelu" or text.projection_hidden_act != "relu":
        raise InputError("this text tower is not a RoBERTa with GELU and ReLU: not exported")
    graph = Graph(weights)
    x = _embeddings(graph, text)
    for layer in range(text.num_hidden_layers):
        x = _layer(graph, text, x, f"{_TEXT}.encoder.layer.{layer}")
    first = graph.rows(x, np.array(0))
    pooled = graph.op("Tanh", graph.linear(first, f"{_TEXT}.pooler.dense"))
    result = graph.projection(pooled, "text_projection")
    given = ("input_ids", np.int64, ["batch_size", "sequence_length"])
    return graph.model(given, result, ("text_embeds", ["batch_size", config.projection_dim]))


def _embeddings(graph: Graph, text: Any) -> str:
    name = f"{_TEXT}.embeddings"
    words = graph.constant(graph.weight(f"{name}.word_embeddings.weight"), f"{name}.words")
    # RoBERTa counts positions from the padding's number on; all tokens are of type 0.
    places = graph.weight(f"{name}.position_embeddings.weight")[text.pad_token_id + 1 :]
    places = places + graph.weight(f"{name}.token_type_embeddings.weight")[0]
    length = graph.op("Shape", "input_ids", start=1, end=2)
    start, axis = graph.constant(np.array([0])), graph.constant(np.array([0]))
    used = graph.op("Slice", graph.constant(places, f"{name}.positions"), start, length, axis)
    x = graph.op("Add", graph.op("Gather", words, "input_ids"), used)
    return graph.norm(x, f"{name}.LayerNorm", text.layer_norm_eps)


def _layer(graph: Graph, text: Any, x: str, name: str) -> str:
    heads, epsilon = text.num_attention_heads, text.layer_norm_eps
    width = text.hidden_size // heads
    names = ("query", "key", "value")
    matrix, bias = query_key_value(graph, f"{name}.attention.self", width, names)
    qkv = graph.affine(x, matrix, bias, f"{name}.attention.qkv")
    mixed = graph.attention(qkv, heads, width, 1, None)
    y = graph.linear(mixed, f"{name}.attention.output.dense")
    x = graph.norm(graph.op("Add", x, y), f"{name}.attention.output.LayerNorm", epsilon)
    y = graph.op("Gelu", graph.linear(x, f"{name}.intermediate.dense"))
    y = graph.linear(y, f"{name}.output.dense")
    return graph.norm(graph.op("Add", x, y), f"{name}.output.LayerNorm", epsilon)
