"""Thousands of damaged adapters, shards and sounds: named errors only, in little time and memory."""

from __future__ import annotations

import sys

import pytest

from benchmarks import mutations


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_only_named_errors(
    count: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["mutations", "--count", str(count), "--flips", str(count // 10)]
    arguments += ["--sounds", str(count // 2)]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as ended:
        mutations.main()
    assert not ended.value.code, capsys.readouterr().err
