"""``prism verify``: whether files are as PRISM wrote them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from prism_audio.cli import options
from prism_audio.cli.console import end, note, printable, say_json
from prism_audio.cli.text_tables import show_table
from prism_audio.errors import PrismError, PrismWarning, StoreError

EXPORTS = (".onnx", ".json", ".npz", ".h")
# A larger file is none of the exports; they are read whole.
MAX_EXPORT = 2**31


class Finding(NamedTuple):
    """How one file or folder stands."""

    # What was checked, and what it is: adapter, store, shard, export, tensors, asset.
    path: str
    kind: str
    state: str  # ``ok``, ``no hash`` (an older version wrote it; its form is right) or ``damaged``
    detail: str = ""  # what is wrong, and what to do


def command(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Adapters, stores, exports, model files, or folders of such."),
    ],
    as_json: options.Json = False,
) -> None:
    """Check by their hashes that files are as PRISM wrote them.

    Adapters, stores of embeddings and exports carry a SHA-256 of their content;
    model files are compared with the pinned one. Files of older versions have no
    hash: only their form is checked, and a note says so.
    Exit code 1: something is damaged, or is nothing that PRISM writes.

    Example: [bold]prism verify site.safetensors embeddings/[/bold]
    """
    findings = [finding for path in paths for finding in check(path)]
    findings = [finding._replace(path=printable(finding.path)) for finding in findings]
    if as_json:
        say_json([finding._asdict() for finding in findings])
    else:
        show_table(
            ("path", "kind", "state"),
            [(finding.path, finding.kind, finding.state) for finding in findings],
            most=100,
            rest="--json prints all",
        )
    if count := sum(finding.state == "no hash" for finding in findings):
        note(f"note: {count} without a hash: an older version wrote it; damage is not noticed")
    end([(x.path, x.detail) for x in findings if x.state not in ("ok", "no hash")])


def check(path: Path) -> Iterator[Finding]:
    """What is found at ``path``: one file, one store, or all that a folder holds."""
    if not path.is_dir():
        yield check_file(path) or Finding(
            str(path), "", "unknown", "it is nothing that PRISM writes, or cannot be read"
        )
        return
    if (path / "store.json").is_file():
        yield from check_store(path)
        return
    empty = True
    for folder, folders, files in os.walk(path):
        inner = sorted(Path(folder, name) for name in folders)
        stores = [child for child in inner if (child / "store.json").is_file()]
        folders[:] = sorted({child.name for child in inner} - {child.name for child in stores})
        for store in stores:
            empty = False
            yield from check_store(store)
        for name in sorted(files):
            if finding := check_file(Path(folder, name)):
                empty = False
                yield finding
    if empty:
        yield Finding(str(path), "folder", "unknown", "it holds nothing that PRISM writes")


def check_store(folder: Path) -> Iterator[Finding]:
    """The settings of a store, and every shard that is damaged or has no hash."""
    from prism_audio.store.store import read_own_shard, read_settings, shard_files

    try:
        settings = read_settings(folder)
        files = shard_files(folder)
    except (StoreError, OSError) as error:
        yield Finding(str(folder), "store", "damaged", str(error))
        return
    yield Finding(str(folder), "store", "ok")
    for file in files:
        try:
            shard = read_own_shard(file, settings)
            yield Finding(str(file), "shard", "ok" if shard.has_hash else "no hash")
        except StoreError as error:
            yield Finding(str(file), "shard", "damaged", str(error))


def check_file(path: Path) -> Finding | None:
    """How one file stands; None for a file that PRISM does not write."""
    from prism_audio.encoders.assets import ASSETS
    from prism_audio.encoders.fetch import fault

    if not path.is_file():
        return None
    for asset in ASSETS:
        if path.name == asset.name:
            wrong = fault(path, asset.size, asset.sha256)
            remedy = f"it {wrong}; delete it, then run 'prism assets fetch'" if wrong else ""
            return Finding(str(path), "asset", "damaged" if wrong else "ok", remedy)
    if path.suffix == ".safetensors":
        return _check_tensors(path)
    return _check_export(path) if path.suffix in EXPORTS else None


def _check_tensors(path: Path) -> Finding | None:
    """An adapter, a shard or a tensor file of an export, by its metadata."""
    from prism_audio.io.safe_tensors import HASH_KEY, TensorFileError, read_header
    from prism_audio.model.adapter import Adapter
    from prism_audio.model.adapter_file import FORMAT
    from prism_audio.store.shards import read_shard

    kind = "tensors"
    try:
        metadata = read_header(path).metadata
        if metadata.get("format") == FORMAT:
            kind = "adapter"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrismWarning)
                Adapter.load(path)
        elif "prism" in metadata:
            kind = "shard"
            read_shard(path)
        elif HASH_KEY not in metadata:
            return None
        elif not read_header(path).is_intact():
            raise TensorFileError("its content does not fit its hash; write it again")
    except (PrismError, TensorFileError) as error:
        return Finding(str(path), kind, "damaged", str(error))
    except OSError:
        return None
    return Finding(str(path), kind, "ok" if HASH_KEY in metadata else "no hash")


def _check_export(path: Path) -> Finding | None:
    """A head for other programs; None for a file that is none."""
    from prism_audio.export.form import is_head, is_whole
    from prism_audio.io.seal import is_intact

    try:
        if path.stat().st_size > MAX_EXPORT:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    intact = is_intact(data)
    if intact is None and not is_head(data):
        return None
    if intact is False or not is_whole(data, path.suffix):
        detail = "its content does not fit its hash, or is cut off; run 'prism export' again"
        return Finding(str(path), "export", "damaged", detail)
    return Finding(str(path), "export", "ok" if intact else "no hash")
