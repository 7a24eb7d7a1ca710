from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prism_audio.bench.cache import Cache, array_digest, default_cache, digest, file_digest
from prism_audio.errors import PrismError


def test_facts_are_one_whatever_their_order() -> None:
    assert digest({"a": 1, "b": [1.5, "x"]}) == digest({"b": [1.5, "x"], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})


def test_arrays_differ_by_value_shape_and_type() -> None:
    array = np.arange(6, dtype=np.float32)
    others = (array[::-1], array.reshape(2, 3), array.astype(np.float64), array + 1e-6)
    assert len({array_digest(a) for a in (array, *others)}) == 5
    assert array_digest(array.reshape(2, 3).T) == array_digest(array.reshape(2, 3).T.copy())


@pytest.mark.parametrize("size", [10, 3 << 20])
@pytest.mark.parametrize("where", [0, 0.5, 1])
def test_a_file_that_changed_is_another(tmp_path: Path, size: int, where: float) -> None:
    content = bytearray(size)
    path = tmp_path / "clip.wav"
    path.write_bytes(content)
    before = file_digest(path)
    content[int(where * (size - 1))] = 1
    path.write_bytes(content)
    assert file_digest(path) != before
    path.write_bytes(bytes(size + 1))
    assert file_digest(path) != before


def test_arrays_come_back_under_their_facts_alone(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "deep" / "cache")
    arrays = {"labels": np.arange(5, dtype=np.int16), "turned": np.eye(3)[::-1].T}
    cache.save("room", "name", {"a": 1}, arrays)
    found = cache.load("room", "name", {"a": 1})
    assert found is not None
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
    assert cache.load("room", "name", {"a": 2}) is None


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.save("room", "name", {}, {"x": np.zeros(3)})
    cache.path("room", "name", {}).write_bytes(b"rubbish")
    with pytest.raises(PrismError, match=r"damaged.*delete"):
        cache.load("room", "name", {})


def test_the_environment_says_where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path))
    assert default_cache() == tmp_path / "bench"
    (tmp_path / "file").write_text("")
    with pytest.raises(PrismError, match="--cache"):
        Cache(tmp_path / "file" / "below")
