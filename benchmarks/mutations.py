"""Damage adapters and shards in thousands of ways: only named errors, little time and memory.

    python benchmarks/mutations.py [--count 10000] [--flips 1000] [--seed 0]

Every mutation is structured: a field of the header or of the JSON within it is replaced, removed or
doubled, a length or a place is changed, or bytes are cut, added or overwritten. A third of the files
then get a new, fitting hash and a third lose their hash, so that the checks behind it are met too. A
file that is accepted is used. Bits are then flipped one at a time in files with their hash. Ends with
exit code 1, after a list of what went wrong, if an error was none of PRISM's, a mutation took more than
2 s, the process needed more than 200 MB, or a flipped bit was not noticed.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from prism_audio import PRISM, Adapter
from prism_audio.errors import AdapterError, PrismError, PrismWarning, StoreError
from prism_audio.io.safe_tensors import HASH_KEY, header_hash
from prism_audio.store.rows import open_table
from prism_audio.store.shards import Entry, write_shard
from prism_audio.store.store import SETTINGS_FILE, Store, StoreSettings

MOST_SECONDS, MOST_BYTES = 2.0, 200e6
ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e308, float("nan"),
    float("inf"), "", "x", "\ud800", "\x1b[31m", "\x00", "F64", "I64", "BF16", "é" * 1000, [], {},
    [[]], [0], [-1, 8], [2**62, 2**62], {"dtype": "F32"}, [None] * 100, "[" * 2000, "[" * 20 + "]" * 20,
]  # fmt: skip


def make_adapter(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    E, T = rng.standard_normal((300, 16)), rng.standard_normal((4, 16))
    model = PRISM().fit(E.astype(np.float32), prototypes=T.astype(np.float32), labels=list("abcd"))
    return model.adapter_.save(folder / "adapter.safetensors")


def make_store(folder: Path) -> Path:
    settings = StoreSettings("tiny", "print", 16, 8000, 1.0, 1.0, "clip")
    folder.mkdir()
    (folder / SETTINGS_FILE).write_text(json.dumps(asdict(settings)))
    rows = np.random.default_rng(0).standard_normal((12, 16)).astype(np.float32)
    entries = [Entry(f"{n}.wav", 100, 200, "ab" * 32, 3) for n in range(4)]
    path = folder / "shard-00000001.safetensors"
    write_shard(path, asdict(settings), entries, rows, np.zeros(12), np.ones(12))
    return path


def use_adapter(path: Path) -> None:
    adapter = Adapter.load(path)
    adapter.predict(np.ones((2, adapter.dim), np.float32))
    str(adapter), adapter.markdown(), repr(adapter)


def use_store(path: Path) -> None:
    store = Store.open(path.parent)
    store.embeddings(), store.paths, store.start, store.end, store.failures
    open_table(path.parent).read(0, 1)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where values lie in a document."""
    children = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, child in children:
        found.append((*path, key))
        if isinstance(child, dict | list):
            found += places(child, (*path, key))
    return found


def change(document: Any, rng: random.Random) -> None:
    """Replace, remove, double or exchange one value somewhere in a document."""
    options = places(document)
    if not options:
        return
    path = rng.choice(options)
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    kind = rng.random()
    if kind < 0.6:
        parent[path[-1]] = deepcopy(rng.choice(ODD))
    elif kind < 0.75:
        del parent[path[-1]]
    elif isinstance(parent, dict):
        parent[rng.choice(["x", "W", "embeddings", "__metadata__", "facts"])] = deepcopy(
            parent[path[-1]]
        )
    else:
        parent.insert(rng.randrange(len(parent) + 1), deepcopy(rng.choice(ODD)))


def mutate(data: bytes, card: str, rng: random.Random) -> bytes:
    """One structured mutation of a safetensors file whose metadata has JSON under ``card``."""
    length = int.from_bytes(data[:8], "little")
    header, payload = json.loads(data[8 : 8 + length]), data[8 + length :]
    kind = rng.random()
    if kind < 0.25:
        change(header, rng)
    elif kind < 0.6:
        inner = json.loads(header["__metadata__"][card])
        for _ in range(rng.randrange(1, 3)):
            change(inner, rng)
        header["__metadata__"][card] = json.dumps(inner)
    elif kind < 0.75:
        noise = bytearray(payload)
        start = rng.randrange(len(noise))
        noise[start : start + rng.randrange(1, 65)] = rng.randbytes(rng.randrange(0, 65))
        payload = bytes(noise)
    elif kind < 0.85:
        cut = rng.randrange(len(data))
        return data[:cut] + rng.choice([b"", rng.randbytes(9), data[cut + 7 :], bytes(1000)])
    else:
        odd = rng.choice([0, 1, length - 1, length + 1, 2**20, 2**27, 2**40, 2**63, 2**64 - 1])
        return odd.to_bytes(8, "little") + data[8:]
    metadata = header.get("__metadata__")
    fate = rng.random()
    if isinstance(metadata, dict) and fate < 0.67:
        metadata.pop(HASH_KEY, None)
        if fate < 0.33:
            state = header_hash(header)
            state.update(payload)
            metadata[HASH_KEY] = state.hexdigest()
    text = json.dumps(header).encode()
    if rng.random() < 0.02:
        text = text.replace(b'"shape"', rng.choice([b'"shape": 1, "shape"', b'"\xff"']), 1)
    return len(text).to_bytes(8, "little") + text + payload


def run(
    name: str,
    path: Path,
    use: Callable[[Path], None],
    error: type[PrismError],
    card: str,
    options: argparse.Namespace,
) -> list[str]:
    """All mutations and flips of one file; what went wrong."""
    rng, data = random.Random(options.seed), path.read_bytes()
    faults: list[str] = []
    counts: Counter[str] = Counter()
    slowest = 0.0
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(options.count):
        path.write_bytes(mutate(data, card, rng))
        began = time.perf_counter()
        try:
            use(path)
            counts["accepted"] += 1
        except error:
            counts["refused"] += 1
        except PrismError as other:
            counts["refused later"] += 1
            if len(faults) < 20 and "load" in traceback.format_exc():
                faults.append(f"{name} {number}: {type(other).__name__}: {other}")
        except Exception as other:
            counts["something else"] += 1
            last = traceback.extract_tb(other.__traceback__)[-1]
            faults.append(f"{name} {number}: {other!r} at {last.filename}:{last.lineno}"[:300])
        slowest = max(slowest, time.perf_counter() - began)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base)
    if slowest > MOST_SECONDS or grown > MOST_BYTES:
        faults.append(f"{name}: {slowest:.1f} s and {grown / 1e6:.0f} MB at most")
    missed = 0
    payload_bits = 8 * (8 + int.from_bytes(data[:8], "little")), 8 * len(data)
    for place in (rng.randrange(*payload_bits) for _ in range(options.flips)):
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            use(path)
            missed += 1
        except error:
            pass
    if missed:
        faults.append(f"{name}: {missed} flipped bits were not noticed")
    print(
        f"{name}: {options.count} mutations, {dict(counts)}, at most {slowest:.3f} s, memory grew by "
        f"{grown / 1e6:.0f} MB in all; {options.flips} flipped bits, {missed} not noticed"
    )
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="mutations of each kind of file")
    parser.add_argument("--flips", type=int, default=1000, help="single bits flipped in each")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore", PrismWarning)
    with tempfile.TemporaryDirectory() as folder:
        adapter, shard = make_adapter(Path(folder)), make_store(Path(folder) / "store")
        faults = run("adapters", adapter, use_adapter, AdapterError, "card", options)
        faults += run("shards", shard, use_store, StoreError, "prism", options)
    for fault in faults[:50]:
        print(fault, file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
