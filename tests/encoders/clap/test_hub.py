"""Model files from a hub that is a server on this machine: fetched once, checked, then offline."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from prism_audio.encoders.clap import load
from prism_audio.encoders.clap.hub import HubFile, hub_folder, listed_files
from prism_audio.encoders.clap.load import load_clap, load_clap_int8, load_onnx
from prism_audio.errors import AssetError, InputError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
BIG, SMALL = np.random.default_rng(0).bytes(200_000), b'{"model_type": "clap"}'


class Hub(ThreadingHTTPServer):
    """The hub's two routes over a dict of files; the first ``broken`` files stop half-way."""

    daemon_threads = True

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.broken = files, 0
        self.asked: list[str] = []

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # clients that hang up are part of the tests


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path.startswith("/api/models/some/clap/revision/main"):
            return self._send(200, json.dumps(self._listing()).encode())
        prefix = f"/some/clap/resolve/{COMMIT}/"
        content = self.server.files.get(self.path.removeprefix(prefix))
        if content is None or not self.path.startswith(prefix):
            return self._send(404, b"")
        start = int((self.headers.get("Range") or "bytes=0-")[6:].rstrip("-"))
        rest = content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        if self.server.broken and len(content) > 1000:
            self.server.broken -= 1
            rest = rest[: len(rest) // 2]
        self.wfile.write(rest)
        return None

    def _listing(self) -> dict:
        siblings = []
        for path, content in self.server.files.items():
            blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            item = {"rfilename": path, "size": len(content), "blobId": blob}
            if path.endswith(".onnx"):
                item["lfs"] = {"sha256": hashlib.sha256(content).hexdigest()}
            siblings.append(item)
        return {"sha": COMMIT, "siblings": siblings}

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    server = Hub({"config.json": SMALL, "onnx/audio_model.onnx": BIG})
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    yield server
    server.shutdown()
    server.server_close()


def test_files_are_fetched_once_and_checked(hub):
    commit, files = listed_files("some/clap", "main", hub.files)
    folder = hub_folder("some/clap", commit, files)
    assert {path: (folder / path).read_bytes() for path in hub.files} == hub.files
    assert [len(file.digest) for file in files] == [40, 64]
    asked = len(hub.asked)
    hub.files = {}  # offline from here on
    assert listed_files("some/clap", "main", [file.path for file in files]) == (commit, files)
    assert hub_folder("some/clap", commit, files) == folder
    assert len(hub.asked) == asked


def test_a_broken_download_is_continued(hub):
    hub.broken = 2
    commit, files = listed_files("some/clap", "main", ["onnx/audio_model.onnx"])
    folder = hub_folder("some/clap", commit, files)
    assert (folder / "onnx/audio_model.onnx").read_bytes() == BIG
    assert not list(folder.rglob("*.part"))


@pytest.mark.parametrize("path", ["config.json", "onnx/audio_model.onnx"])
def test_a_file_that_is_another_is_never_used(hub, path):
    commit, files = listed_files("some/clap", "main", [path])
    hub.files[path] = hub.files[path][::-1]
    with pytest.raises(AssetError, match=r"has (sha256|git hash)"):
        hub_folder("some/clap", commit, files)


def test_a_damaged_file_in_the_cache_is_fetched_again(hub):
    commit, files = listed_files("some/clap", "main", ["onnx/audio_model.onnx"])
    place = hub_folder("some/clap", commit, files) / "onnx/audio_model.onnx"
    place.write_bytes(BIG[:-1] + b"x")
    hub_folder("some/clap", commit, files)
    assert place.read_bytes() == BIG


def test_a_repository_without_towers_is_named(hub):
    with pytest.raises(AssetError, match=r"no onnx/audio_model_quantized\.onnx"):
        listed_files("some/clap", "main", ["onnx/audio_model_quantized.onnx"])


def test_a_hub_out_of_reach_is_said_with_what_to_do(hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(AssetError, match=r"cannot be listed.*copy .*downloaded copy"):
        load_onnx("some/clap")
    with pytest.raises(
        AssetError, match=r"could not be fetched:\n.*clap-htsat-unfused/resolve/c28f"
    ):
        load_clap()


@pytest.mark.parametrize("source", [None, "", "no such place", "a/b/c"])
def test_a_source_that_is_none_is_refused(source):
    with pytest.raises(InputError, match="onnx:Xenova"):
        load_onnx(source)


def test_clap_means_the_pinned_files(hub, monkeypatch):
    asked = []

    def remember(repo, commit, files):
        asked.append((repo, commit, [file.path for file in files]))
        raise AssetError("asked")

    monkeypatch.setattr(load, "hub_folder", remember)
    for make in (load_clap, load_clap_int8):
        with pytest.raises(AssetError, match="asked"):
            make()
    (repo, commit, full), (_, _, small) = asked
    assert repo == "Xenova/clap-htsat-unfused"
    assert len(commit) == 40
    assert full[-1] == "onnx/text_model.onnx"
    assert small[-1] == "onnx/text_model_quantized.onnx"
    assert all(len(pin.digest) == 64 for pin in load.PINS.values())


def test_a_hub_file_knows_both_hashes(tmp_path):
    place = tmp_path / "config.json"
    place.write_bytes(SMALL)
    blob = hashlib.sha1(b"blob %d\0" % len(SMALL) + SMALL).hexdigest()
    assert HubFile("config.json", len(SMALL), blob).fault(place) is None
    assert (
        HubFile("config.json", len(SMALL), hashlib.sha256(SMALL).hexdigest()).fault(place) is None
    )
    assert "bytes" in str(HubFile("config.json", 1, blob).fault(place))
    assert "cannot be read" in str(HubFile("x", 1, blob).fault(tmp_path / "x"))
