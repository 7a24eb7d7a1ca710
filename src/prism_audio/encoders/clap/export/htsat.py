"""CLAP's audio tower (HTSAT, a Swin transformer over a spectrogram) as an ONNX graph.

PyTorch's own tracing writes the moves of tokens into windows, back again, and round the edges as
chains of slices and transpositions. Here a token's place is only an index: tokens are kept in the
order of the windows of the block that comes next, and changing windows is one gather of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prism_audio.encoders.clap.export.graph import Array, Graph, query_key_value
from prism_audio.errors import InputError

_HTSAT = "audio_model.audio_encoder"
_FAR = -100.0  # what Swin adds to the score of two tokens that are no neighbours


def audio_graph(config: Any, weights: Mapping[str, Array], frames: int) -> Any:
    """The ``ModelProto`` from pictures (batch, 1, frames, mels) to ``audio_embeds`` (batch, d).

    ``config`` is a ``ClapConfig``, ``weights`` are the model's in float32. Fused models are computed
    as they are for sound that fits into a window.
    """
    audio = config.audio_config
    _check(audio, frames)
    graph = Graph(weights)
    side = audio.spec_size // audio.patch_size
    orders = _orders(audio, side)
    x = _patches(graph, audio, frames, orders[0][0])
    for stage, (depth, heads) in enumerate(
        zip(audio.depths, audio.num_attention_heads, strict=True)
    ):
        width = audio.patch_embeds_hidden_size * 2**stage
        for block in range(depth):
            if block:
                x = graph.rows(x, _moved(orders[stage][block - 1], orders[stage][block]))
            name = f"{_HTSAT}.layers.{stage}.blocks.{block}"
            x = _block(graph, audio, x, name, side >> stage, heads, width // heads, block)
        if stage + 1 < len(audio.depths):
            x = _merge(graph, stage, x, side >> stage, orders[stage][-1], orders[stage + 1][0])
    x = graph.norm(x, f"{_HTSAT}.norm", 1e-5)
    x = graph.op("ReduceMean", x, graph.constant(np.array([1])), keepdims=0)
    x = graph.projection(x, "audio_projection")
    given = ("input_features", np.float32, ["batch_size", 1, frames, audio.num_mel_bins])
    return graph.model(given, x, ("audio_embeds", ["batch_size", config.projection_dim]))


def _check(audio: Any, frames: int) -> None:
    stride = audio.patch_stride
    strides = (stride, stride) if isinstance(stride, int) else tuple(stride)
    sides = [audio.spec_size // audio.patch_size >> stage for stage in range(len(audio.depths))]
    simple = (
        strides == (audio.patch_size, audio.patch_size)
        and audio.spec_size % audio.num_mel_bins == 0
        and audio.num_mel_bins % audio.patch_size == 0
        and sides[0] % 2 ** (len(sides) - 1) == 0
        and all(side % _window(audio, side, 0)[0] == 0 for side in sides)
        and frames <= audio.spec_size**2 // audio.num_mel_bins
        and audio.hidden_act == "gelu"
        and audio.projection_hidden_act == "relu"
        and audio.fusion_type != "channel_map"
    )
    if not simple:
        raise InputError(
            "this audio tower differs from those of LAION's models (square patches without overlap, "
            "windows that divide the picture, GELU and ReLU); it cannot be exported"
        )


def _window(audio: Any, side: int, block: int) -> tuple[int, int]:
    """Width of a block's windows and how far they are shifted; a small picture is one window."""
    if side <= audio.window_size:
        return side, 0
    return audio.window_size, audio.window_size // 2 if block % 2 else 0


def _orders(audio: Any, side: int) -> list[list[Array]]:
    """For every block the numbers of the tokens (row * side + column) window by window."""
    orders = []
    for stage, depth in enumerate(audio.depths):
        n = side >> stage
        orders.append([_by_windows(n, *_window(audio, n, block)) for block in range(depth)])
    return orders


def _by_windows(side: int, window: int, shift: int) -> Array:
    grid = np.roll(np.arange(side * side).reshape(side, side), (-shift, -shift), (0, 1))
    parts = grid.reshape(side // window, window, side // window, window)
    return parts.transpose(0, 2, 1, 3).reshape(-1)


def _moved(before: Array, after: Array) -> Array:
    """Where the tokens of one order are found in another."""
    places = np.empty_like(before)
    places[before] = np.arange(len(before))
    return places[after]


def _patches(graph: Graph, audio: Any, frames: int, order: Array) -> str:
    """Tokens (batch, tokens, width) of the picture, in the order of the first windows."""
    name, patch, mels = _HTSAT, audio.patch_size, audio.num_mel_bins
    scale = graph.weight(f"{name}.batch_norm.weight") / np.sqrt(
        graph.weight(f"{name}.batch_norm.running_var") + np.float32(1e-5)
    )
    offset = graph.weight(f"{name}.batch_norm.bias") - scale * graph.weight(
        f"{name}.batch_norm.running_mean"
    )
    x = graph.reshape("input_features", 0, frames, mels)
    x = graph.op("Mul", x, graph.constant(scale, "batch_norm.scale"))
    x = graph.op("Add", x, graph.constant(offset, "batch_norm.offset"))
    parts = audio.spec_size // mels  # the picture is cut in time, and the parts stacked
    if frames < parts * audio.spec_size:
        index, share = _bicubic(frames, parts * audio.spec_size)
        x = graph.op("Mul", graph.rows(x, index), graph.constant(share[..., None], "bicubic"))
        x = graph.op("ReduceSum", x, graph.constant(np.array([2])), keepdims=0)
    x = graph.reshape(x, 0, parts, audio.spec_size // patch, patch, mels // patch, patch)
    x = graph.op("Transpose", x, perm=[0, 1, 4, 2, 5, 3])
    x = graph.rows(graph.reshape(x, 0, -1, patch * patch), order)
    kernel = graph.weight(f"{name}.patch_embed.proj.weight")
    bias = graph.weight(f"{name}.patch_embed.proj.bias")
    x = graph.affine(x, kernel.reshape(len(kernel), -1).T, bias, f"{name}.patch_embed.proj")
    if audio.enable_patch_layer_norm:
        x = graph.norm(x, f"{name}.patch_embed.norm", 1e-5)
    return x


def _bicubic(given: int, wanted: int) -> tuple[Array, Array]:
    """The four frames that each of ``wanted`` is made of, and their shares.

    Cubic convolution with a = -0.75, first and last frame kept, as PyTorch interpolates.
    """
    at = np.arange(wanted) * ((given - 1) / (wanted - 1))
    first = np.floor(at)
    distance = np.abs((at - first)[:, None] - np.arange(-1, 3))
    a = -0.75
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    share = np.where(distance <= 1, near, far).astype(np.float32)
    index = first[:, None].astype(np.int64) + np.arange(-1, 3)
    return index.clip(0, given - 1), share


def _block(
    graph: Graph, audio: Any, x: str, name: str, side: int, heads: int, width: int, block: int
) -> str:
    window, shift = _window(audio, side, block)
    groups = (side // window) ** 2
    names = ("query", "key", "value")
    matrix, bias = query_key_value(graph, f"{name}.attention.self", width, names)
    y = graph.norm(x, f"{name}.layernorm_before", audio.layer_norm_eps)
    qkv = graph.affine(y, matrix, bias, f"{name}.attention.qkv")
    places = _place_bias(graph, f"{name}.attention.self", window, heads)
    if shift:
        # Both are constants: onnxruntime adds them once, when it loads the file.
        places = graph.op("Add", places, graph.constant(_mask(side, window, shift), f"{name}.mask"))
    mixed = graph.attention(qkv, heads, width, groups, places)
    x = graph.op("Add", x, graph.linear(mixed, f"{name}.attention.output.dense"))
    y = graph.norm(x, f"{name}.layernorm_after", audio.layer_norm_eps)
    y = graph.op("Gelu", graph.linear(y, f"{name}.intermediate.dense"))
    return graph.op("Add", x, graph.linear(y, f"{name}.output.dense"))


def _place_bias(graph: Graph, name: str, window: int, heads: int) -> str:
    """What is added to scores by how two tokens lie to each other: (1, heads, tokens, tokens)."""
    table = graph.weight(f"{name}.relative_position_bias_table")
    row, column = np.divmod(np.arange(window * window), window)
    down, right = (place[:, None] - place + window - 1 for place in (row, column))
    index = down * (2 * window - 1) + right
    bias = table[index.reshape(-1)].reshape(window**2, window**2, heads)
    return graph.constant(bias.transpose(2, 0, 1)[None], f"{name}.bias")


def _mask(side: int, window: int, shift: int) -> Array:
    """(groups, 1, tokens, tokens): far where a shifted window joins opposite edges."""
    at = np.arange(side)
    region = (at >= side - window).astype(int) + (at >= side - shift)
    grid = (region[:, None] * 3 + region).reshape(side // window, window, side // window, window)
    groups = grid.transpose(0, 2, 1, 3).reshape(-1, window * window)
    apart = groups[:, None, :] != groups[:, :, None]
    return np.where(apart, np.float32(_FAR), np.float32(0))[:, None]


def _merge(graph: Graph, stage: int, x: str, side: int, before: Array, after: Array) -> str:
    """Four neighbours become one token, twice as wide, in the order of the next stage."""
    name = f"{_HTSAT}.layers.{stage}.downsample"
    half = side // 2
    row, column = np.divmod(after, half)
    four = [(2 * row + down) * side + 2 * column + right for right in range(2) for down in range(2)]
    x = graph.rows(x, _moved(before, np.stack(four, axis=1).reshape(-1)))
    x = graph.reshape(x, 0, half * half, -1)
    return graph.linear(graph.norm(x, f"{name}.norm", 1e-5), f"{name}.reduction")
