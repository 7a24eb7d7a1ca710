"""The preset ``released`` against an independent transcription of its specification."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio.geometry.parameters import Parameters
from prism_audio.geometry.released import calibrate_released
from tests.helpers import oracle
from tests.helpers.problems import SHAPES, problem
from tests.helpers.released_spec import released


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_released_script_is_reproduced(shape):
    E, T, _ = problem(*shape, dtype=np.float32)
    K = min(60, shape[1] // 4)
    _, E_cur = released(E, T, K=K)
    result = calibrate_released(E, T, Parameters(K=K))
    got = oracle.apply(oracle.unit(E), result.W)
    np.testing.assert_allclose(np.sum(got * oracle.unit(E_cur), axis=1), 1, atol=1e-4)
    np.testing.assert_allclose(got @ oracle.unit(T).T, E_cur @ oracle.unit(T).T, atol=1e-3)
