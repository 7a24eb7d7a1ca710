from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from prism_audio import Adapter
from prism_audio.io.locks import exclusive
from prism_audio.model.history import AdapterStore
from tests.cli.conftest import Prism
from tests.helpers.station import zero_shot


@pytest.fixture
def store(tmp_path: Path, site: Path) -> AdapterStore:
    """A source with two versions, of which the second is in use."""
    store = AdapterStore(tmp_path)
    for adapter in (zero_shot(), Adapter.load(site)):
        history = store.add("yard", store.history("yard"), adapter, "calibration")
        store.use("yard", history, history.versions[-1].version, adapter)
    return store


def test_versions_are_shown(prism: Prism, store: AdapterStore) -> None:
    done = prism("history", store.folder)
    assert done.returncode == 0
    assert "yard: version 2 in use" in done.stdout
    assert "*   2" in done.stdout
    shown = json.loads(prism("history", store.folder, "--json").stdout)
    assert [version["version"] for version in shown["yard"]["versions"]] == [1, 2]


def test_the_way_back_and_forth(prism: Prism, store: AdapterStore, site: Path) -> None:
    assert prism("history", store.folder, "yard", "--undo").returncode == 0
    assert store.history("yard").in_use == 1
    assert Adapter.load(store.file("yard")).labels == zero_shot().labels
    assert prism("history", store.folder, "yard", "--undo").returncode == 0  # and back
    assert store.history("yard").in_use == 2
    np.testing.assert_array_equal(Adapter.load(store.file("yard")).W, Adapter.load(site).W)
    assert prism("history", store.folder, "yard", "--use", 0).returncode == 0
    plain = Adapter.load(store.file("yard"))
    np.testing.assert_array_equal(plain.W[:-1], np.eye(plain.dim, dtype=plain.W.dtype))
    assert plain.labels == Adapter.load(site).labels


def test_wrong_usage(refused: Callable[..., str], store: AdapterStore, tmp_path: Path) -> None:
    for words, arguments in {
        "is not a folder": (tmp_path / "absent",),
        "there is: yard": (store.folder, "gate"),
        "name it after the folder": (store.folder, "--undo"),
        "has no version 9": (store.folder, "yard", "--use", 9),
    }.items():
        assert words in refused("history", *arguments), words
    with exclusive(store.folder / ".lock"):
        assert "is writing to" in refused("history", store.folder, "yard", "--use", 1)
