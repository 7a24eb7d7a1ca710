"""Model files of a hub repository: fetched once into the cache, checked, and offline from then on.

What a file must be is known before it is fetched: from the pins in the source, or from the hub's own
list of a revision (size and hash of every file), which is kept beside the files. A download that
breaks off is continued; a file that fails its check is never used.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from prism_audio.encoders.assets import cache_folder
from prism_audio.encoders.fetch import download, fault, fetch, print_report
from prism_audio.errors import AssetError
from prism_audio.io.atomic import atomic_write

HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_TIMEOUT = 15.0
_LIST = "files.json"


@dataclass(frozen=True)
class HubFile:
    """A file of a repository at one commit."""

    path: str  # its place in the repository
    size: int  # bytes
    digest: str  # SHA-256 of the content; or Git's own SHA-1 of a small file, as the hub lists it

    def fault(self, place: Path) -> str | None:
        """What is wrong with the file at ``place``; None if it is this one."""
        return fault(place, self.size, self.digest)


def hub_folder(repo: str, commit: str, files: Sequence[HubFile]) -> Path:
    """The folder in the cache that holds ``files`` of a repository, each checked or fetched."""
    folder = _place(repo) / commit
    for file in files:
        target = folder / file.path
        if file.fault(target) is None:
            continue
        url = f"{_endpoint()}/{repo}/resolve/{commit}/{file.path}"
        way = partial(download, url, size=file.size)
        if failures := fetch(target, file.size, file.digest, {url: way}, print_report):
            raise AssetError(
                f"{target.name} is not on this machine and could not be fetched:\n  {failures[0]}\n"
                "Run the same command again to continue; or run it on a machine with network and copy "
                f"{cache_folder()} here; or give the folder of a downloaded copy as the encoder."
            )
    return folder


def listed_files(repo: str, revision: str, wanted: Iterable[str]) -> tuple[str, list[HubFile]]:
    """The commit behind a revision of a repository, and what it lists of the ``wanted`` files.

    The list is asked for once and kept, so a name always means the same commit on one machine.
    """
    kept = _place(repo) / f"{revision.replace('/', '--')}-{_LIST}"
    if not kept.is_file():
        commit, files = _ask(repo, revision)
        kept.parent.mkdir(parents=True, exist_ok=True)
        document = {"commit": commit, "files": [asdict(file) for file in files]}
        with atomic_write(kept) as file:
            file.write(json.dumps(document).encode())
    try:
        document = json.loads(kept.read_text(encoding="utf-8"))
        files = [HubFile(**entry) for entry in document["files"]]
        by_path, commit = {entry.path: entry for entry in files}, str(document["commit"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AssetError(f"{kept} is damaged ({error}); delete it and run again") from error
    wanted = list(wanted)
    if missing := [path for path in wanted if path not in by_path]:
        raise AssetError(
            f"{repo!r} on the hub has no {', '.join(missing)}: it is no ONNX export of CLAP in this "
            "precision. Known exports: Xenova/clap-htsat-unfused, Xenova/larger_clap_general."
        )
    return commit, [by_path[path] for path in wanted]


def _place(repo: str) -> Path:
    return cache_folder() / "hub" / repo.replace("/", "--")


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def _ask(repo: str, revision: str) -> tuple[str, list[HubFile]]:
    url = f"{_endpoint()}/api/models/{repo}/revision/{revision}?blobs=true"
    try:
        with urlopen(url, timeout=_TIMEOUT) as answer:
            document: Any = json.load(answer)
        return str(document["sha"]), [
            HubFile(
                item["rfilename"],
                item["size"],
                (item.get("lfs") or {}).get("sha256", item["blobId"]),
            )
            for item in document["siblings"]
        ]
    except (URLError, OSError, ValueError, KeyError, TypeError) as error:
        reason = str(getattr(error, "reason", None) or error)
        raise AssetError(
            f"the files of {repo!r} cannot be listed: {url}: {reason}. Check the name; or, on a "
            f"machine with network, run the same command and copy {cache_folder()} here; or give "
            "the folder of a downloaded copy."
        ) from error
