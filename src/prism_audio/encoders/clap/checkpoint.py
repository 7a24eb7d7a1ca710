"""LAION's original CLAP files (``630k-audioset-fusion-best.pt`` and its kin) as a ``ClapModel``.

Three strict steps: the file is read as numbers, nothing in it can run; the architecture is read
from the names and shapes; the names are translated. A key that is neither translated nor listed
as known and idle is an error, and so is a weight the model needs and the file lacks.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prism_audio.errors import AssetError

if TYPE_CHECKING:
    from torch import Tensor

    State = dict[str, Tensor]

_HTSAT = r"audio_model.audio_encoder."
_BLOCK = r"audio_branch\.(layers\.\d+\.blocks\.\d+)\."

# Applied to whole keys; LAION's name on the left, ClapModel's on the right.
_RENAMED = [
    (r"text_branch\.(.+)", r"text_model.\1"),
    (r"(text|audio)_projection\.0\.(.+)", r"\1_projection.linear1.\2"),
    (r"(text|audio)_projection\.2\.(.+)", r"\1_projection.linear2.\2"),
    (r"audio_branch\.bn0\.(.+)", _HTSAT + r"batch_norm.\1"),
    (r"audio_branch\.((?:patch_embed|norm|layers\.\d+\.downsample)\..+)", _HTSAT + r"\1"),
    (_BLOCK + r"norm1\.(.+)", _HTSAT + r"\1.layernorm_before.\2"),
    (_BLOCK + r"norm2\.(.+)", _HTSAT + r"\1.layernorm_after.\2"),
    (_BLOCK + r"mlp\.fc1\.(.+)", _HTSAT + r"\1.intermediate.dense.\2"),
    (_BLOCK + r"mlp\.fc2\.(.+)", _HTSAT + r"\1.output.dense.\2"),
    (_BLOCK + r"attn\.proj\.(.+)", _HTSAT + r"\1.attention.output.dense.\2"),
    (_BLOCK + r"attn\.(relative_position_bias_table)", _HTSAT + r"\1.attention.self.\2"),
]

# LAION keeps query, key and value in one matrix, in this order.
_QKV = re.compile(_BLOCK + r"attn\.qkv\.(weight|bias)")

# Keys that play no part in an embedding, and why.
_IDLE = [
    (r"audio_branch\.(spectrogram|logmel)_extractor\..+", "fixed filters, built from constants"),
    (r"audio_branch\.(tscam_conv|head)\..+", "tagging head of the audio tower's pre-training"),
    (r"(text|audio)_transform\..+", "layers of the training loss, behind the embedding"),
    (r"logit_scale_[at]", "temperatures of the training loss"),
    (_BLOCK + r"(attn_mask|attn\.relative_position_index)", "index tables, follow from the shape"),
    (r"text_branch\.embeddings\.(position|token_type)_ids", "index tables, follow from the shape"),
]

# The other side of the same list: what ClapModel carries without needing it from the file.
NOT_NEEDED = re.compile(
    r"logit_scale_[at]|.+\.(relative_position_index|position_ids|token_type_ids|num_batches_tracked)"
)


class _Dropped:
    """Stands where the file asks for NumPy's scalar and dtype: takes any value, keeps none.

    The published files carry the optimiser beside the weights, and its learning rates are NumPy
    numbers, which ``weights_only`` refuses. Nobody needs them here, so no NumPy code runs either.
    """

    def __init__(self, *_: object) -> None: ...

    def __setstate__(self, _: object) -> None: ...


_NUMPY_NAMES = ["numpy.dtype", "numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar"]


def load_checkpoint(path: Path) -> Any:
    """The ``ClapModel`` of HTSAT and RoBERTa in LAION's file at ``path``, on the CPU."""
    from transformers import ClapModel

    state = read_state(path)
    try:
        model = ClapModel(architecture(state))
        weights = translate(state, model.state_dict())
        model.load_state_dict(weights, strict=False)
    except AssetError as error:
        raise AssetError(f"{path} is not a CLAP checkpoint this can use: {error}") from None
    except (RuntimeError, ValueError) as error:
        raise AssetError(f"{path}: its weights do not fit together: {error}") from error
    return model


def read_state(path: Path) -> State:
    """The weights in the file by LAION's names, without the ``module.`` of parallel training."""
    import torch

    allowed: list[Any] = [(_Dropped, name) for name in _NUMPY_NAMES]
    try:
        with torch.serialization.safe_globals(allowed):
            # Mapped, the optimiser's two thirds of the file are never read from the disk.
            mapped = zipfile.is_zipfile(path)
            content = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except Exception as error:  # a damaged pickle can fail in any way
        raise AssetError(
            f"cannot read {path} as a PyTorch file of weights: {_reason(error)}. "
            "Nothing in it was run. If it should be a CLAP checkpoint, download it again "
            "and compare its size and checksum with the publisher's."
        ) from error
    state = content.get("state_dict", content) if isinstance(content, Mapping) else None
    if not state or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise AssetError(f"{path} holds no state_dict of tensors: is it a CLAP checkpoint?")
    prefix = "module." if all(key.startswith("module.") for key in state) else ""
    return {key.removeprefix(prefix): value for key, value in state.items()}


def architecture(state: Mapping[str, Tensor]) -> Any:
    """The ``ClapConfig`` that the names and shapes of LAION's weights imply.

    What they cannot tell is the same in all of LAION's models: a 256 x 256 spectrogram image,
    RoBERTa's heads of width 64 and its layer norm's epsilon of 1e-5, ReLU in the projections.
    """
    from transformers import ClapConfig

    def shape(key: str) -> tuple[int, ...]:
        if key not in state:
            raise AssetError(f"it lacks {key}, so it is no CLAP of HTSAT and RoBERTa")
        return tuple(state[key].shape)

    htsat, text = "audio_branch.", "text_branch."
    width, channels, patch, _ = shape(htsat + "patch_embed.proj.weight")
    hidden, joint = shape("audio_projection.0.weight")[1], shape("audio_projection.2.weight")[0]
    depths = _depths(state)
    tables = [
        shape(f"{htsat}layers.{i}.blocks.0.attn.relative_position_bias_table")
        for i in range(len(depths))
    ]
    fused = htsat + "patch_embed.mel_conv2d.weight" in state
    fusion = {}
    if fused:
        squeezed = shape(htsat + "patch_embed.fusion_model.local_att.0.weight")[0]
        fusion["aff_block_r"] = width // squeezed
    words, text_width = shape(text + "embeddings.word_embeddings.weight")
    token_types = shape(text + "embeddings.token_type_embeddings.weight")[0]
    if channels != 1:
        raise AssetError(f"its patches have {channels} channels: fusion by channels is not known")
    if token_types != 1 or text_width % 64:
        raise AssetError(
            f"its text tower ({text_width} wide, {token_types} token types) is not RoBERTa"
        )
    return ClapConfig(
        projection_dim=joint,
        audio_config={
            "num_mel_bins": shape(htsat + "bn0.weight")[0],
            "spec_size": 256,
            "window_size": (isqrt(tables[0][0]) + 1) // 2,
            "patch_size": patch,
            "patch_stride": [patch, patch],
            "patch_embeds_hidden_size": width,
            "enable_patch_layer_norm": htsat + "patch_embed.norm.weight" in state,
            "hidden_size": hidden,
            "depths": depths,
            "num_hidden_layers": len(depths),
            "num_attention_heads": [heads for _, heads in tables],
            "mlp_ratio": shape(htsat + "layers.0.blocks.0.mlp.fc1.weight")[0] / width,
            "qkv_bias": htsat + "layers.0.blocks.0.attn.qkv.bias" in state,
            "enable_fusion": fused,
            **fusion,
        },
        text_config={
            "vocab_size": words,
            "hidden_size": text_width,
            "num_attention_heads": text_width // 64,
            "num_hidden_layers": _count(state, text + r"encoder\.layer\.(\d+)\."),
            "intermediate_size": shape(text + "encoder.layer.0.intermediate.dense.weight")[0],
            "max_position_embeddings": shape(text + "embeddings.position_embeddings.weight")[0],
            "layer_norm_eps": 1e-5,
        },
    )


def translate(state: Mapping[str, Tensor], wanted: Iterable[str]) -> State:
    """The weights by ClapModel's names; every key of ``state`` and of ``wanted`` accounted for."""
    weights: State = {}
    unknown: list[str] = []
    wanted = set(wanted)
    for key, value in state.items():
        if any(re.fullmatch(pattern, key) for pattern, _ in _IDLE):
            continue
        named = _translated(key, value)
        if wanted.issuperset(named) and named:
            weights.update(named)
        else:
            unknown.append(key)
    missing = [key for key in wanted - weights.keys() if not NOT_NEEDED.fullmatch(key)]
    if unknown or missing:
        faults = [_listed("unknown keys", unknown), _listed("missing weights", missing)]
        raise AssetError("; ".join(filter(None, faults)))
    return weights


def _translated(key: str, value: Tensor) -> State:
    if match := _QKV.fullmatch(key):
        block, kind = match.groups()
        parts = zip(("query", "key", "value"), value.chunk(3), strict=True)
        return {f"{_HTSAT}{block}.attention.self.{name}.{kind}": part for name, part in parts}
    for pattern, replacement in _RENAMED:
        if match := re.fullmatch(pattern, key):
            return {match.expand(replacement): value}
    return {}


def _count(keys: Iterable[str], pattern: str) -> int:
    return len({match[1] for key in keys if (match := re.match(pattern, key))})


def _depths(keys: Iterable[str]) -> list[int]:
    stages = _count(keys, r"audio_branch\.layers\.(\d+)\.")
    if not stages:
        raise AssetError("it lacks audio_branch.layers, so its audio tower is not HTSAT")
    return [_count(keys, rf"audio_branch\.layers\.{i}\.blocks\.(\d+)\.") for i in range(stages)]


def _listed(what: str, keys: list[str]) -> str:
    if not keys:
        return ""
    more = f" and {len(keys) - 5} more" if len(keys) > 5 else ""
    return f"{what} {', '.join(sorted(keys)[:5])}{more}"


def _reason(error: Exception) -> str:
    # PyTorch's own text recommends to load the file with code allowed: not to be passed on.
    text = str(error).strip() or repr(error)
    refused = re.search(r"GLOBAL [\w.]+|Unsupported operand \d+", text)
    if refused:
        return f"it holds more than numbers ({refused[0]})"
    return re.split(r"\.\s|\n", text)[0].rstrip(".")
