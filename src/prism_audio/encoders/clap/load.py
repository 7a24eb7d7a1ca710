"""The CLAP encoders by name: ``clap``, ``clap-int8``, ``onnx:...``, a hub id, a folder or a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from prism_audio.encoders.clap.hub import HUB_ID, HubFile, hub_folder, listed_files
from prism_audio.encoders.clap.onnx_encoder import PRECISIONS, OnnxClapEncoder
from prism_audio.encoders.clap.sources import holds_weights
from prism_audio.errors import InputError

if TYPE_CHECKING:
    from prism_audio.encoders.clap.base import ClapBase

# The public export behind ``clap``, to the byte.
REPOSITORY = "Xenova/clap-htsat-unfused"
COMMIT = "c28f2883575e590e04d3146ff0713c2448d691ba"
_FILES = """
config.json 699 39c6d90fe29cf2cce650dd5c92c38a1e35b130d9ce0bb98585222ad687ad979b
preprocessor_config.json 541 9739f58296aa6f9ac18008fd0150fb2649bc554985fbde86d0a4041c882ac753
tokenizer.json 2108774 dc239041d98de27ffc3975473a1a23e3db4c937b23c138c38bbc66588bd247e5
onnx/audio_model.onnx 117528416 a1c2b43c44f71e0fa841a4b86700886c199bf87699ea45632c4d831bc6c88957
onnx/text_model.onnx 501513769 6df7c51f2d78e236a03f2b816e613d538c815639d13644fe7c2124f439da9648
onnx/audio_model_quantized.onnx 34301667 3fcff2c8824e7bcb83a983f2a49edab3b60cbcf4872ac70efee517355173bd1f
onnx/text_model_quantized.onnx 126603263 1a3df8b197e249816e08415fd040434c44762b2eea7eb7bf8a48a0f0bf3c14e5
"""  # path, bytes and SHA-256
PINS = {
    path: HubFile(path, int(size), digest)
    for path, size, digest in map(str.split, _FILES.split("\n")[1:-1])
}


def load_clap(source: str | Path | None = None, **options: Any) -> ClapBase:
    """CLAP: the pinned public export; or what ``source`` names.

    A folder with ONNX towers and no PyTorch weights is computed by onnxruntime; a hub id, a folder
    with PyTorch weights or LAION's ``.pt`` by transformers.
    """
    if source is None:
        return _pinned("clap", "fp32", options)
    folder = Path(source).expanduser()
    if (folder / "onnx").is_dir() and not holds_weights(folder):
        return OnnxClapEncoder(folder, name=str(source), **options)
    from prism_audio.encoders.clap.encoder import ClapEncoder

    return ClapEncoder(source, **options)


def load_clap_int8(**options: Any) -> ClapBase:
    """The pinned public export in eight bits: a quarter of the size."""
    return _pinned("clap-int8", "int8", options)


def load_onnx(source: str | Path | None = None, **options: Any) -> ClapBase:
    """ONNX towers in float32 from a folder or a hub repository."""
    return _onnx("onnx", source, "fp32", **options)


def load_onnx_int8(source: str | Path | None = None, **options: Any) -> ClapBase:
    """ONNX towers in eight bits from a folder or a hub repository."""
    return _onnx("onnx-int8", source, "int8", **options)


def _pinned(name: str, precision: str, options: dict[str, Any]) -> ClapBase:
    folder = hub_folder(REPOSITORY, COMMIT, [PINS[path] for path in _wanted(precision)])
    return OnnxClapEncoder(folder, precision=precision, name=name, **options)


def _onnx(
    prefix: str,
    source: str | Path | None,
    precision: str,
    revision: str = "main",
    **options: Any,
) -> ClapBase:
    text = str(source or "")
    folder = Path(text).expanduser()
    if text and folder.is_dir():
        # Absolute: a worker on a cluster loads it by this name from another folder.
        name = f"{prefix}:{folder.resolve()}"
        return OnnxClapEncoder(folder, precision=precision, name=name, **options)
    if not HUB_ID.fullmatch(text):
        raise InputError(
            f"no ONNX model at {text!r}: after '{prefix}:' comes a folder or a hub id, as in "
            f"{prefix}:{REPOSITORY}"
        )
    commit, files = listed_files(text, revision, _wanted(precision))
    folder = hub_folder(text, commit, files)
    return OnnxClapEncoder(folder, precision=precision, name=f"{prefix}:{text}", **options)


def _wanted(precision: str) -> list[str]:
    towers = [f"onnx/{tower}_model{PRECISIONS[precision]}.onnx" for tower in ("audio", "text")]
    return ["config.json", "preprocessor_config.json", "tokenizer.json", *towers]
