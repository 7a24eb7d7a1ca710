from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.encoder_contract import CHECKS
from tests.helpers.moments import Moments


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_contract_holds_for_a_plain_encoder(check) -> None:
    check(Moments())


class Sloppy(Moments):
    """What encoders do wrong: a batch shares its scale, so members influence each other."""

    def embed_windows(self, windows: np.ndarray) -> np.ndarray:
        return super().embed_windows(windows / (np.abs(windows).max() + 1e-9))


def test_the_contract_notices_a_batch_that_changes_its_members() -> None:
    failed = []
    for check in CHECKS:
        try:
            check(Sloppy())
        except AssertionError:
            failed.append(check.__name__)
    assert "windows_do_not_influence_each_other" in failed
