from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

import numpy as np
import psutil
import pytest

from prism_audio.store.store import Store
from tests.helpers.tiny_datasets import recordings

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _tiny_is_installed(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Make the tiny encoder known to other processes as an installed package would."""
    site = tmp_path_factory.mktemp("site")
    about = site / "tiny-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[prism_audio.encoders]\ntiny = tests.helpers.tiny_datasets:TinyEncoder\n"
    )
    search = [str(ROOT), str(site), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, search)))


def start(*arguments: object, pause: float = 0.0) -> subprocess.Popen[str]:
    """``prism embed`` in a process of its own; ``pause`` slows every batch of the encoder."""
    return subprocess.Popen(
        [sys.executable, "-c", "from prism_audio.cli import main; main()", "embed"]
        + ["--encoder", "tiny"]
        + [str(argument) for argument in arguments],
        env={**os.environ, "TINY_PAUSE": str(pause), "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def embed(*arguments: object) -> subprocess.CompletedProcess[str]:
    process = start(*arguments)
    out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def content(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.iterdir() if path.name[0] != "."}


def test_folder_to_store_and_again(tmp_path: Path) -> None:
    recordings(tmp_path / "sound", 5)
    first = embed(tmp_path / "sound", "-o", tmp_path / "out", "--json")
    assert (first.returncode, first.stderr) == (0, "")
    told = json.loads(first.stdout)
    assert told["files"] == {"found": 5, "embedded": 5, "skipped": 0, "failed": 0, "kept": 0}
    assert told["settings"]["encoder"] == "tiny"
    assert told["rows"] == len(Store.open(tmp_path / "out")) == 5
    assert told["audio_seconds"] == pytest.approx(Store.open(tmp_path / "out").end.sum(), abs=1e-3)
    second = embed(tmp_path / "sound", "-o", tmp_path / "out")
    assert second.returncode == 0
    assert "5 done before" in second.stdout


def test_bad_file_is_listed_and_the_rest_is_done(tmp_path: Path) -> None:
    recordings(tmp_path / "sound", 5)
    (tmp_path / "sound" / "a" / "bad [red].wav").write_text("no sound")
    done = embed(tmp_path / "sound", "-o", tmp_path / "out", "--json")
    assert done.returncode == 1
    assert "bad [red].wav" in done.stderr
    (failure,) = json.loads(done.stdout)["failures"]
    assert failure["file"].endswith("bad [red].wav")
    assert failure["reason"]
    assert len(Store.open(tmp_path / "out")) == 5


def test_odd_names_and_links_are_listed_as_they_are(tmp_path: Path) -> None:
    recordings(tmp_path / "sound", 2)
    (tmp_path / "sound" / "loop.wav").symlink_to(tmp_path / "sound" / "loop.wav")
    (tmp_path / "sound" / "red\x1b[31m\r.wav").write_text("no sound")
    done = embed(tmp_path / "sound", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "\x1b" not in done.stderr
    assert "red\\x1b[31m\\r.wav" in done.stderr
    assert "loop.wav" in done.stderr
    assert len(Store.open(tmp_path / "out")) == 2
    refused = embed(tmp_path / "sound" / "red\x1b[31m\r.wav", "-o", tmp_path / "other")
    assert (refused.returncode, "\x1b[31m" in refused.stderr) == (2, False)


def test_a_damaged_shard_is_replaced(tmp_path: Path) -> None:
    recordings(tmp_path / "sound", 6)
    arguments = (tmp_path / "sound", "-o", tmp_path / "out", "--shard", 2)
    assert embed(*arguments).returncode == 0
    before = content(tmp_path / "out")
    shard = tmp_path / "out" / "shard-00000002.safetensors"
    data = bytearray(shard.read_bytes())
    data[-5] ^= 1
    shard.write_bytes(data)
    done = embed(*arguments)
    assert done.returncode == 0
    assert "shard-00000002.safetensors was damaged" in done.stderr
    assert len(Store.open(tmp_path / "out")) == 6
    assert before["shard-00000002.safetensors"][-64:] in (
        file[-64:] for file in content(tmp_path / "out").values()
    )


def test_windows_option_makes_rows_of_windows(tmp_path: Path) -> None:
    recordings(tmp_path / "sound", 5)
    assert embed(tmp_path / "sound", "-o", tmp_path / "out", "--windows").returncode == 0
    store = Store.open(tmp_path / "out")
    assert store.settings.row == "window"
    assert len(store) > 5


def test_wrong_usage_is_told_in_a_line(refused: Callable[..., str], tmp_path: Path) -> None:
    recordings(tmp_path / "sound", 1)
    (tmp_path / "empty").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").touch()
    for arguments in (
        (tmp_path / "absent", "-o", tmp_path / "out"),
        (tmp_path / "empty", "-o", tmp_path / "out"),
        (tmp_path / "sound", "-o", tmp_path / "mine"),
        (tmp_path / "sound", "-o", tmp_path / "out", "--workers", 0),
    ):
        assert refused("embed", "--encoder", "bands", *arguments)
    assert not (tmp_path / "out").exists()


def wait_for_shards(process: subprocess.Popen[str], store: Path, count: int) -> None:
    while len(list(store.glob("shard-*"))) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_run_leaves_a_whole_store(tmp_path: Path, number: int, code: int) -> None:
    recordings(tmp_path / "sound", 60)
    arguments = (tmp_path / "sound", "-o", tmp_path / "out", "--shard", 4)
    process = start(*arguments, pause=0.1)
    wait_for_shards(process, tmp_path / "out", 2)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "")
    assert "run the same command again" in err
    assert 8 <= len(Store.open(tmp_path / "out")) < 60
    assert not list((tmp_path / "out").glob(".*.tmp"))
    assert embed(*arguments).returncode == 0
    embed(tmp_path / "sound", "-o", tmp_path / "undisturbed", "--shard", 4)
    assert content(tmp_path / "out") == content(tmp_path / "undisturbed")


def kill_again_and_again(folder: Path, files: int, kills: int, shard: int, pause: float) -> None:
    """Kill ``prism embed`` at random moments, then compare with a run that was left alone."""
    recordings(folder / "sound", files)
    (folder / "sound" / "a" / "0002x.wav").write_text("no sound")
    options = ("--shard", shard)
    out = folder / "out"

    began = time.monotonic()
    alone = start(folder / "sound", "-o", folder / "undisturbed", *options, pause=pause)
    wait_for_shards(alone, folder / "undisturbed", 1)
    to_first = time.monotonic() - began
    alone.communicate(timeout=600)
    whole = time.monotonic() - began
    expected = content(folder / "undisturbed")

    moments = random.Random(5)
    killed = 0
    while killed < kills:
        process = start(folder / "sound", "-o", out, *options, pause=pause)
        # Some die before their first shard; on the average they get through their share.
        time.sleep(moments.uniform(0.8 * to_first, to_first + 1.5 * (whole - to_first) / kills))
        process.kill()
        process.communicate(timeout=60)
        if process.returncode != -signal.SIGKILL:  # it was faster: the next begins anew
            assert content(out) == expected
            shutil.rmtree(out)
            continue
        killed += 1
        if (out / "store.json").exists():
            left = Store.open(out)
            assert len(left) == len(set(left.paths))

    assert embed(folder / "sound", "-o", out, *options).returncode == 1
    assert content(out) == expected
    assert len(Store.open(out)) == files
    np.testing.assert_array_equal(
        Store.open(out).embeddings(), Store.open(folder / "undisturbed").embeddings()
    )


def listeners(processes: list[psutil.Process]) -> set[str]:
    """Addresses, other than loopback ones, at which any of the processes listens."""
    addresses = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
            addresses |= {
                connection.laddr.ip.removeprefix("::ffff:")
                for connection in process.net_connections("inet")
                if connection.status == psutil.CONN_LISTEN
            }
    return {address for address in addresses if not ip_address(address).is_loopback}


def command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def kill_on_ray(folder: Path, files: int, kills: int) -> None:
    """Kill ``prism embed --engine ray`` again and again; nothing stays behind, and it resumes."""
    recordings(folder / "sound", files)
    out = folder / "out"
    arguments = (folder / "sound", "-o", out, "--shard", 2, "--engine", "ray")
    for number in range(1, kills + 1):
        before = len(list(out.glob("shard-*")))
        process = start(*arguments, pause=0.3)
        wait_for_shards(process, out, before + 1)
        helpers = psutil.Process(process.pid).children(recursive=True)
        commands = " ".join(command_line(helper) for helper in helpers)
        assert not listeners([psutil.Process(process.pid), *helpers])
        assert "dashboard/dashboard.py" not in commands
        folders = {Path(name) for name in re.findall(r"/\S*?/prism-ray-\w+", commands)}
        assert folders
        process.kill()
        process.communicate(timeout=60)
        _, alive = psutil.wait_procs(helpers, timeout=60)
        assert not alive
        assert not any(place.exists() for place in folders)
        assert len(Store.open(out)) >= 2 * number
    last = embed(*arguments, "--json")
    assert last.returncode == 0, last.stderr
    assert json.loads(last.stdout)["files"]["skipped"] >= 2 * kills
    embed(folder / "sound", "-o", folder / "undisturbed", "--shard", 2)
    assert content(out) == content(folder / "undisturbed")


@pytest.mark.slow
def test_killed_on_ray(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    kill_on_ray(tmp_path, files=8, kills=1)


@pytest.mark.slow
def test_killed_on_ray_ten_times(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    kill_on_ray(tmp_path, files=60, kills=10)


def test_four_kills(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, files=40, kills=4, shard=4, pause=0.05)


@pytest.mark.slow
def test_twenty_kills(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, files=500, kills=20, shard=8, pause=0.3)
