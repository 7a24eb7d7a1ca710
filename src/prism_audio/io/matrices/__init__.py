"""Read matrices of embeddings or prototypes: ``.npy .npz .parquet .safetensors .pt`` files.

One module a format. Each opens a file and lists the arrays in it as :class:`~.rows.RowReader` objects,
which are read whole or in chunks of rows. Nothing that a file could smuggle in is run: NumPy files are
read without pickle, torch files with ``weights_only=True``.
"""

from prism_audio.io.matrices.files import Matrix, is_matrix_file, open_matrix, read_matrix
from prism_audio.io.matrices.flat_copy import flat_copy
from prism_audio.io.matrices.rows import ChosenRows, FlatRows, MemoryRows, RowReader
from prism_audio.io.matrices.table import RowTable

__all__ = [
    "ChosenRows",
    "FlatRows",
    "Matrix",
    "MemoryRows",
    "RowReader",
    "RowTable",
    "flat_copy",
    "is_matrix_file",
    "open_matrix",
    "read_matrix",
]
