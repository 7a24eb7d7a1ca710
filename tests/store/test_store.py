from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from prism_audio.encoders.embedding.engine import embed_files
from prism_audio.errors import InputError, PrismWarning, StoreError
from prism_audio.store.rows import open_table
from prism_audio.store.shards import Entry
from prism_audio.store.store import Store, StoreSettings
from prism_audio.store.update import Report, update_store
from prism_audio.store.writer import StoreWriter
from tests.helpers.tiny_datasets import TinyEncoder, recording, recordings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    recordings(tmp_path / "sound", 30)
    return tmp_path / "sound"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def update(folder: Path, out: Path, **options: object) -> Report:
    return update_store(folder, out, TinyEncoder(), shard=8, **options)  # type: ignore[arg-type]


def test_rows_are_those_of_the_engine(folder: Path, out: Path) -> None:
    report = update(folder, out)
    store = Store.open(out)
    assert (report.found, report.embedded, report.skipped) == (30, 30, 0)
    assert len(store) == len(store.paths) == 30
    files = [folder / path for path in store.paths]
    assert store.paths == sorted(store.paths)
    expected = list(embed_files(files, TinyEncoder(), group_files=8))
    for row, length, clip in zip(store.embeddings(), store.end, expected, strict=True):
        assert row.tobytes() == clip.embedding.tobytes()  # type: ignore[union-attr]
        assert length == clip.seconds  # type: ignore[union-attr]
    assert not store.start.any()


def test_shards_are_plain_safetensors_mapped_from_disk(folder: Path, out: Path) -> None:
    update(folder, out)
    files = sorted(out.glob("*.safetensors"))
    arrays = list(Store.open(out))
    assert len(files) == len(arrays) == 4
    for file, array in zip(files, arrays, strict=True):
        assert isinstance(array, np.memmap)
        np.testing.assert_array_equal(load_file(file)["embeddings"], array)


def test_rows_of_windows(folder: Path, out: Path) -> None:
    update(folder, out, row="window")
    store, encoder = Store.open(out), TinyEncoder()
    expected = list(
        embed_files(sorted(folder.rglob("*.wav")), encoder, per_window=True, group_files=8)
    )
    timelines = [clip.rows(encoder) for clip in expected]  # type: ignore[union-attr]
    np.testing.assert_array_equal(store.embeddings(), np.concatenate(timelines))
    starts = [clip.start for clip in expected]  # type: ignore[union-attr]
    np.testing.assert_array_equal(store.start, np.concatenate(starts))
    assert store.paths.count(store.paths[0]) == len(timelines[0])


def test_what_is_done_is_skipped_and_what_is_new_is_added(folder: Path, out: Path) -> None:
    update(folder, out)
    before = Store.open(out).embeddings()
    recording(folder / "a" / "00005.wav", 2, seed=99)
    encoder = TinyEncoder()
    report = update_store(folder, out, encoder)
    assert (report.embedded, report.skipped) == (1, 30)
    assert len(encoder.batches) == 1
    np.testing.assert_array_equal(Store.open(out).embeddings()[:30], before)
    assert Store.open(out).paths[30] == "a/00005.wav"


def test_changed_recording_replaces_its_row(folder: Path, out: Path) -> None:
    update(folder, out)
    old = dict(zip(Store.open(out).paths, Store.open(out).embeddings(), strict=True))
    changed = Store.open(out).paths[4]
    recording(folder / changed, 2, seed=99)
    report = update(folder, out)
    store = Store.open(out)
    new = dict(zip(store.paths, store.embeddings(), strict=True))
    assert (report.embedded, report.skipped) == (1, 29)
    assert len(store) == 30
    assert new.keys() == old.keys()
    differing = [path for path in new if not np.array_equal(new[path], old[path])]
    assert differing == [changed]
    np.testing.assert_array_equal(open_table(out).read(0, 30), store.embeddings())


def test_content_decides_where_only_the_time_differs(folder: Path, out: Path) -> None:
    update(folder, out)
    touched, swapped = folder / "a" / "0000.wav", folder / "b" / "0001.wav"
    os.utime(touched, ns=(1, 1))
    data = bytearray(swapped.read_bytes())
    data[-100:] = bytes(100)
    swapped.write_bytes(data)
    os.utime(swapped, ns=(1, 1))
    report = update(folder, out)
    assert (report.embedded, report.skipped) == (1, 29)


def test_rows_of_vanished_recordings_stay(folder: Path, out: Path) -> None:
    update(folder, out)
    (folder / "a" / "0000.wav").unlink()
    report = update(folder, out)
    assert (report.found, report.kept, report.embedded) == (29, 1, 0)
    assert len(Store.open(out)) == 30


def test_what_counts_as_kept(folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "b" / "bad.wav").write_text("no sound")
    update(folder, out)
    (folder / "b" / "bad.wav").unlink()  # never had a row
    (folder / "b" / "0000.wav").unlink(missing_ok=True)
    gone = 30 - len(list(folder.rglob("*.wav")))
    assert update(folder, out).kept == gone

    scan = os.scandir

    def denied(path):
        if Path(path) == folder / "a":
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", denied)
    report = update(folder, out)
    assert (report.kept, len(report.failures)) == (gone, 1), "what cannot be seen is not gone"


def test_bad_recordings_are_on_record_tried_again_and_mended(folder: Path, out: Path) -> None:
    (folder / "a" / "0003x.wav").write_text("no sound")
    (folder / "b" / "9999.wav").write_text("no sound")
    first = update(folder, out)
    assert [failure.path.name for failure in first.failures] == ["0003x.wav", "9999.wav"]
    assert Store.open(out).failures.keys() == {"a/0003x.wav", "b/9999.wav"}
    assert all(Store.open(out).failures.values())
    assert len(Store.open(out)) == 30
    written = sorted(os.listdir(out))
    second = update(folder, out)
    assert {failure.path for failure in second.failures} == {
        failure.path for failure in first.failures
    }
    assert sorted(os.listdir(out)) == written
    recording(folder / "a" / "0003x.wav", 1)
    third = update(folder, out)
    assert (third.embedded, len(third.failures)) == (1, 1)
    assert "a/0003x.wav" in Store.open(out).paths
    assert Store.open(out).failures.keys() == {"b/9999.wav"}


def test_recording_that_turns_bad_loses_its_row(folder: Path, out: Path) -> None:
    update(folder, out)
    (folder / "a" / "0000.wav").write_text("no sound")
    update(folder, out)
    assert "a/0000.wav" not in Store.open(out).paths
    assert len(Store.open(out)) == 29


def test_only_bad_recordings(tmp_path: Path, out: Path) -> None:
    (tmp_path / "sound").mkdir()
    (tmp_path / "sound" / "1.wav").write_text("no sound")
    assert len(update(tmp_path / "sound", out).failures) == 1
    store = Store.open(out)
    assert store.embeddings().shape == (0, TinyEncoder.dim)
    assert list(store) == store.paths == []


def test_recording_that_changes_meanwhile_is_a_failure_until_the_next_run(
    folder: Path, out: Path
) -> None:
    growing = folder / "b" / "0001.wav"

    class Slow(TinyEncoder):
        def embed_windows(self, windows: np.ndarray) -> np.ndarray:
            recording(growing, 4.5, seed=1)
            return super().embed_windows(windows)

    report = update_store(folder, out, Slow())
    assert [failure.path for failure in report.failures] == [growing]
    assert "changed" in report.failures[0].reason
    assert (update(folder, out).embedded, len(Store.open(out))) == (1, 30)
    assert Store.open(out).end[Store.open(out).paths.index("b/0001.wav")] == 4.5


def test_name_that_is_not_text(folder: Path, out: Path) -> None:
    name = os.fsdecode(b"caf\xe9.wav")
    recording(folder / "cafe.wav", 1).rename(folder / name)
    report = update(folder, out)
    assert name in Store.open(out).files
    assert report.embedded + len(report.failures) == 31
    written = sorted(os.listdir(out))
    update(folder, out)
    assert sorted(os.listdir(out)) == written


def test_other_encoder_and_other_rows_are_refused(folder: Path, out: Path) -> None:
    class Other(TinyEncoder):
        fingerprint = "tiny-2"

    update(folder, out)
    with pytest.raises(StoreError, match=r"fingerprint: tiny-1, not tiny-2.*another output"):
        update_store(folder, out, Other())
    with pytest.raises(StoreError, match=r"row: clip, not window"):
        update(folder, out, row="window")
    assert len(Store.open(out)) == 30


def test_other_folder_is_refused_but_a_moved_one_goes_on(folder: Path, out: Path) -> None:
    update(folder, out)
    other = recording(folder.parent / "other" / "a" / "0000.wav", 1).parent.parent
    with pytest.raises(StoreError, match=r"embeddings of .*sound, not of .*other"):
        update(other, out)
    folder.rename(folder.parent / "moved")
    assert update(folder.parent / "moved", out).skipped == 30
    folder.mkdir()
    assert update(folder.parent / "moved", out).skipped == 30


def test_folder_with_other_things_is_not_taken(folder: Path, out: Path) -> None:
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"neither empty nor a store.*thesis\.txt"):
        update(folder, out)
    assert os.listdir(out) == ["thesis.txt"]


def test_folder_without_recordings_makes_no_store(tmp_path: Path, out: Path) -> None:
    (tmp_path / "nothing").mkdir()
    with pytest.raises(InputError, match="no recording below"):
        update(tmp_path / "nothing", out)
    assert not out.exists()


def test_what_is_no_store_does_not_open(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"store\.json.*prism embed"):
        Store.open(tmp_path)
    (tmp_path / "store.json").write_text('{"schema": 2}')
    with pytest.raises(StoreError, match="form 2"):
        Store.open(tmp_path)
    (tmp_path / "store.json").write_text("[")
    with pytest.raises(StoreError, match="cannot read"):
        Store.open(tmp_path)


def rows_by_path(store: Path) -> dict[str, bytes]:
    opened = Store.open(store)
    return {
        path: row.tobytes() for path, row in zip(opened.paths, opened.embeddings(), strict=True)
    }


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip(data: bytes) -> bytes:
    """One bit of one number."""
    return data[:-100] + bytes([data[-100] ^ 4]) + data[-99:]


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[:5], cut, lambda data: data[:-1], flip]
)
def test_damaged_shard_is_named_and_its_recordings_are_embedded_again(
    folder: Path, out: Path, damage: Callable[[bytes], bytes]
) -> None:
    update(folder, out)
    before = rows_by_path(out)
    shard = sorted(out.glob("*.safetensors"))[1]
    shard.write_bytes(damage(shard.read_bytes()))
    with pytest.raises(StoreError, match=f"{shard.name} is not a whole shard.*'prism embed' again"):
        Store.open(out)
    report = update(folder, out)
    assert (report.embedded, report.skipped) == (8, 22)
    assert len(report.damaged) == 1
    assert shard.name in report.damaged[0]
    assert rows_by_path(out) == before
    assert (out / f"damaged-{shard.name}").exists()
    again = update(folder, out)
    assert (again.embedded, again.damaged) == (0, [])


def test_rows_of_another_file_are_noticed(folder: Path, out: Path) -> None:
    """Numbers swapped between two shards of the same shape."""
    update(folder, out)
    first, second = sorted(out.glob("*.safetensors"))[:2]
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(one[:-256] + two[-256:])
    with pytest.raises(StoreError, match=r"shard-00000001.*does not fit its hash"):
        Store.open(out)


def test_shards_of_older_versions_load_with_a_note(folder: Path, out: Path) -> None:
    update(folder, out)
    before = rows_by_path(out)
    for shard in out.glob("*.safetensors"):
        with safe_open(shard, "np") as opened:
            metadata = opened.metadata()
        del metadata["sha256"]
        save_file(load_file(shard), shard, metadata)
    with pytest.warns(PrismWarning, match="4 of 4 shards were written by an older version"):
        assert rows_by_path(out) == before
    with pytest.warns(PrismWarning):
        assert update(folder, out).skipped == 30


def test_a_long_list_of_files_takes_several_shards(tmp_path: Path) -> None:
    """A header has at most 1 MB; names of files alone may be longer."""
    entries = [Entry(f"{number:04d}" + "\n" * 4000, 1, 1, "x", 1) for number in range(200)]
    rows = np.random.default_rng(0).standard_normal((200, 4)).astype(np.float32)
    settings = StoreSettings("tiny", "print", 4, 8000, 1.0, 1.0, "clip")
    with StoreWriter(tmp_path / "out", settings, tmp_path) as writer:
        writer.append(entries, rows, np.arange(200.0), np.arange(200.0) + 1)
    store = Store.open(tmp_path / "out")
    assert len(list((tmp_path / "out").glob("shard-*"))) > 1
    assert list(store.files.values()) == entries
    np.testing.assert_array_equal(store.embeddings(), rows)


@pytest.mark.parametrize(
    "change",
    [
        {"dim": "8"},
        {"dim": 0},
        {"rate": 2.5},
        {"window": float("nan")},
        {"row": None},
        {"source": 3},
    ],
    ids=str,
)
def test_settings_of_a_wrong_type_are_refused(
    folder: Path, out: Path, change: dict[str, object]
) -> None:
    update(folder, out)
    file = out / "store.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(StoreError, match=r"store\.json"):
        Store.open(out)


def test_shard_of_another_store_is_refused(folder: Path, out: Path, tmp_path: Path) -> None:
    update(folder, out)
    update(folder, tmp_path / "windows", row="window")
    shutil.copy(
        next((tmp_path / "windows").glob("*.safetensors")), out / "shard-00000099.safetensors"
    )
    with pytest.raises(StoreError, match=r"shard-00000099.*row: window, not clip"):
        Store.open(out)
