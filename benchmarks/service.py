"""The service under load: many clients, good and bad requests, a calibration in the middle.

    python benchmarks/service.py [--clients 64] [--seconds 60] [--clips 120] [--sound 2]

Starts ``prism serve`` with the embedded encoder in a process of its own and two sites with labels of
their own, and lets clients ask without a pause over loopback. Of ten requests seven are a recording,
one is three recordings, one is a file that is no recording, and one is a form that breaks off. After
a third of the time one site is calibrated anew. *Stall* is the longest time in which no client got an
answer to a classification; it is taken while the calibration runs and, in the same run, while none
does. Every answer is checked to be of the site that was asked. Prints a table and JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import numpy as np
import soundfile

from prism_audio.io.runtime import usable_cores

RATE = 16_000
SITES = {"left": "white noise, sine wave, clicking", "right": "rain, whistle, knocking"}
EDGE = "cut-here-cut-here"


def recording(kind: int, seed: int, seconds: float) -> bytes:
    """Hiss, a tone or clicks, in noise."""
    rng = np.random.default_rng(1000 * kind + seed)
    t = np.arange(round(seconds * RATE)) / RATE
    clicks = np.zeros(len(t))
    clicks[:: int(rng.uniform(1500, 4000))] = 0.9
    tone = 0.3 * np.sin(2 * np.pi * rng.uniform(300, 1500) * t)
    sound = (0.1 * rng.standard_normal(len(t)), tone, clicks)[kind]
    file = io.BytesIO()
    soundfile.write(file, sound + 0.01 * rng.standard_normal(len(t)), RATE, format="WAV")
    return file.getvalue()


Known = dict[str, list[bytes]]


@dataclass
class Record:
    """What happened: answers as (when, seconds it took, status), and what should not have."""

    answers: list[tuple[float, float, int]] = field(default_factory=list)
    labelled: list[tuple[float, float]] = field(default_factory=list)
    unanswered: Counter[str] = field(default_factory=Counter)
    mixed: int = 0

    def longest_stall(self, begin: float, end: float) -> float:
        times = [begin, *(when for when, _ in self.labelled if begin < when < end), end]
        return max(np.diff(sorted(times)))

    def percentiles(self, begin: float = -np.inf, end: float = np.inf) -> list[float]:
        took = [seconds for when, seconds in self.labelled if begin < when < end]
        return [round(1000 * float(np.percentile(took, p))) for p in (50, 95, 99)]


class Connection:
    """A client as light as can be: it shares the cores with the service that it measures."""

    def __init__(self, base: str) -> None:
        host, port = base.removeprefix("http://").strip("/").split(":")
        self._address = (host, int(port))
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Status and body of the answer; the connection is kept."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address, limit=2**24)
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


def post(path: str, body: bytes) -> bytes:
    """A request, ready to be sent."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        f"Content-Type: multipart/form-data; boundary={EDGE}\r\n\r\n"
    )
    return head.encode() + body


def requests(site: str, sounds: list[bytes]) -> list[bytes]:
    """Ten requests for every three recordings, in the mixture that is told above."""
    url = f"/v1/classify?site={site}"
    made = []
    for i in range(0, len(sounds), 3):
        three = sounds[i : i + 3]
        made += [post(url, form([three[k % 3]])) for k in range(7)]
        made += [post(url, form(three)), post(url, form([b"no sound" * 99]))]
        made += [post(url, form(three[:1], ended=False))]
    return made


async def client(base: str, number: int, known: Known, until: float, log: Record) -> None:
    """Ask without a pause."""
    rng = np.random.default_rng(number)
    connection = Connection(base)
    while time.monotonic() < until:
        site = ("left", "right")[rng.integers(2)]
        request = known[site][rng.integers(len(known[site]))]
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
            told = json.loads(body)
            log.mixed += told["site"] != site or told["labels"] != SITES[site].split(", ")


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


async def load(base: str, given: argparse.Namespace) -> dict[str, Any]:
    """Warm up, then all clients at once; what was measured."""
    sounds = [recording(i % 3, i, given.sound) for i in range(30)]
    known = {site: requests(site, sounds) for site in SITES}
    clips = form([recording(i % 3, 500 + i, given.sound) for i in range(given.clips)])
    for site, labels in SITES.items():
        url = f"/v1/calibrate?site={site}&labels={quote(labels)}"
        await calibrate(base, post(url, form(sounds)))
    log, begin = Record(), time.monotonic()
    until = begin + given.seconds
    asking = [
        asyncio.create_task(client(base, number, known, until, log))
        for number in range(given.clients)
    ]
    await asyncio.sleep(given.seconds / 3)
    started, done = await calibrate(base, post("/v1/calibrate?site=right", clips))
    await asyncio.gather(*asking)
    statuses = Counter(status for _, _, status in log.answers)
    p50, p95, p99 = log.percentiles()
    settled = begin + 2.0  # the first answers of all clients come together
    busy = min(done, until)  # afterwards nobody asks any more
    return {
        "clients": given.clients,
        "seconds": given.seconds,
        "cores": usable_cores(),
        "sound_seconds": given.sound,
        "requests_per_second": round(len(log.answers) / given.seconds, 1),
        "labelled_per_second": round(len(log.labelled) / given.seconds, 1),
        "p50_ms": p50,
        "p95_ms": p95,
        "p99_ms": p99,
        "p99_ms_while_calibrating": log.percentiles(started, busy)[2],
        "p99_ms_before": log.percentiles(settled, started)[2],
        "statuses": {str(status): count for status, count in sorted(statuses.items())},
        "server_errors": sum(count for status, count in statuses.items() if status >= 500),
        "unanswered": dict(log.unanswered),
        "mixed_sites": log.mixed,
        "calibration_seconds": round(done - started, 1),
        "stall_ms_while_calibrating": round(1000 * log.longest_stall(started, busy)),
        "stall_ms_before": round(1000 * log.longest_stall(settled, started)),
    }


def report(found: dict[str, Any]) -> None:
    """The table and the JSON."""
    told = dict(found, lost=sum(found["unanswered"].values()))
    told["by_status"] = ", ".join(f"{k}: {v}" for k, v in found["statuses"].items())
    rows = {
        "requests a second (labelled)": "{requests_per_second} ({labelled_per_second})",
        "p50 / p95 / p99, ms": "{p50_ms} / {p95_ms} / {p99_ms}",
        "answers by status": "{by_status}",
        "5xx, unanswered, of a wrong site": "{server_errors}, {lost}, {mixed_sites}",
        "calibration took, s": "{calibration_seconds}",
        "p99 before / during it, ms": "{p99_ms_before} / {p99_ms_while_calibrating}",
        "longest stall before / during it, ms": "{stall_ms_before} / {stall_ms_while_calibrating}",
        "exit code after SIGTERM": "{exit_code}",
        "peak memory, MB": "{peak_mb}",
    }
    print("{clients} clients, {seconds:g} s, {cores} cores".format(**told), end=", ")
    print("recordings of {sound_seconds:g} s\n".format(**told))
    for name, value in rows.items():
        print(f"{name:38s} {value.format(**told)}")
    print("\n" + json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clips", type=int, default=120, help="recordings in the calibration")
    parser.add_argument("--sound", type=float, default=2.0, help="seconds of a recording")
    given = parser.parse_args()
    command = "from prism_audio.cli import main; main()"
    with tempfile.TemporaryDirectory() as store:
        server = subprocess.Popen(
            [sys.executable, "-c", command, "serve", "--port", "0", "--json", "--store", store],
            stdout=subprocess.PIPE,
        )
        try:
            assert server.stdout is not None
            base = json.loads(server.stdout.readline())["url"]
            found = asyncio.run(load(base, given))
            with open(f"/proc/{server.pid}/status") as status:
                peak = next(line for line in status if line.startswith("VmHWM"))
            found["peak_mb"] = int(peak.split()[1]) // 1024
            server.send_signal(signal.SIGTERM)
            found["exit_code"] = server.wait(120)
        finally:
            server.kill()
    report(found)


if __name__ == "__main__":
    main()
