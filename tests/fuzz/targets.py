"""What is fuzzed: for every kind of input good examples, and a function that takes any bytes.

A function returns, or raises a PrismError. Anything else is a defect.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import quote

from benchmarks import mutations
from prism_audio.bench.experiment.reader import read_experiment
from prism_audio.encoders.prompts import read_labels
from prism_audio.errors import PrismError
from prism_audio.evaluation.results import read_records
from tests.helpers.bands import BandEncoder, tone
from tests.helpers.service import wav

ROOT = Path(__file__).parents[2]
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class Target:
    """A kind of input.

    Attributes
    ----------
    examples : callable
        Gives good inputs, from which others are made.
    use : callable
        Takes one input.
    """

    examples: Callable[[], list[bytes]]
    use: Callable[[bytes], None]


@cache
def folder() -> Path:
    """Where inputs are written; gone at the end."""
    import atexit

    path = Path(mkdtemp(prefix="prism-fuzz-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@cache
def _adapter() -> bytes:
    return mutations.make_adapter(folder()).read_bytes()


@cache
def _shard() -> Path:
    return mutations.make_store(folder() / "store")


@cache
def _first_shard() -> bytes:
    return _shard().read_bytes()


def use_adapter(data: bytes) -> None:
    path = folder() / "fuzzed.safetensors"
    path.write_bytes(data)
    mutations.use_adapter(path)


def use_shard(data: bytes) -> None:
    _first_shard()
    _shard().write_bytes(data)
    mutations.use_store(_shard())


def use_sound(data: bytes) -> None:
    path = folder() / "sound"
    path.write_bytes(data)
    mutations.use_sound(path)


def use_labels(data: bytes) -> None:
    for suffix in (".txt", ".csv"):
        path = folder() / f"labels{suffix}"
        path.write_bytes(data)
        with suppress(PrismError):
            assert all(label.strip() == label for label in read_labels(path))


def use_table(data: bytes) -> None:
    for suffix in (".csv", ".json"):
        path = folder() / f"table{suffix}"
        path.write_bytes(data)
        with suppress(PrismError):
            read_records(path)


def use_toml(data: bytes) -> None:
    path = folder() / "experiment.toml"
    path.write_bytes(data)
    read_experiment(path)


@cache
def _client():
    import atexit

    from starlette.testclient import TestClient

    from prism_audio.serve.app import create_app
    from prism_audio.serve.settings import ServiceSettings

    settings = ServiceSettings(encoder=BandEncoder(), store=folder() / "sites", labels="a, b")
    client = TestClient(create_app(settings), base_url="http://localhost")
    client.__enter__()
    atexit.register(client.__exit__, None, None, None)
    return client


def use_http(data: bytes) -> None:
    """A request in three parts: method and path, content type, body."""
    first, _, rest = data.partition(b"\n")
    kind, _, body = rest.partition(b"\n")
    method, _, path = first.decode("latin-1").partition(" ")
    if method not in METHODS:
        method = METHODS[len(method) % len(METHODS)]
    # A client sends no other characters than these.
    address = "/" + quote(path.lstrip("/"), safe="/?&=%:.,+-_~")[:8000]
    header = "".join(chr(x) for x in kind if 32 < x < 127)
    headers = {"content-type": header} if header else {}
    answer = _client().request(method, address, content=body, headers=headers)
    assert answer.status_code != 500, answer.text


def _requests() -> list[bytes]:
    boundary = b"multipart/form-data;boundary=b"
    part = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.wav"\r\n\r\n'
    upload = part + wav(tone(2, 0.2, 0)) + b"\r\n--b--\r\n"
    return [
        b"POST v1/classify?top=2\n" + boundary + b"\n" + upload,
        b"POST v1/classify?labels=dog,cat&threshold=0.5\naudio/wav\n" + wav(tone(2, 0.2, 0)),
        b"POST v1/embed\n" + boundary + b"\n" + upload,
        b'PUT v1/sites/park?labels=a,b\napplication/json\n{"labels": ["a", "b"]}',
        b'PATCH v1/sites/park\napplication/json\n{"name": "square"}',
        b"GET v1/sites/park/history\n\n",
        b"GET v1/jobs/abc\n\n",
        b"DELETE v1/sites/park\n\n",
        b"PUT v1/sites/other\napplication/octet-stream\n" + _adapter(),
    ]


TARGETS = {
    "adapter": Target(lambda: [_adapter()], use_adapter),
    "shard": Target(lambda: [_first_shard()], use_shard),
    "sound": Target(mutations.make_sounds, use_sound),
    "labels": Target(
        lambda: [b"dog bark\n# rest\nsiren\n", b'label,n\n"dog, bark",1\nsiren,2\n'], use_labels
    ),
    "table": Target(
        lambda: [b"file,label\na.wav,siren\n", b'{"rows": [{"file": "a"}]}'], use_table
    ),
    "toml": Target(
        lambda: [path.read_bytes() for path in sorted((ROOT / "experiments").glob("*.toml"))],
        use_toml,
    ),
    "http": Target(_requests, use_http),
}
