"""Write a CLAP model of PyTorch as a folder of ONNX files, checked against PyTorch."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prism_audio.encoders.clap.export.drift import Drift, Probe, measure_drift
from prism_audio.encoders.clap.export.graph import Array
from prism_audio.encoders.clap.export.htsat import audio_graph
from prism_audio.encoders.clap.export.roberta import text_graph
from prism_audio.encoders.clap.onnx_encoder import PRECISIONS, OnnxClapEncoder, tower_files
from prism_audio.errors import AssetError
from prism_audio.io.atomic import atomic_folder
from prism_audio.io.runtime import import_extra, import_onnxruntime

if TYPE_CHECKING:
    from prism_audio.encoders.clap.encoder import ClapEncoder

REPORT = "drift.json"
# How far the float32 files may be from PyTorch: 1 - cosine.
_MOST = 1e-4


def export_clap(
    encoder: ClapEncoder,
    folder: str | Path,
    probe: Probe,
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, Drift]:
    """Write ``encoder`` as a new folder that needs no PyTorch; returns the drift of each precision.

    ``config.json``, ``preprocessor_config.json``, ``tokenizer.json``, the two towers in
    ``onnx/`` in float32 and in eight bits, and ``drift.json``, which says how far they are from
    PyTorch on the sounds and texts of ``probe``. Nothing is kept where the float32 files do not agree
    with PyTorch to 1e-4 in cosine.
    """
    import_extra(
        "onnx", "writing ONNX files needs the package onnx: pip install 'prism-audio[clap,onnx]'"
    )
    drifts: dict[str, Drift] = {}
    with atomic_folder(folder) as made:
        report("writing the towers in float32")
        _write_model(encoder, made)
        report("quantising them to eight bits")
        for full, small in zip(
            tower_files(made, "fp32"), _paths(made, PRECISIONS["int8"]), strict=True
        ):
            _quantise(full, small)
        for precision in PRECISIONS:
            report(f"comparing {precision} with PyTorch")
            exported = OnnxClapEncoder(made, precision=precision)
            drifts[precision] = measure_drift(encoder, exported, probe)
        if (worst := drifts["fp32"].worst) > _MOST:
            raise AssetError(
                f"the exported towers differ from PyTorch by {worst:.1e} in cosine (at most "
                f"{_MOST:.0e} is allowed), so nothing was written. Please report this model: "
                f"{encoder.id}"
            )
        document = {name: drift.document() for name, drift in drifts.items()}
        (made / REPORT).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return drifts


def _write_model(encoder: ClapEncoder, folder: Path) -> None:
    import onnx

    (folder / "onnx").mkdir()
    settings = {"model_type": "clap", **encoder.model.config.to_dict()}
    for name, content in (
        ("config.json", settings),
        ("preprocessor_config.json", encoder.mel.settings),
    ):
        text = json.dumps(content, indent=2, default=str)
        (folder / name).write_text(f"{text}\n", encoding="utf-8")
    encoder.tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    weights: Mapping[str, Array] = {
        name: value.detach().cpu().numpy() for name, value in encoder.model.state_dict().items()
    }
    audio, text_path = _paths(folder, PRECISIONS["fp32"])
    onnx.save(audio_graph(encoder.model.config, weights, encoder.mel.frames), str(audio))
    onnx.save(text_graph(encoder.model.config, weights), str(text_path))


def _paths(folder: Path, end: str) -> tuple[Path, Path]:
    return folder / "onnx" / f"audio_model{end}.onnx", folder / "onnx" / f"text_model{end}.onnx"


def _quantise(full: Path, small: Path) -> None:
    import_onnxruntime()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    log = logging.getLogger()
    before = log.level
    log.setLevel(logging.ERROR)  # it recommends a preparation that these graphs do not need
    try:
        quantize_dynamic(
            str(full),
            str(small),
            # Signed, and a scale for every column: nearer to float32 than the usual choice, and
            # twice as fast where the processor multiplies eight bits.
            weight_type=QuantType.QInt8,
            per_channel=True,
            op_types_to_quantize=["MatMul", "Gather"],
        )
    finally:
        log.setLevel(before)


def file_sizes(folder: Path) -> dict[str, int]:
    """Bytes of the two towers in each precision."""
    return {
        precision: sum(path.stat().st_size for path in tower_files(folder, precision))
        for precision in PRECISIONS
    }
