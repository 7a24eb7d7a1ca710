"""Where a CLAP model comes from: a hub id, a folder in the hub's format, or LAION's ``.pt``.

A hub id becomes a folder first (the local cache's copy if it is there, so a model that was once
fetched needs no network and does not change), and from then on nothing is fetched. What a source
lacks is an error: transformers fills lost weights with random numbers and a lost vocabulary with
nothing, and goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_audio.encoders.clap.checkpoint import NOT_NEEDED, load_checkpoint
from prism_audio.encoders.clap.hub import HUB_ID
from prism_audio.encoders.clap.mel import MelFrontEnd
from prism_audio.encoders.clap.settings import read_config, read_front_end
from prism_audio.errors import AssetError, InputError, PrismError

# Before 2.6 a crafted file could run code in spite of weights_only=True.
_SAFE_TORCH = (2, 6)
_ROBERTA = "roberta-base"
# The band in Hz of all of LAION's configurations; everything else is the extractor's default.
_LAION_BAND: dict[str, Any] = {"frequency_min": 50, "frequency_max": 14_000}
_TEXT_FILES = ("*.json", "merges.txt")
# Files of PyTorch weights, in the order in which they are looked for.
WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")


@dataclass(frozen=True)
class ClapParts:
    """A loaded CLAP: the two towers, the tokenizer of the one, the front end of the other."""

    model: Any
    tokenizer: Any
    mel: MelFrontEnd


def open_clap(source: str | Path, revision: str | None, tokenizer: str | Path | None) -> ClapParts:
    """Load the parts from ``source``; see :class:`~prism_audio.encoders.clap.encoder.ClapEncoder`."""
    _require_packages()
    path = Path(source).expanduser()
    if path.is_file():
        return _from_checkpoint(path, tokenizer)
    if path.is_dir():
        return _from_folder(path, tokenizer)
    if not HUB_ID.fullmatch(str(source)) or path.suffix in (".pt", ".pth"):
        raise InputError(
            f"no CLAP at {str(source)!r}: it is neither a file nor a folder here, nor a hub id "
            "like 'laion/clap-htsat-fused'. Check the path."
        )
    return _from_folder(_model_from_hub(str(source), revision), tokenizer)


def _require_packages() -> None:
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        raise PrismError(
            f"CLAP by transformers needs PyTorch, and {error.name} is not installed. Without PyTorch: "
            "'--encoder clap' (a public CLAP by onnxruntime), '--encoder onnx:HUB_ID', or a folder "
            "that 'prism export-encoder' wrote. With it: pip install 'prism-audio[clap]'"
        ) from error
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if version < _SAFE_TORCH:
        raise PrismError(
            f"PyTorch {torch.__version__} cannot read a model file safely; CLAP by transformers needs "
            "2.6 or newer. Install it with: pip install -U 'prism-audio[clap]'"
        )


def _from_checkpoint(path: Path, tokenizer: str | Path | None) -> ClapParts:
    # Before the weights: what is quickly found missing should be quickly said.
    folder = _tokenizer_folder(tokenizer or _beside(path))
    model = load_checkpoint(path)
    audio = model.config.audio_config
    settings = {
        "feature_size": audio.num_mel_bins,
        "truncation": "fusion" if audio.enable_fusion else "rand_trunc",
        **_LAION_BAND,
    }
    words = _load_tokenizer(folder, model)
    return ClapParts(model, words, MelFrontEnd.of(settings))


def _from_folder(folder: Path, tokenizer: str | Path | None) -> ClapParts:
    from transformers import ClapModel

    read_config(folder)
    try:
        loaded: Any = ClapModel.from_pretrained(
            folder, output_loading_info=True, local_files_only=True
        )
    except Exception as error:  # transformers has no error of its own to catch
        raise AssetError(
            f"cannot load CLAP from {folder}: {_first_line(error)}. The folder needs config.json, "
            "the weights and preprocessor_config.json, as save_pretrained writes them."
        ) from error
    model, report = loaded
    lost = sorted(key for key in report["missing_keys"] if not NOT_NEEDED.fullmatch(key))
    if lost:
        raise AssetError(f"{folder} lacks {len(lost)} weights of a CLAP model, such as {lost[0]}")
    words = _load_tokenizer(_tokenizer_folder(tokenizer or folder), model)
    return ClapParts(model, words, read_front_end(folder))


def _load_tokenizer(folder: Path, model: Any) -> Any:
    from transformers import AutoTokenizer, RobertaTokenizerFast

    # A folder with the bare vocabulary does not say whose it is: CLAP's text tower is a RoBERTa.
    named = any((folder / name).is_file() for name in ("tokenizer_config.json", "config.json"))
    kind: Any = AutoTokenizer if named else RobertaTokenizerFast
    try:
        tokenizer = kind.from_pretrained(folder, local_files_only=True)
        numbers = tokenizer.get_vocab().values()
    except Exception as error:
        raise AssetError(f"cannot load a tokenizer from {folder}: {_first_line(error)}") from error
    rows = model.config.text_config.vocab_size
    if len(numbers) <= len(tokenizer.all_special_tokens) or max(numbers) >= rows:
        raise AssetError(
            f"the tokenizer in {folder} has {len(numbers)} tokens and the model knows {rows}: "
            "they do not belong together"
        )
    return tokenizer


def _beside(path: Path) -> str | Path:
    """Where LAION's file, which has no tokenizer, finds one: next to it, or on the hub."""
    folders = [path.parent / _ROBERTA, path.parent]
    return next((folder for folder in folders if _holds_tokenizer(folder)), _ROBERTA)


def _tokenizer_folder(place: str | Path) -> Path:
    folder = Path(place).expanduser()
    if not folder.is_dir():
        if place != _ROBERTA and not HUB_ID.fullmatch(str(place)):
            raise InputError(f"no tokenizer at {str(place)!r}: there is no such folder")
        remedy = (
            f"CLAP needs a tokenizer: put tokenizer.json of '{_ROBERTA}' (or its vocab.json and "
            f"merges.txt) into a folder '{_ROBERTA}' beside the model file, or name their folder "
            "with tokenizer=."
        )
        folder = _from_hub(str(place), None, _TEXT_FILES, _holds_tokenizer, remedy)
    if not _holds_tokenizer(folder):
        raise AssetError(f"{folder} holds no tokenizer.json, nor vocab.json and merges.txt")
    return folder


def _holds_tokenizer(folder: Path) -> bool:
    names = {file.name for file in folder.glob("*.*")} if folder.is_dir() else set()
    return "tokenizer.json" in names or {"vocab.json", "merges.txt"} <= names


def holds_weights(folder: Path) -> bool:
    """Whether PyTorch weights lie in a folder."""
    return any(any(folder.glob(name)) for name in WEIGHTS)


def _holds_model(folder: Path) -> bool:
    return _holds_tokenizer(folder) and holds_weights(folder)


def _model_from_hub(repo: str, revision: str | None) -> Path:
    remedy = "Give the folder of a downloaded copy instead, or LAION's .pt file."
    for weights in WEIGHTS:  # in turn, because many repositories hold the same weights twice
        folder = _from_hub(repo, revision, (*_TEXT_FILES, weights), _holds_model, remedy)
        if _holds_model(folder):
            return folder
    raise AssetError(f"{repo!r} on the hub holds no model with a tokenizer that PyTorch can read")


def _from_hub(
    repo: str,
    revision: str | None,
    files: Sequence[str],
    complete: Callable[[Path], bool],
    remedy: str,
) -> Path:
    """Folder of ``files`` of a hub repository: the cache's if ``complete``, fetched otherwise."""
    from huggingface_hub import snapshot_download

    wanted: dict[str, Any] = {"revision": revision, "allow_patterns": list(files)}
    with suppress(Exception):  # not in the cache: nothing is lost yet
        folder = Path(snapshot_download(repo, local_files_only=True, **wanted))
        if complete(folder):
            return folder
    try:
        return Path(snapshot_download(repo, **wanted))
    except Exception as error:
        reason = _first_line(error)
        raise AssetError(f"cannot get {repo!r} from the hub: {reason}. {remedy}") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [repr(error)])[0].rstrip(".")
