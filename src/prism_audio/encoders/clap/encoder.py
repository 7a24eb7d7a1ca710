"""CLAP by PyTorch and transformers, without the random choices of the usual pipelines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prism_audio.encoders.clap.base import ClapBase, too_long, unit_rows
from prism_audio.encoders.clap.mel import MelFrontEnd
from prism_audio.encoders.clap.sources import open_clap
from prism_audio.errors import InputError
from prism_audio.io.types import Float32

# Raised when the computation around the model changes an embedding.
_VERSION = 1
# Fields of the configuration that change an embedding and cannot be seen in the weights.
_AUDIO_FIELDS = (
    "spec_size",
    "patch_size",
    "patch_stride",
    "window_size",
    "num_attention_heads",
    "hidden_act",
    "projection_hidden_act",
    "layer_norm_eps",
    "enable_fusion",
)
_TEXT_FIELDS = (
    "num_attention_heads",
    "hidden_act",
    "projection_hidden_act",
    "layer_norm_eps",
    "pad_token_id",
)


class ClapEncoder(ClapBase):
    """CLAP computed by transformers.

    Parameters
    ----------
    source : str or Path
        A hub id (``laion/clap-htsat-fused``), a folder in the hub's format, or LAION's original
        checkpoint file (``630k-audioset-fusion-best.pt``).
    device : str
        Where PyTorch computes: ``cpu``, ``cuda``, ``mps``.
    revision : str, optional
        Commit, tag or branch of a hub id.
    tokenizer : str or Path, optional
        Folder or hub id of the tokenizer, when it is not the model's own. A ``.pt`` has none: it
        is looked for in this folder, then beside the file, then on the hub as ``roberta-base``.
    batch_size : int
        Windows, or texts, given to the model at once; bounds the memory, not the result.

    Attributes
    ----------
    id, fingerprint, dim, rate, window, hop
        As in :class:`~prism_audio.encoders.protocol.Encoder`. The fingerprint is the same for a model
        in the hub's format and in LAION's if both compute the same.
    model, tokenizer
        The loaded ``ClapModel`` and its tokenizer.
    """

    def __init__(
        self,
        source: str | Path = "laion/clap-htsat-fused",
        *,
        device: str = "cpu",
        revision: str | None = None,
        tokenizer: str | Path | None = None,
        batch_size: int = 8,
    ) -> None:
        if batch_size < 1:
            raise InputError(f"batch_size must be 1 or more, not {batch_size}")
        parts = open_clap(source, revision, tokenizer)
        # Half-precision checkpoints too are computed in float32, for rows that agree to 1e-5.
        model = parts.model.float().eval()
        fingerprint = _fingerprint(model, parts.mel, parts.tokenizer)
        super().__init__(str(source), fingerprint, int(model.config.projection_dim), parts.mel)
        self.tokenizer = parts.tokenizer
        self._batch_size = batch_size
        self._device = device
        try:
            self.model = model.to(device)
        except (RuntimeError, AssertionError) as error:
            raise InputError(f"device {device!r} cannot be used here: {error}") from error

    def _audio_rows(self, windows: Float32) -> Float32:
        return self._joined([self._audio_batch(batch) for batch in self._batches(windows)])

    def _text_rows(self, texts: list[str]) -> Float32:
        return self._joined([self._text_batch(batch) for batch in self._batches(texts)])

    def _batches(self, items: Any) -> Iterator[Any]:
        for start in range(0, len(items), self._batch_size):
            yield items[start : start + self._batch_size]

    def _audio_batch(self, windows: Float32) -> Float32:
        import torch

        pictures = torch.from_numpy(self.mel.pictures(windows)).to(self._device)
        # The truth: a window is never longer than what the model sees at once.
        longer = torch.zeros((len(windows), 1), dtype=torch.bool, device=self._device)
        with torch.inference_mode():
            return _rows(self.model.get_audio_features(input_features=pictures, is_longer=longer))

    def _text_batch(self, texts: list[str]) -> Float32:
        import torch

        tokens = self.tokenizer(texts, padding=True, return_tensors="pt")
        # Positions are numbered from the padding's number on, so some of the table is not for use.
        settings = self.model.config.text_config
        room = settings.max_position_embeddings - settings.pad_token_id - 1
        if tokens["input_ids"].shape[1] > room:
            raise too_long(max(texts, key=len), room)
        with torch.inference_mode():
            return _rows(
                self.model.get_text_features(
                    input_ids=tokens["input_ids"].to(self._device),
                    attention_mask=tokens["attention_mask"].to(self._device),
                )
            )


def _rows(output: Any) -> Float32:
    # transformers 4 gives the tensor itself, 5 an object that holds it.
    return unit_rows(getattr(output, "pooler_output", output).cpu().numpy())


def _fingerprint(model: Any, mel: MelFrontEnd, tokenizer: Any) -> str:
    """A hash of what makes an embedding: constants, tokens, weights, in whatever file they were."""
    audio, text = model.config.audio_config, model.config.text_config
    constants = {
        "version": _VERSION,
        "audio": {name: getattr(audio, name) for name in _AUDIO_FIELDS},
        "text": {name: getattr(text, name) for name in _TEXT_FIELDS},
        "mel": [mel.rate, mel.samples, mel.size, mel.hop, mel.padding],
        "tokens": sorted(tokenizer.get_vocab().items()),
    }
    digest = hashlib.sha256(json.dumps(constants, sort_keys=True).encode())
    digest.update(mel.filters.tobytes())
    for name, value in sorted(model.state_dict().items()):
        # The loss's temperatures and the index tables do not reach an embedding.
        if value.is_floating_point() and not name.startswith("logit_scale"):
            digest.update(f"{name}{tuple(value.shape)}".encode())
            digest.update(value.contiguous().numpy())
    return digest.hexdigest()
