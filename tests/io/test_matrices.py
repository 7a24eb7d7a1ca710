"""Rows on disk: every format gives the rows that were written, whatever part is asked for."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict

import numpy as np
import pytest
from safetensors.numpy import save_file

from prism_audio import PrismError
from prism_audio.io.matrices import MemoryRows, RowTable, flat_copy, open_matrix, read_matrix
from prism_audio.store.rows import open_table
from prism_audio.store.shards import Entry, write_shard
from prism_audio.store.store import SETTINGS_FILE, Store, StoreSettings

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((53, 6)).astype(np.float32)


def npy(folder):
    np.save(folder / "rows.npy", ROWS)
    return folder / "rows.npy"


def safetensors(folder):
    save_file({"embeddings": ROWS, "other": np.zeros(3)}, folder / "rows.safetensors")
    return folder / "rows.safetensors"


def write_parquet(folder, column):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = arrow.table({"name": [str(i) for i in range(53)], **column(arrow)})
    parquet.write_table(table, folder / "rows.parquet", row_group_size=20)
    return folder / "rows.parquet"


def parquet(folder):
    return write_parquet(
        folder, lambda pa: {"E": pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 6)}
    )


def parquet_lists(folder):
    """Lists of any length, as most programs write them."""
    return write_parquet(folder, lambda pa: {"E": pa.array(list(ROWS))})


def parquet_columns(folder):
    """A column a dimension."""
    return write_parquet(folder, lambda pa: {f"d{i}": pa.array(ROWS[:, i]) for i in range(6)})


def store(folder):
    """Three shards; the second replaces a file of the first, whose rows no longer count."""
    place = folder / "store"
    place.mkdir()
    about = StoreSettings("bands", "print", 6, 8000, 1.0, 1.0, "clip")
    (place / SETTINGS_FILE).write_text(json.dumps(asdict(about)))
    stale = np.zeros((4, 6), np.float32)
    shards = [
        ([("a", ROWS[:10]), ("b", stale), ("c", ROWS[10:30])]),
        ([("b", ROWS[30:50])]),
        ([("d", ROWS[50:])]),
    ]
    for number, files in enumerate(shards, 1):
        entries = [Entry(name, 1, 1, "x", len(rows)) for name, rows in files]
        rows = np.concatenate([rows for _, rows in files])
        times = np.zeros(len(rows))
        write_shard(
            place / f"shard-{number:08d}.safetensors", asdict(about), entries, rows, times, times
        )
    np.testing.assert_array_equal(Store.open(place).embeddings(), ROWS)
    return place


FORMATS = [npy, safetensors, parquet, parquet_lists, parquet_columns]


@pytest.mark.parametrize("written", [*FORMATS, store])
def test_any_part_of_any_format(written, tmp_path):
    table = open_table(written(tmp_path))
    assert table.shape == ROWS.shape
    assert table.dtype == np.float32
    for start, stop in [(0, 53), (0, 1), (52, 53), (7, 11), (9, 31), (19, 21), (29, 52), (12, 12)]:
        if stop > start:
            np.testing.assert_array_equal(table.read(start, stop), ROWS[start:stop])


@pytest.mark.parametrize("written", FORMATS)
def test_the_whole_file(written, tmp_path):
    np.testing.assert_array_equal(read_matrix(written(tmp_path)).rows, ROWS)


@pytest.mark.parametrize("written", [parquet, parquet_lists, parquet_columns])
def test_reading_in_order_decodes_a_row_group_once(written, tmp_path, monkeypatch):
    from prism_audio.io.matrices.parquet import ParquetRows

    table = open_matrix(written(tmp_path))
    decoded = []
    decode = ParquetRows._decode
    monkeypatch.setattr(
        ParquetRows, "_decode", lambda self, group: decoded.append(group) or decode(self, group)
    )
    parts = [table.read(start, min(start + 4, 53)) for start in range(0, 53, 4)]
    np.testing.assert_array_equal(np.concatenate(parts), ROWS)
    assert decoded == [0]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(table)).read(45, 50), ROWS[45:50])


def test_a_flat_copy_is_made_of_what_must_be_decoded(tmp_path, monkeypatch):
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    table = open_matrix(npy(tmp_path))
    assert flat_copy(table) is table
    copy = flat_copy(open_matrix(parquet(tmp_path)))
    (tmp_path / "rows.parquet").unlink()
    for start, stop in [(20, 53), (0, 7), (52, 53)]:
        np.testing.assert_array_equal(copy.read(start, stop), ROWS[start:stop])
    assert copy.dtype == np.float32
    assert not any((tmp_path / "cache" / "rows").iterdir())


def test_without_room_for_a_copy_every_pass_decodes(tmp_path, monkeypatch):
    (tmp_path / "cache").touch()
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    table = open_matrix(parquet(tmp_path))
    assert flat_copy(table) is table


@pytest.mark.parametrize(
    "rows", [[[1.0, 2.0], [3.0]], [[1.0, 2.0], None], [[1.0, 2.0], [3.0, None]]]
)
def test_parquet_lists_with_gaps_are_refused(rows, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"E": rows}), tmp_path / "odd.parquet")
    with pytest.raises(PrismError, match=r"odd\.parquet.*wanted 2 numbers in every row"):
        read_matrix(tmp_path / "odd.parquet")


def test_pieces_of_several_types_are_read_as_one():
    table = RowTable([MemoryRows(ROWS.astype(np.float16)), MemoryRows(ROWS)])
    assert table.read(50, 56).dtype == np.float32
    np.testing.assert_array_equal(table.read(53, 106), ROWS)


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros((3, 2, 2)), r"\(3, 2, 2\)"),
        (np.asfortranarray(np.zeros((3, 2))), "by columns"),
        (np.array([["a"]]), "<U1"),
        (np.zeros((0, 4)), "no rows"),
    ],
)
def test_what_is_no_matrix_is_refused_with_its_file(array, reason, tmp_path):
    np.save(tmp_path / "odd.npy", array)
    with pytest.raises(PrismError, match=reason) as caught:
        open_table(tmp_path / "odd.npy")
    assert "odd.npy" in str(caught.value)


def test_a_file_that_is_cut_short_is_noticed(tmp_path):
    path = npy(tmp_path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(PrismError, match="not whole"):
        open_table(path)
    (tmp_path / "cut.safetensors").write_bytes(b"\xff" * 20)
    with pytest.raises(PrismError, match=r"cut\.safetensors"):
        open_table(tmp_path / "cut.safetensors")


def test_other_files_are_refused_with_what_is_wanted(tmp_path):
    (tmp_path / "rows.csv").write_text("1,2")
    with pytest.raises(PrismError, match="store of 'prism embed'"):
        open_table(tmp_path / "rows.csv")
    with pytest.raises(PrismError, match="no such file"):
        open_table(tmp_path / "absent.npy")
