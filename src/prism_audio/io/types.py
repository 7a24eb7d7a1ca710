"""Names for array types, used in every room but ``geometry``, which stands alone."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.floating[Any]]
Float16 = NDArray[np.float16]
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]


class Tensor(Protocol):
    """A torch tensor, for those who have torch: a method that is given one gives one back."""

    def detach(self) -> Any: ...


AnyTensor = TypeVar("AnyTensor", bound=Tensor)
