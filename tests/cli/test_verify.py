"""``prism verify``: every damaged byte is told, older files get a note."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from safetensors.numpy import load, save_file

from prism_audio.encoders.assets import TOKENIZER
from prism_audio.io.safe_tensors import HASH_KEY, read_header
from prism_audio.store.store import shard_files
from tests.cli.conftest import Prism


def states(done) -> dict[str, str]:
    return {Path(row["path"]).name: row["state"] for row in json.loads(done.stdout)}


def without_hash(path: Path, target: Path) -> Path:
    metadata = {k: v for k, v in read_header(path).metadata.items() if k != HASH_KEY}
    save_file(load(path.read_bytes()), target, metadata)
    return target


@pytest.fixture
def store(prism: Prism, sounds: Path, tmp_path: Path) -> Path:
    path = tmp_path / "stores" / "street"
    assert prism("embed", sounds, "-o", path, "--encoder", "bands").returncode == 0
    return path


@pytest.fixture
def exports(prism: Prism, site: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "exports"
    folder.mkdir()
    for name in ("head.json", "head.npz", "head.h", "modules"):
        assert prism("export", site, "-o", folder / name).returncode == 0
    return folder


def test_adapters_and_exports_are_as_they_were_written(prism, site, exports) -> None:
    done = prism("verify", site, exports, "--json")
    assert done.returncode == 0, done.stderr
    assert states(done) == {
        site.name: "ok",
        "head.json": "ok",
        "head.npz": "ok",
        "head.h": "ok",
        "model.safetensors": "ok",
        "prototypes.safetensors": "ok",
    }
    assert "adapter" in prism("verify", site).stdout


@pytest.mark.parametrize("name", ["head.json", "head.npz", "head.h"])
def test_every_damaged_byte_of_an_export_is_noticed(prism, exports, name) -> None:
    path, rng = exports / name, random.Random(0)
    data = path.read_bytes()
    for place in [*rng.sample(range(len(data)), 25), len(data) - 3]:
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        done = prism("verify", path)
        assert done.returncode == 1, place
    for length in rng.sample(range(len(data) // 2, len(data) - 2), 10):
        path.write_bytes(data[:length])
        assert prism("verify", path).returncode == 1, length


def test_onnx(prism, site, tmp_path) -> None:
    pytest.importorskip("onnx", reason="needs the extra onnx")
    path = tmp_path / "head.onnx"
    prism("export", site, "-o", path)
    assert prism("verify", path).returncode == 0
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert prism("verify", path).returncode == 1


def test_a_damaged_shard_is_named(prism, store: Path) -> None:
    done = prism("verify", store.parent, "--json")
    assert (done.returncode, set(states(done).values())) == (0, {"ok"})
    shard = shard_files(store)[-1]
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    done = prism("verify", store, "--json")
    assert done.returncode == 1
    assert states(done)[shard.name] == "damaged"
    assert "prism embed" in done.stderr
    (store / "store.json").write_text("{")
    assert prism("verify", store).returncode == 1


def test_files_of_older_versions_get_a_note(prism, site, store, tmp_path, exports) -> None:
    old = without_hash(site, tmp_path / "old.safetensors")
    document = json.loads((exports / "head.json").read_text())
    del document["sha256"]
    plain = tmp_path / "plain.json"
    plain.write_text(json.dumps(document))
    shard = shard_files(store)[-1]
    without_hash(shard, shard)
    done = prism("verify", old, plain, store, "--json")
    assert done.returncode == 0
    assert "older version" in done.stderr
    told = states(done)
    assert (told[old.name], told[plain.name], told[shard.name]) == ("no hash",) * 3


def test_what_is_not_ours_is_told(prism: Prism, tmp_path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / TOKENIZER.name).write_bytes(b"{}")
    (tmp_path / "loop").symlink_to("loop")
    for name, words in {
        "notes.txt": "nothing that PRISM writes",
        "other.json": "nothing that PRISM writes",
        "absent": "nothing that PRISM writes",
        "loop": "nothing that PRISM writes",
        TOKENIZER.name: "prism assets fetch",
    }.items():
        done = prism("verify", tmp_path / name)
        assert done.returncode == 1, name
        assert words in " ".join(done.stderr.split()), name
    (tmp_path / "empty").mkdir()
    assert prism("verify", tmp_path / "empty").returncode == 1
