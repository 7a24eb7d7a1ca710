"""A writer may die at any instant: the store stays whole and the next writer goes on."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prism_audio.errors import StoreError
from prism_audio.store.store import Store, StoreSettings
from prism_audio.store.update import update_store
from prism_audio.store.writer import StoreWriter
from tests.helpers.tiny_datasets import TinyEncoder, recordings


class Killed(BaseException):
    """What a process feels at SIGKILL, were it to feel anything."""


class Mortal:
    """Counts every call that changes the disk; at the fatal one, and ever after, nothing is done.

    The fatal write leaves half of its bytes behind. Clean-up code is as dead as the rest, which is
    how this differs from an exception.
    """

    def __init__(self, patch: pytest.MonkeyPatch, fatal: int) -> None:
        self.fatal, self.calls = fatal, 0
        for owner, name in (
            (os, "fsync"),
            (os, "replace"),
            (Path, "unlink"),
            (Path, "mkdir"),
            (Path, "open"),
        ):
            patch.setattr(owner, name, self.mortal(getattr(owner, name), name))

    def mortal(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            writing = name != "open" or "w" in str(args[1:]) or "x" in str(args[1:])
            if not writing:
                return call(*args, **kwargs)
            self.calls += 1
            if self.calls == self.fatal and name == "open":
                call(*args, **kwargs).close()
            if self.calls == self.fatal and name == "fsync":
                found = os.fstat(args[0])
                if stat.S_ISREG(found.st_mode):
                    os.ftruncate(args[0], found.st_size // 2)
            if self.calls >= self.fatal:
                raise Killed
            return call(*args, **kwargs)

        return counted


def content(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.iterdir() if path.name[0] != "."}


def run(folder: Path, out: Path) -> None:
    update_store(folder, out, TinyEncoder(), shard=4)


def test_death_at_every_change_of_the_disk(tmp_path: Path) -> None:
    folder = tmp_path / "sound"
    recordings(folder, 10)
    (folder / "a" / "0002x.wav").write_text("no sound")
    run(folder, tmp_path / "undisturbed")
    expected = content(tmp_path / "undisturbed")

    deaths = 0
    for fatal in range(1, 200):
        out = tmp_path / f"out{fatal}"
        with pytest.MonkeyPatch.context() as patch:
            mortal = Mortal(patch, fatal)
            try:
                run(folder, out)
            except Killed:
                deaths += 1
        if mortal.calls < fatal:
            break
        if (out / "store.json").exists():
            left = Store.open(out)
            assert len(left) == len(set(left.paths))
        run(folder, out)
        assert content(out) == expected
    # The folder, the lock, the description and three shards take several changes each.
    assert deaths > 15
    assert mortal.calls < fatal


def test_dies_again_and_again_at_a_later_place(tmp_path: Path) -> None:
    folder, out = tmp_path / "sound", tmp_path / "out"
    recordings(folder, 10)
    run(folder, tmp_path / "undisturbed")
    for fatal in range(1, 12):
        with pytest.MonkeyPatch.context() as patch:
            Mortal(patch, fatal)
            try:
                run(folder, out)
            except Killed:
                continue
    run(folder, out)
    assert content(out) == content(tmp_path / "undisturbed")


def test_second_writer_is_kept_out_until_the_first_ends(tmp_path: Path) -> None:
    recordings(tmp_path / "sound", 2)
    settings = StoreSettings.of(TinyEncoder(), "clip")
    with (
        StoreWriter(tmp_path / "out", settings, tmp_path / "sound"),
        pytest.raises(StoreError, match="another process is writing"),
    ):
        run(tmp_path / "sound", tmp_path / "out")
    run(tmp_path / "sound", tmp_path / "out")
    assert len(Store.open(tmp_path / "out")) == 2


def test_full_disk_is_told_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out = tmp_path / "sound", tmp_path / "out"
    recordings(folder, 10)
    sync, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) > 6:
            raise OSError(28, "No space left on device")
        sync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match=r"shard-.*No space left.*run the same command"):
            run(folder, out)
    assert 0 < len(Store.open(out)) < 10
    assert not list(out.glob(".*.tmp"))
    run(folder, out)
    assert len(Store.open(out)) == 10


def test_output_that_is_a_file_is_refused(tmp_path: Path) -> None:
    recordings(tmp_path / "sound", 1)
    (tmp_path / "out").touch()
    with pytest.raises(StoreError, match=r"cannot use .*out as an output folder"):
        run(tmp_path / "sound", tmp_path / "out")
