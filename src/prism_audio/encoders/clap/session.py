"""One tower of CLAP in onnxruntime: the inputs are read from the file, not assumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_audio.encoders.clap.weights import outline
from prism_audio.errors import AssetError
from prism_audio.io.runtime import import_onnxruntime
from prism_audio.io.types import Float32

Array = NDArray[Any]

_TYPES: dict[str, type] = {
    "tensor(float)": np.float32,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}
# Inputs that some exports have beside the main one, made from it. No text of a batch is padded, and
# no window is longer than what the model sees at once.
_FURTHER: dict[str, Callable[[Array], Array]] = {
    "attention_mask": np.ones_like,
    "token_type_ids": np.zeros_like,
    "is_longer": lambda items: np.zeros((len(items), 1)),
}
# Quantised while it runs, by the largest value among all items of a batch.
_SHARED_SCALE = b"DynamicQuantizeLinear"
# Where onnxruntime looks for weights that a network given as bytes names.
_WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"


class TowerSession:
    """A network from one ``main`` input to one row an item, its ``output``.

    With ``lasting``, for many runs, weights are copied into the order that multiplies fastest;
    otherwise they are used where they lie in the file, and the memory of a run is given back after it.
    """

    def __init__(self, path: Path, main: str, output: str, *, lasting: bool = True) -> None:
        onnxruntime = import_onnxruntime()
        options = onnxruntime.SessionOptions()
        # One thread each: several runs side by side keep the cores busier than one run on all.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Runs side by side would each reserve the memory of the longest one seen so far.
        options.enable_mem_pattern = False
        options.add_session_config_entry(_WEIGHTS_FOLDER, str(path.parent))
        if not lasting:
            options.add_session_config_entry("session.disable_prepacking", "1")
            options.enable_cpu_mem_arena = False
        try:
            network = outline(path)
            self._session = onnxruntime.InferenceSession(
                network, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime's errors have no common class of their own
            reason = str(error).strip().splitlines()[0]
            raise AssetError(f"onnxruntime cannot load {path}: {reason}") from error
        inputs = {item.name: item for item in self._session.get_inputs()}
        outputs = {item.name: item for item in self._session.get_outputs()}
        unknown = sorted(inputs.keys() - {main} - _FURTHER.keys())
        types = {item.type for item in inputs.values()} - _TYPES.keys()
        if main not in inputs or output not in outputs or unknown or types:
            raise AssetError(
                f"{path} takes {', '.join(f'{name} {item.type}' for name, item in inputs.items())} "
                f"and gives {', '.join(outputs)}; a CLAP tower from {main} to {output} was wanted"
            )
        self._main, self._output = main, output
        self._types = {name: _TYPES[item.type] for name, item in inputs.items()}
        channels = inputs[main].shape[1] if len(inputs[main].shape) == 4 else 1
        self._channels = channels if isinstance(channels, int) else 1
        # Numbers in a row, where the file says it.
        width = outputs[output].shape[-1]
        self.width = width if isinstance(width, int) else None
        # Whether items may share a run: in an int8 file one would change the others.
        self.batches = _SHARED_SCALE not in network

    def run(self, items: Array) -> Float32:
        """Rows (B, d) of pictures (B, 1, frames, mels) or of tokens (B, length)."""
        if self._channels > 1:  # a fused export: the same picture in the place of every crop
            items = np.repeat(items, self._channels, axis=1)
        feeds: dict[str, Array] = {
            name: (items if name == self._main else _FURTHER[name](items)).astype(kind, copy=False)
            for name, kind in self._types.items()
        }
        rows: Float32 = self._session.run([self._output], feeds)[0]
        return rows
