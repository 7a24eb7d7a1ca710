from __future__ import annotations

from pathlib import Path

import pytest

from prism_audio.bench import code_digest as code


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "fake_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "first.py").write_text("def f():\n    from fake_package.second import g\n")
    (folder / "second.py").write_text("from fake_package import third\nimport json\n")
    (folder / "third.py").write_text("x = 1\n")
    (folder / "other.py").write_text("x = 1\n")
    monkeypatch.setattr(code, "_HOME", tmp_path)
    monkeypatch.setattr(code, "_PACKAGE", "fake_package")
    return folder


def fresh(module: str) -> str:
    code.code_digest.cache_clear()
    try:
        return code.code_digest(module)
    finally:
        code.code_digest.cache_clear()


@pytest.mark.parametrize(
    ("changed", "matters"),
    [("first", True), ("second", True), ("third", True), ("other", False)],
)
def test_only_what_is_imported_matters(package: Path, changed: str, matters: bool) -> None:
    before = fresh("fake_package.first")
    with (package / f"{changed}.py").open("a") as file:
        file.write("y = 2\n")
    assert (fresh("fake_package.first") != before) is matters


def test_a_method_hangs_on_its_geometry() -> None:
    """The guard belongs to PRISM and to no other method."""
    reached = set()
    waiting = ["prism_audio.methods.prism"]
    while waiting:
        name = waiting.pop()
        path = code._source(name)
        if path is not None and name not in reached:
            reached.add(name)
            waiting += code._imports(name, path.read_bytes())
    assert {"prism_audio.model.estimator", "prism_audio.geometry.ccvd"} <= reached
    assert not any(name.startswith("prism_audio.bench") for name in reached)
