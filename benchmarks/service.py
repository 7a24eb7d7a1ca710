"""The service under load: many clients, a live stream, bad requests and attackers beside them.

    python benchmarks/service.py [--clients 64] [--seconds 60] [--clips 120] [--sound 2] [--attack]

Starts ``prism serve`` with the embedded encoder in a process of its own and two sites with labels of
their own, and lets clients ask without a pause over loopback. Every recording is new to the service.

First the *CPU a clip*: the clients send single recordings and nothing else, after a warm-up, and
``prism classify`` labels recordings of the same kind with the same adapter (of many less of few, so that
its start does not count). Both take turns, twice, and both count the CPU time of all their processes.

Then the load. Of ten requests seven are a recording, one is three recordings, one is a file that is no
recording, and one is a form that breaks off. After a third of the time one site is calibrated anew. A
live stream is sent in real time; *lag* is from the moment a window was sent to its answer. *Stall* is
the longest time in which no client got an answer to a classification. ``--attack`` adds 500 half-sent
requests, bodies over the limit, malformed forms and hostile adapters. Every answer is checked to be of
the site that was asked. Prints a table and JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import soundfile

from prism_audio.io.runtime import usable_cores

RATE = 16_000
SITES = {"left": "white noise, sine wave, clicking", "right": "rain, whistle, knocking"}
EDGE = "cut-here-cut-here"
PRISM = (sys.executable, "-c", "from prism_audio.cli import main; main()")
# Samples that make every request a new sound: four bytes that no other recording has.
FRESH = b"\x01\x7f\x01\x7f"


def recording(kind: int, seed: int, seconds: float) -> bytes:
    """Hiss, a tone or clicks, in noise; it ends in the bytes that are replaced."""
    rng = np.random.default_rng(1000 * kind + seed)
    t = np.arange(round(seconds * RATE)) / RATE
    clicks = np.zeros(len(t))
    clicks[:: int(rng.uniform(1500, 4000))] = 0.9
    tone = 0.3 * np.sin(2 * np.pi * rng.uniform(300, 1500) * t)
    sound = (0.1 * rng.standard_normal(len(t)), tone, clicks)[kind]
    file = io.BytesIO()
    soundfile.write(file, sound + 0.01 * rng.standard_normal(len(t)), RATE, format="WAV")
    return file.getvalue()[:-4] + FRESH


@dataclass
class Record:
    """What happened: answers as (when, seconds it took, status), and what should not have."""

    answers: list[tuple[float, float, int]] = field(default_factory=list)
    labelled: list[tuple[float, float]] = field(default_factory=list)
    unanswered: Counter[str] = field(default_factory=Counter)
    clips: int = 0
    mixed: int = 0

    def longest_stall(self, begin: float, end: float) -> float:
        times = [begin, *(when for when, _ in self.labelled if begin < when < end), end]
        return max(np.diff(sorted(times)))

    def percentiles(self) -> list[float]:
        took = [seconds for _, seconds in self.labelled]
        return [round(1000 * float(np.percentile(took, p))) for p in (50, 95, 99)]


class Connection:
    """A client as light as can be: it shares the cores with the service that it measures.

    It has an address of its own, by its number, because the service limits what comes from one.
    """

    def __init__(self, base: str, number: int = 0) -> None:
        host, port = base.removeprefix("http://").strip("/").split(":")
        self.address, self.own = (host, int(port)), (f"127.0.1.{1 + number}", 0)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Status and body of the answer; the connection is kept."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(
                *self.address, limit=2**24, local_addr=self.own
            )
        reader, writer = self._streams
        try:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            size = int(head.partition("content-length: ")[2].partition("\r")[0])
            body = await reader.readexactly(size)
        except BaseException:
            self._streams = None
            raise
        if "connection: close" in head:
            writer.close()
            self._streams = None
        return int(head.split(" ", 2)[1]), body


def form(parts: list[bytes], ended: bool = True) -> bytes:
    """Recordings as the body of a request."""
    head = f'--{EDGE}\r\nContent-Disposition: form-data; name="files"; filename="%d.wav"\r\n\r\n'
    body = b"".join((head % i).encode() + part + b"\r\n" for i, part in enumerate(parts))
    return body + f"--{EDGE}--\r\n".encode() if ended else body


def message(
    path: str,
    body: bytes,
    method: str = "POST",
    kind: str = f"multipart/form-data; boundary={EDGE}",
) -> bytes:
    """A request, ready to be sent."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        f"Content-Type: {kind}\r\n\r\n"
    )
    return head.encode() + body


def requests(site: str, sounds: list[bytes]) -> list[tuple[bytes, int]]:
    """Ten requests for every three recordings, in the mixture that is told above; and their clips."""
    url = f"/v1/classify?site={site}"
    made = []
    for i in range(0, len(sounds), 3):
        three = sounds[i : i + 3]
        made += [(message(url, form([three[k % 3]])), 1) for k in range(7)]
        made += [(message(url, form(three)), 3), (message(url, form([b"no sound" * 99])), 0)]
        made += [(message(url, form(three[:1], ended=False)), 0)]
    return made


async def client(
    base: str,
    number: int,
    known: dict[str, list[tuple[bytes, int]]],
    fresh: count[int],
    until: float,
    log: Record,
) -> None:
    """Ask without a pause."""
    rng = np.random.default_rng(number)
    connection = Connection(base, 1 + number)
    while time.monotonic() < until:
        site = ("left", "right")[rng.integers(2)]
        request, clips = known[site][rng.integers(len(known[site]))]
        while FRESH in request:
            request = request.replace(FRESH, struct.pack("<I", next(fresh)), 1)
        began = time.monotonic()
        try:
            status, body = await connection.ask(request)
        except (OSError, EOFError) as error:
            log.unanswered[type(error).__name__] += 1
            continue
        now = time.monotonic()
        log.answers.append((now, now - began, status))
        if status == 200:
            log.labelled.append((now, now - began))
            log.clips += clips
            answer = json.loads(body)
            log.mixed += answer["site"] != site or answer["labels"] != SITES[site].split(", ")


async def calibrate(base: str, request: bytes) -> tuple[float, float]:
    """Calibrate a site to the end; when it was asked for and when it was done."""
    connection = Connection(base)
    begin = time.monotonic()
    status, body = await connection.ask(request)
    if status != 202:
        raise SystemExit(f"the calibration was refused: {body!r}")
    follow = f"GET {json.loads(body)['url']} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    while True:
        job = json.loads((await connection.ask(follow))[1])
        if job["state"] == "done":
            return begin, time.monotonic()
        if job["state"] == "failed":
            raise SystemExit(f"the calibration failed: {job['error']}")
        await asyncio.sleep(0.1)


async def live(base: str, seconds: float) -> list[float]:
    """Send a stream in real time, and measure how long after its sound each window is answered."""
    import websockets

    url = base.replace("http", "ws").rstrip("/") + f"/v1/live?rate={RATE}&format=s16le&site=left"
    block = np.random.default_rng(0).normal(0, 2000, RATE // 20).astype("<i2").tobytes()
    sent: list[tuple[float, float]] = []  # seconds of sound, and when the last of them was sent
    lags: list[float] = []
    async with websockets.connect(url) as socket:
        await socket.recv()

        async def hear() -> None:
            async for text in socket:
                answer, now = json.loads(text), time.monotonic()
                if answer["type"] == "window":
                    when = next(when for end, when in sent if end >= answer["end"] - 1e-6)
                    lags.append(now - when)

        hearing = asyncio.create_task(hear())
        begin = time.monotonic()
        for i in range(1, round(seconds * 20) + 1):
            await asyncio.sleep(max(0.0, begin + i / 20 - time.monotonic()))
            sent.append((i / 20, time.monotonic()))
            await socket.send(block)
        await socket.send("end")
        await hearing
    return lags


async def attack(base: str, until: float) -> dict[str, int]:
    """500 half-sent requests, and oversized, malformed and hostile ones; what became of them."""
    outcome: Counter[str] = Counter()
    connection = Connection(base, 200)
    half = message("/v1/classify", bytes(10_000))[:150]
    for i in range(500):
        try:
            _, writer = await asyncio.open_connection(
                *connection.address, local_addr=connection.own
            )
            writer.write(half if i % 2 else half[:30])
            outcome["half-sent"] += 1
        except OSError:
            outcome["refused"] += 1
    binary = "application/octet-stream"
    header = json.dumps({"W": {"dtype": "F32", "shape": [2**40, 2**20], "data_offsets": [0, 8]}})
    hostile = (
        message("/v1/classify", b"", kind=binary).replace(b"Length: 0", b"Length: 99999999999"),
        message("/v1/classify", b"--" + EDGE.encode() + b"\r\n" + b"x" * 100_000),
        message("/v1/sites/evil", struct.pack("<Q", 2**62) + b"{", "PUT", binary),
        message("/v1/sites/evil", struct.pack("<Q", len(header)) + header.encode(), "PUT", binary),
        message("/v1/sites/evil", os.urandom(50_000), "PUT", binary),
        message(
            "/v1/calibrate?site=x", b'{"embeddings": [[' + b"1e400," * 5000, kind="application/json"
        ),
    )
    while time.monotonic() < until:
        for request in hostile:
            try:
                outcome[str((await connection.ask(request))[0])] += 1
            except (OSError, EOFError, ValueError):
                outcome["cut"] += 1
        await asyncio.sleep(0.2)
    return dict(outcome)


def tree_cpu(pid: int) -> float:
    """CPU seconds of a process, its threads, and its children, those that have ended, too."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    used = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return used + sum(tree_cpu(int(child)) for child in children)


def classify_cpu(sounds: list[bytes], adapter: bytes, few: int, many: int) -> float:
    """CPU seconds a clip of ``prism classify`` with the adapter of a site."""
    took = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "site.safetensors").write_bytes(adapter)
        for clips in (few, many):
            place = folder / str(clips)
            place.mkdir()
            for i in range(clips):
                data = sounds[i % len(sounds)].replace(FRESH, struct.pack("<I", i))
                (place / f"{i}.wav").write_bytes(data)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            call = (*PRISM, "classify", place, "--adapter", folder / "site.safetensors", "--json")
            subprocess.run(list(map(str, call)), check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return (took[1] - took[0]) / (many - few)


async def service_cpu(
    base: str, pid: int, sounds: list[bytes], clients: int, numbers: range
) -> float:
    """CPU seconds a clip of the service, while clients send one recording after the other."""
    rest, before = iter(numbers), tree_cpu(pid)

    async def send() -> None:
        connection = Connection(base)
        for number in rest:
            data = sounds[number % len(sounds)].replace(FRESH, struct.pack("<I", number))
            request = message("/v1/classify?site=left", form([data]))
            status, body = await connection.ask(request)
            if status != 200:
                raise SystemExit(f"a recording was refused: {body!r}")

    await asyncio.gather(*(send() for _ in range(clients)))
    return (tree_cpu(pid) - before) / len(numbers)


async def cpu_a_clip(
    base: str, pid: int, sounds: list[bytes], adapter: bytes, given: argparse.Namespace
) -> tuple[float, float]:
    """CPU seconds a clip of the service and of ``prism classify``, warmed up, taking turns."""
    turns, first = [], 2 * 10**6
    await service_cpu(base, pid, sounds, given.clients, range(first, first := first + 400))
    for _ in range(2):
        alone = await asyncio.to_thread(classify_cpu, sounds, adapter, 60, 60 + given.cost_clips)
        numbers = range(first, first := first + given.cost_clips)
        turns.append((await service_cpu(base, pid, sounds, given.clients, numbers), alone))
    served, alone = np.mean(turns, axis=0)
    return float(served), float(alone)


async def load(base: str, pid: int, given: argparse.Namespace) -> dict[str, Any]:
    """Warm up, then all clients at once; what was measured."""
    sounds = [recording(i % 3, i, given.sound) for i in range(30)]
    known = {site: requests(site, sounds) for site in SITES}
    clips = form([recording(i % 3, 500 + i, given.sound) for i in range(given.clips)])
    for site, labels in SITES.items():
        url = f"/v1/calibrate?site={site}&labels={quote(labels)}"
        await calibrate(base, message(url, form(sounds)))
    ask = Connection(base).ask
    adapter = (await ask(b"GET /v1/sites/left/adapter HTTP/1.1\r\nHost: localhost\r\n\r\n"))[1]
    served, alone = await cpu_a_clip(base, pid, sounds, adapter, given)
    log, fresh, begin = Record(), count(10**6), time.monotonic()
    until = begin + given.seconds
    work: list[Coroutine[Any, Any, Any]] = [
        client(base, number, known, fresh, until, log) for number in range(given.clients)
    ]
    asking = asyncio.gather(*work)
    attacking = asyncio.create_task(attack(base, until)) if given.attack else None
    me = (sys.executable, __file__, "--live", base, "--seconds", str(given.seconds))
    stream = subprocess.Popen(me, stdout=subprocess.PIPE)
    await asyncio.sleep(given.seconds / 3)
    started, done = await calibrate(base, message("/v1/calibrate?site=right", clips))
    await asking
    lags = json.loads((await asyncio.to_thread(stream.communicate))[0])
    attacks = await attacking if attacking else {}
    statuses = Counter(status for _, _, status in log.answers)
    p50, p95, p99 = log.percentiles()
    settled, busy = begin + 2.0, min(done, until)  # the first answers of all clients come together
    return {
        "clients": given.clients,
        "seconds": given.seconds,
        "cores": usable_cores(),
        "sound_seconds": given.sound,
        "requests_per_second": round(len(log.answers) / given.seconds, 1),
        "clips_per_second": round(log.clips / given.seconds, 1),
        "p50_ms": p50,
        "p95_ms": p95,
        "p99_ms": p99,
        "live_lag_ms": [round(1000 * float(np.percentile(lags, p))) for p in (50, 95, 99)],
        "cpu_ms_a_clip": round(1000 * served, 2),
        "cpu_ms_a_clip_classify": round(1000 * alone, 2),
        "cpu_ratio": round(served / alone, 2),
        "statuses": {str(status): number for status, number in sorted(statuses.items())},
        "server_errors": sum(number for status, number in statuses.items() if status >= 500),
        "unanswered": dict(log.unanswered),
        "mixed_sites": log.mixed,
        "attacks": attacks,
        "calibration_seconds": round(done - started, 1),
        "stall_ms_while_calibrating": round(1000 * log.longest_stall(started, busy)),
        "stall_ms_before": round(1000 * log.longest_stall(settled, started)),
    }


def report(result: dict[str, Any]) -> None:
    """The table and the JSON."""
    texts = dict(result, lost=sum(result["unanswered"].values()))
    for name in ("statuses", "attacks"):
        texts[name] = ", ".join(f"{k}: {v}" for k, v in result[name].items()) or "none"
    texts["lag"] = " / ".join(map(str, result["live_lag_ms"]))
    rows = {
        "requests a second (clips)": "{requests_per_second} ({clips_per_second})",
        "p50 / p95 / p99, ms": "{p50_ms} / {p95_ms} / {p99_ms}",
        "live lag p50 / p95 / p99, ms": "{lag}",
        "CPU a clip, service / classify, ms": "{cpu_ms_a_clip} / {cpu_ms_a_clip_classify}",
        "ratio": "{cpu_ratio}",
        "answers by status": "{statuses}",
        "5xx, unanswered, of a wrong site": "{server_errors}, {lost}, {mixed_sites}",
        "attacks, by what became of them": "{attacks}",
        "calibration took, s": "{calibration_seconds}",
        "longest stall before / during it, ms": "{stall_ms_before} / {stall_ms_while_calibrating}",
        "exit code after SIGTERM": "{exit_code}",
        "peak memory, MB": "{peak_mb}",
    }
    print("{clients} clients, {seconds:g} s, {cores} cores".format(**texts), end=", ")
    print("recordings of {sound_seconds:g} s\n".format(**texts))
    for name, value in rows.items():
        print(f"{name:38s} {value.format(**texts)}")
    print("\n" + json.dumps(result))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clips", type=int, default=120, help="recordings in the calibration")
    parser.add_argument("--cost-clips", type=int, default=2000, help="recordings to find the CPU")
    parser.add_argument("--sound", type=float, default=2.0, help="seconds of a recording")
    parser.add_argument("--attack", action="store_true", help="with attackers beside the clients")
    parser.add_argument("--live", help=argparse.SUPPRESS)  # the stream, in a process of its own
    given = parser.parse_args()
    if given.live:
        print(json.dumps(asyncio.run(live(given.live, given.seconds))))
        return
    with tempfile.TemporaryDirectory() as store:
        server = subprocess.Popen(
            [*PRISM, "serve", "--port", "0", "--json", "--store", store], stdout=subprocess.PIPE
        )
        try:
            assert server.stdout is not None
            base = json.loads(server.stdout.readline())["url"]
            result = asyncio.run(load(base, server.pid, given))
            with open(f"/proc/{server.pid}/status") as status:
                peak = next(line for line in status if line.startswith("VmHWM"))
            result["peak_mb"] = int(peak.split()[1]) // 1024
            server.send_signal(signal.SIGTERM)
            result["exit_code"] = server.wait(120)
        finally:
            server.kill()
    report(result)


if __name__ == "__main__":
    main()
