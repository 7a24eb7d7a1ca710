"""Damage adapters, shards and sounds in thousands of ways: only named errors, little time and memory.

    python benchmarks/mutations.py [--count 10000] [--flips 1000] [--sounds 5000] [--seed 0]

Every mutation is structured: a field of the header or of the JSON within it is replaced, removed or
doubled, a length or a place is changed, or bytes are cut, added or overwritten. A third of the files
then get a new, fitting hash and a third lose their hash, so that the checks behind it are met too. A
file that is accepted is used. Bits are then flipped one at a time in files with their hash. In sounds of
twelve kinds bytes, sizes and stretches are changed, mostly near the beginning, and what remains is
decoded. Ends with exit code 1, after a list of what went wrong, if an error was none of PRISM's, a
mutation took more than 2 s, the process needed more than 200 MB, or a flipped bit was not noticed.
"""

from __future__ import annotations

import argparse
import io
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
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from prism_audio import PRISM, Adapter
from prism_audio.audio.decode import stream
from prism_audio.errors import AdapterError, AudioError, PrismError, PrismWarning, StoreError
from prism_audio.io.safe_tensors import HASH_KEY, header_hash
from prism_audio.labelling.drift import surroundings
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
    near = surroundings(E, model.labels_, 4)
    adapter = replace(model.adapter_, facts=replace(model.adapter_.facts, surroundings=near))
    return adapter.save(folder / "adapter.safetensors")


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


def make_sounds() -> list[bytes]:
    """A short sound in every kind of file that soundfile writes and many people have."""
    samples = 0.1 * np.random.default_rng(0).standard_normal(800)
    sounds = []
    for kind, coding in (
        *(("WAV", "PCM_16"), ("WAV", "FLOAT"), ("WAV", "IMA_ADPCM"), ("WAVEX", "PCM_24")),
        *(("RF64", "PCM_16"), ("W64", "PCM_16"), ("AIFF", "PCM_16"), ("AU", "PCM_16")),
        *(("CAF", "PCM_16"), ("FLAC", "PCM_16"), ("OGG", "VORBIS"), ("MP3", "MPEG_LAYER_III")),
    ):
        file = io.BytesIO()
        soundfile.write(file, samples, 16_000, coding, format=kind)
        sounds.append(file.getvalue())
    return sounds


def use_sound(path: Path) -> None:
    for block in stream(path, 16_000):
        if not np.isfinite(block).all():
            raise AssertionError("samples that are no numbers")


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


def damage(sounds: list[bytes], rng: random.Random) -> bytes:
    """A few changes to one of these sounds."""
    data = bytearray(rng.choice(sounds))
    for _ in range(rng.randrange(1, 7)):
        place = rng.randrange(min(len(data), rng.choice([48, 120, 10**6])) or 1)
        kind = rng.randrange(6)
        if kind == 0:
            data[place : place + 1] = rng.randbytes(1)
        elif kind == 1:
            size = rng.choice([0, 1, 80, 2**20, 2**31 - 1, 2**31, 2**32 - rng.randrange(1, 200)])
            data[place : place + 4] = size.to_bytes(4, rng.choice(["little", "big"]))
        elif kind == 2:
            del data[place : place + rng.randrange(1, 20)]
        elif kind == 3:
            data[place:place] = rng.randbytes(rng.randrange(1, 20))
        elif kind == 4:
            data[place:place] = data[place : place + rng.randrange(1, 2000)]
        else:
            del data[max(place, 8) :]
    return bytes(data)


def run(
    name: str,
    path: Path,
    use: Callable[[Path], None],
    error: type[PrismError],
    mutation: Callable[[random.Random], bytes],
    count: int,
    seed: int,
) -> list[str]:
    """Use a file under many mutations; what went wrong."""
    rng = random.Random(seed)
    faults: list[str] = []
    counts: Counter[str] = Counter()
    slowest = 0.0
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(count):
        path.write_bytes(mutation(rng))
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
    print(
        f"{name}: {count} mutations, {dict(counts)}, at most {slowest:.3f} s, memory grew by "
        f"{grown / 1e6:.0f} MB in all"
    )
    return faults


def flip(
    name: str,
    path: Path,
    data: bytes,
    use: Callable[[Path], None],
    error: type[PrismError],
    options: argparse.Namespace,
) -> list[str]:
    """Flip single bits behind the header of a file; what went wrong."""
    rng, missed = random.Random(options.seed), 0
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
    print(f"{name}: {options.flips} flipped bits, {missed} not noticed")
    return [f"{name}: {missed} flipped bits were not noticed"] if missed else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="mutations of each kind of file")
    parser.add_argument("--flips", type=int, default=1000, help="single bits flipped in each")
    parser.add_argument("--sounds", type=int, default=5000, help="mutations of sounds")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore", PrismWarning)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        faults: list[str] = []
        for name, path, use, error, card in (
            ("adapters", make_adapter(home), use_adapter, AdapterError, "card"),
            ("shards", make_store(home / "store"), use_store, StoreError, "prism"),
        ):
            data = path.read_bytes()
            mutation = partial(mutate, data, card)
            faults += run(name, path, use, error, mutation, options.count, options.seed)
            faults += flip(name, path, data, use, error, options)
        mutation = partial(damage, make_sounds())
        sound = home / "sound"
        faults += run(
            "sounds", sound, use_sound, AudioError, mutation, options.sounds, options.seed
        )
    for fault in faults[:50]:
        print(fault, file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
