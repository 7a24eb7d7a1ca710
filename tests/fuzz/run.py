"""Fuzz every kind of input for a while: python -m tests.fuzz.run [--seconds 120] [--only NAME].

Inputs are good examples with changes; hypothesis draws and shortens them. An input that makes anything
but a PrismError is shortened and kept in ``tests/fuzz/corpus/NAME``, where the tests find it.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
import traceback
import warnings
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from prism_audio.errors import PrismError, PrismWarning
from tests.fuzz.targets import TARGETS, Target

CORPUS = Path(__file__).with_name("corpus")
# Words that mean something to one of the readers.
WORDS = [
    *(b"\0", b"\xff", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"-1", b"1e999", b"NaN", b"null"),
    *(b"{", b"[" * 2000, b'"', b"\n", b",", b"\r\n", b"=", b"%00", b"..", b"\xed\xa0\x80"),
    *(b"9" * 5000, b"a" * 140_000, b"true", b"[]", b"{}", b'""', b"\x1b[31m", b"\xef\xbb\xbf"),
]  # fmt: skip


@st.composite
def changed(draw: st.DrawFn, examples: list[bytes]) -> bytes:
    """An example with a few stretches replaced, removed, doubled or cut off."""
    data = bytearray(draw(st.sampled_from(examples)))
    for _ in range(draw(st.integers(0, 5))):
        end = min(len(data), draw(st.sampled_from([16, 128, 1024, 10**7])))
        place = draw(st.integers(0, end))
        length = draw(st.integers(0, 12))
        piece = draw(st.sampled_from(WORDS) | st.binary(max_size=8))
        match draw(st.sampled_from(["replace", "insert", "remove", "double", "cut"])):
            case "replace":
                data[place : place + len(piece)] = piece
            case "insert":
                data[place:place] = piece
            case "remove":
                del data[place : place + length]
            case "double":
                data[place:place] = data[place : place + 8 * length]
            case _:
                del data[place:]
    return bytes(data)


def use(target: Target, data: bytes) -> None:
    """One input; a PrismError is an answer."""
    with suppress(PrismError), warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismWarning)
        target.use(data)


def fuzz(target: Target, seconds: float, start: int = 0) -> tuple[int, bytes | None]:
    """Try inputs until the time is over: how many, and one that fails, if there is one."""
    inputs = changed(target.examples())
    tried, last, deadline = 0, b"", time.monotonic() + seconds
    while time.monotonic() < deadline:

        @seed(start)
        @settings(
            max_examples=100,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(inputs)
        def attempt(data: bytes) -> None:
            nonlocal tried, last
            tried, last = tried + 1, data
            use(target, data)

        try:
            attempt()
        except Exception:
            traceback.print_exc()
            return tried, last  # hypothesis ends with the shortest that fails
        start += 1
    return tried, None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120, help="for all kinds together")
    parser.add_argument("--only", choices=TARGETS, help="one kind of input")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="by default the clock")
    options = parser.parse_args()
    names = [options.only] if options.only else list(TARGETS)
    failed = False
    for name in names:
        tried, data = fuzz(TARGETS[name], options.seconds / len(names), options.seed)
        print(f"{name}: {tried} inputs, {'ok' if data is None else 'FAILED'}", flush=True)
        if data is not None:
            failed = True
            kept = CORPUS / name / hashlib.sha256(data).hexdigest()[:16]
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(data)
            print(f"  kept as {kept}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
