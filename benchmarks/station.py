"""How a station bears days of sound: memory, processor time, and whether every event is recorded.

    python benchmarks/station.py FOLDER [--hours 24] [--minutes 60] [--each 120] [--hop 0.975]

A recorder is played: it writes recordings of an hour into FOLDER/field, a few at a time, with a
synthetic sound every ``--each`` seconds in pink noise. ``prism listen FOLDER/field --db --clips`` hears
them; recordings that were heard are removed.
Prints, hour by hour, the memory of the process (RSS) and the events in the database; then processor
seconds, how much faster than real time that is, and whether the events that were told, those in the
database and the clips are the same. The memory counts as flat when its highest value in the last
quarter of the run is at most 5 % above that in the second.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
import soundfile

from prism_audio.demo.sounds import pink_noise, render

RATE = 16_000
LABELS = ("siren", "telephone ringing", "car horn", "music")
AHEAD = 2  # recordings that wait


def hour(number: int, seconds: int, each: int) -> np.ndarray:
    """A recording: noise that is never the same, and an event every so often."""
    rng = np.random.default_rng(number)
    noise = 0.02 * np.concatenate([pink_noise(rng, 60 * RATE) for _ in range(-(-seconds // 60))])
    sound = noise[: seconds * RATE].astype(np.float32)
    for place in range(each // 2, seconds - 5, each):
        name = LABELS[int(rng.integers(len(LABELS)))]
        clip = render(name, int(rng.integers(10**6)), rate=RATE)
        sound[place * RATE : place * RATE + len(clip)] += 0.6 * clip
    return sound


def write_recording(folder: Path, number: int, seconds: int, each: int) -> None:
    begin = datetime(2026, 1, 1) + timedelta(seconds=number * seconds)
    path = folder / f"SITE_{begin:%Y%m%d_%H%M%S}.wav"
    soundfile.write(path.with_suffix(".part"), hour(number, seconds, each), RATE, format="WAV")
    os.utime(path.with_suffix(".part"), (1e9 + number, 1e9 + number))
    path.with_suffix(".part").rename(path)


def query(path: Path, text: str) -> list[tuple]:
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as database:
        try:
            return database.execute(text).fetchall()
        except sqlite3.OperationalError:  # its tables are still to be made
            return []


def rss(pid: int) -> float:
    """Megabytes of memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def play_recorder(
    station: subprocess.Popen, folder: Path, recordings: int, seconds: int, each: int
) -> list:
    """Write recordings until all are heard; the memory of the station after each of them."""
    db, field = folder / "events.db", folder / "field"
    written, memory = 0, []
    print(f"{'hours':>6} {'RSS, MB':>8} {'events':>7}")
    while len(memory) < recordings and station.poll() is None:
        while written < min(recordings, len(memory) + AHEAD):
            write_recording(field, written, seconds, each)
            written += 1
        done = query(db, "SELECT name FROM recordings")
        if len(done) > len(memory):
            memory += [rss(station.pid)] * (len(done) - len(memory))
            (events,) = query(db, "SELECT count(*) FROM events")[0]
            print(f"{len(done) * seconds / 3600:6.2f} {memory[-1]:8.1f} {events:7d}", flush=True)
            for (name,) in done:
                (field / name).unlink(missing_ok=True)
        time.sleep(0.5)
    return memory


def report(folder: Path, memory: list[float], played: int) -> bool:
    """Print what it came to; whether all is well."""
    lines = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    summary = next(line for line in lines if line["type"] == "summary")
    ended = sorted(line["id"] for line in lines if line["type"] == "end")
    recorded = [row[0] for row in query(folder / "events.db", "SELECT id FROM events ORDER BY id")]
    clips = sorted(path.stem for path in (folder / "clips").glob("*/*"))
    quarter = max(1, len(memory) // 4)
    early, late = max(memory[quarter : 2 * quarter] or memory), max(memory[-quarter:])
    same, flat = ended == recorded == clips, late <= 1.05 * early
    hours, cpu, ratio = (
        summary[key] for key in ("audio_seconds", "cpu_seconds", "times_real_time")
    )
    print(f"{hours / 3600:.2f} h of sound in {cpu:.0f} s of one core: {ratio:.0f} times real time")
    print(
        f"sounds played {played}; events told {len(ended)}, recorded {len(recorded)}, clips {len(clips)}"
    )
    print(f"told, recorded and clips are the same: {'yes' if same else 'NO'}")
    print(
        f"highest memory in the second quarter {early:.1f} MB, in the last {late:.1f} MB: ", end=""
    )
    print("flat" if flat else "NOT FLAT")
    return same and flat


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--minutes", type=int, default=60, help="of a recording")
    parser.add_argument("--each", type=int, default=120, help="seconds from event to event")
    parser.add_argument("--hop", type=float, default=0.975)
    options = parser.parse_args()
    folder = options.folder
    (folder / "field").mkdir(parents=True)
    seconds, recordings = 60 * options.minutes, options.hours * 60 // options.minutes
    command = [sys.executable, "-c", "from prism_audio.cli import main; main()", "listen", "--json"]
    command += [f"field={folder / 'field'}", "-l", ", ".join(LABELS), "--hop", str(options.hop)]
    command += ["--db", str(folder / "events.db"), "--clips", str(folder / "clips")]
    with (folder / "out.jsonl").open("wb") as told:
        station = subprocess.Popen(command, stdout=told)
    try:
        memory = play_recorder(station, folder, recordings, seconds, options.each)
    finally:
        station.send_signal(signal.SIGTERM)
        code = station.wait(60)
    played = recordings * len(range(options.each // 2, seconds - 5, options.each))
    well = report(folder, memory, played)
    sys.exit(0 if well and code == 143 else 1)


if __name__ == "__main__":
    main()
