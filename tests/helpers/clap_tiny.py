"""CLAP models of the real architecture, small and with random weights, in both file formats.

LAION's layout is written module by module here, on purpose not by the loader's rules reversed.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import (
    ClapConfig,
    ClapFeatureExtractor,
    ClapModel,
    ClapProcessor,
    RobertaTokenizerFast,
)

# Models this small gain nothing from threads, and lose much where other tests use the cores.
torch.set_num_threads(1)

SAMPLES, SHORT = 480_000, 96_000
WORDS = ["dog bark", "a siren far away", "children playing", "This is a sound of rain.", "drilling"]


def write_tokenizer(folder: Path) -> Path:
    """RoBERTa's two tokenizer files, learnt from a few words."""
    folder.mkdir(parents=True)
    tokenizer = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator(WORDS, vocab_size=300, min_frequency=1, special_tokens=special)
    tokenizer.save_model(str(folder))
    return folder


def tiny_model(
    fused: bool, seed: int = 0, depths: tuple[int, ...] = (2, 2), side: int = 256
) -> ClapModel:
    """A model whose every weight matters: the library's own start is nearly constant.

    ``side`` is that of the picture it sees: 256 for windows of 10 s, 128 for those of 2 s.
    """
    config = ClapConfig(
        projection_dim=24,
        audio_config={
            "spec_size": side,
            "patch_embeds_hidden_size": 16,
            "hidden_size": 16 * 2 ** (len(depths) - 1),
            "depths": list(depths),
            "num_hidden_layers": len(depths),
            "num_attention_heads": [2 * 2**i for i in range(len(depths))],
            "enable_fusion": fused,
        },
        text_config={
            "vocab_size": 320,
            "hidden_size": 128,
            "num_attention_heads": 2,
            "num_hidden_layers": 2,
            "intermediate_size": 96,
            "max_position_embeddings": 100,
            "layer_norm_eps": 1e-5,  # RoBERTa's own, which LAION trained with
        },
    )
    return randomise(ClapModel(config).eval(), seed)


def randomise(model: ClapModel, seed: int) -> ClapModel:
    """The model with every weight drawn anew, so that each of them matters."""
    chance = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if not value.is_floating_point():
                continue
            fresh = torch.randn(value.shape, generator=chance)
            if name.endswith("running_var"):
                value.copy_(100 * fresh.abs() + 50)  # decibels squared
            elif value.ndim > 1:
                value.copy_(3 * fresh / value[0].numel() ** 0.5)
            else:
                value.copy_(0.2 * fresh + (1 if name.endswith("weight") else 0))
    return model


def write_hub_folder(folder: Path, model: ClapModel, tokenizer: Path) -> Path:
    """The model as ``save_pretrained`` writes it, with the settings of LAION's own uploads."""
    fused = model.config.audio_config.enable_fusion
    seconds = 10 if model.config.audio_config.spec_size == 256 else 2
    extractor = ClapFeatureExtractor(
        frequency_min=50,
        truncation="fusion" if fused else "rand_trunc",
        max_length_s=seconds,
    )
    model.save_pretrained(folder)
    ClapProcessor(extractor, RobertaTokenizerFast.from_pretrained(tokenizer)).save_pretrained(
        folder
    )
    return folder


def laion_state(model: ClapModel) -> dict[str, Any]:
    """All keys of a checkpoint by LAION's training code, as their modules name them."""
    state: dict[str, Any] = {}

    def put(name: str, module: Any) -> None:
        state.update({f"{name}.{key}": value for key, value in module.state_dict().items()})

    htsat = model.audio_model.audio_encoder
    put("audio_branch.bn0", htsat.batch_norm)
    put("audio_branch.patch_embed", htsat.patch_embed)
    put("audio_branch.norm", htsat.norm)
    for i, stage in enumerate(htsat.layers):
        for j, block in enumerate(stage.blocks):
            name = f"audio_branch.layers.{i}.blocks.{j}"
            attention = block.attention.self
            parts = [attention.query, attention.key, attention.value]
            put(f"{name}.norm1", block.layernorm_before)
            put(f"{name}.norm2", block.layernorm_after)
            put(f"{name}.mlp.fc1", block.intermediate.dense)
            put(f"{name}.mlp.fc2", block.output.dense)
            put(f"{name}.attn.proj", block.attention.output.dense)
            state[f"{name}.attn.qkv.weight"] = torch.cat([part.weight.detach() for part in parts])
            state[f"{name}.attn.qkv.bias"] = torch.cat([part.bias.detach() for part in parts])
            for table in ("relative_position_bias_table", "relative_position_index"):
                state[f"{name}.attn.{table}"] = getattr(attention, table).detach()
            if j % 2:
                state[f"{name}.attn_mask"] = torch.zeros(64 // 4**i, 64, 64)
        if stage.downsample is not None:
            put(f"audio_branch.layers.{i}.downsample", stage.downsample)
    state["audio_branch.spectrogram_extractor.stft.conv_real.weight"] = torch.zeros(513, 1, 1024)
    state["audio_branch.spectrogram_extractor.stft.conv_imag.weight"] = torch.zeros(513, 1, 1024)
    state["audio_branch.logmel_extractor.melW"] = torch.zeros(513, 64)
    put("audio_branch.tscam_conv", torch.nn.Conv2d(32, 7, (2, 3)))
    put("audio_branch.head", torch.nn.Linear(7, 7))
    put("text_branch", model.text_model)
    state.pop("text_branch.embeddings.token_type_ids", None)  # unknown to the RoBERTa of the time
    for tower in ("text", "audio"):
        projection = getattr(model, f"{tower}_projection")
        put(f"{tower}_projection.0", projection.linear1)
        put(f"{tower}_projection.2", projection.linear2)
        put(f"{tower}_transform.sequential.0", torch.nn.Linear(24, 24))
        put(f"{tower}_transform.sequential.3", torch.nn.Linear(24, 24))
        state[f"logit_scale_{tower[0]}"] = torch.tensor(2.66)
    return state


def write_laion_file(path: Path, state: dict[str, Any]) -> Path:
    """A checkpoint as LAION published it: parallel training, an optimiser, NumPy 1's numbers."""
    rate = np.float64(1e-4)
    content = {
        "epoch": 15,
        "name": "2023_01_01-model_HTSAT-tiny",
        "state_dict": {f"module.{key}": value for key, value in state.items()},
        "optimizer": {"state": {0: {"exp_avg": torch.ones(3)}}, "param_groups": [{"lr": rate}]},
    }
    fresh = path.with_suffix(".fresh")
    torch.save(content, fresh)
    with zipfile.ZipFile(fresh) as old, zipfile.ZipFile(path, "w") as new:
        for item in old.infolist():
            data = old.read(item)
            if item.filename.endswith("data.pkl"):
                data, count = re.subn(rb"cnumpy\._core\.", b"cnumpy.core.", data)
                assert count or b"cnumpy.core." in data
            new.writestr(item, data)
    fresh.unlink()
    return path


def sounds(count: int, seed: int = 0, samples: int = SAMPLES) -> np.ndarray:
    """Windows of noise that comes and goes, with a tone in it; no two alike."""
    chance = np.random.default_rng(seed)
    time = np.arange(samples) / 48_000
    pitch, beat, loudness = chance.uniform([100, 0.1, 0.01], [9000, 3, 0.3], (count, 3)).T[
        ..., None
    ]
    hiss = chance.standard_normal((count, samples)) * np.sin(np.pi * beat * time) ** 2
    return (loudness * (hiss + np.sin(2 * np.pi * pitch * time))).astype(np.float32)


def write_onnx_folder(folder: Path, fused: bool) -> Path:
    """A tiny model for windows of 2 s as ``prism export-encoder`` writes it."""
    from prism_audio.encoders.clap.encoder import ClapEncoder
    from prism_audio.encoders.clap.export.drift import Probe
    from prism_audio.encoders.clap.export.write import export_clap

    hub = write_hub_folder(
        folder.parent / f"{folder.name}-hub",
        tiny_model(fused, side=128),
        write_tokenizer(folder.parent / f"{folder.name}-words"),
    )
    export_clap(ClapEncoder(hub), folder, Probe(sounds(2, samples=SHORT), WORDS))
    return folder


def full_model(fused: bool, seed: int = 0) -> ClapModel:
    """Random weights in LAION's own architecture and size: HTSAT-tiny and RoBERTa-base."""
    config = ClapConfig(audio_config={"enable_fusion": fused}, text_config={"layer_norm_eps": 1e-5})
    return randomise(ClapModel(config).eval(), seed)
