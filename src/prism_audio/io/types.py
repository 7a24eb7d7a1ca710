"""Names for NumPy array types, used in every room but ``geometry``, which stands alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.floating[Any]]
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
