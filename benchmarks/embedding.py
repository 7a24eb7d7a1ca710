"""Embedding throughput of ``concepts`` against the plain loop, in seconds of audio a second.

    python benchmarks/embedding.py [FOLDER] [--clips 200] [--rounds 3]

The plain loop is what one writes first: a file after another is read whole, resampled, and its
windows go through one interpreter, a window an invocation. Both are timed in turn in every round of
the same run, on the same clips; the ratio is that of the medians. Without a folder, clips of noise
are made (5 s, 44.1 kHz, Ogg Vorbis). Prints a table and JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile
import soxr

from prism_audio.audio.decode import SUFFIXES, probe
from prism_audio.encoders import assets, embed_audio, load_encoder
from prism_audio.encoders.concepts.encoder import FLOOR, ConceptsEncoder, space
from prism_audio.encoders.concepts.yamnet import RATE, SAMPLES
from prism_audio.io.runtime import usable_cores


def plain_loop(paths: list[Path]) -> np.ndarray:
    """The reference: nothing but the libraries, and nothing at the same time."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(assets.resolve(assets.YAMNET)), num_threads=1)
    interpreter.allocate_tensors()
    given = interpreter.get_input_details()[0]["index"]
    wanted = interpreter.get_output_details()[0]["index"]
    hop = round(ConceptsEncoder.hop * RATE)
    rows = []
    for path in paths:
        sound, rate = soundfile.read(path, dtype="float32", always_2d=True)
        mono = soxr.resample(sound.mean(axis=1), rate, RATE)
        scores, weights = [], []
        for start in range(0, max(1, len(mono) - SAMPLES + hop), hop):
            part = mono[start : start + SAMPLES]
            interpreter.set_tensor(given, np.pad(part, (0, SAMPLES - len(part))))
            interpreter.invoke()
            scores.append(interpreter.get_tensor(wanted)[0])
            weights.append(len(part))
        mean = np.average(scores, axis=0, weights=weights)
        ratio = np.log((mean + FLOOR) / (space().prior + FLOOR))
        rows.append(ratio / np.linalg.norm(ratio))
    return np.array(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--clips", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or noise_clips(Path(made), given.clips)
        files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
        files = files[:: max(1, len(files) // given.clips)][: given.clips]
        report(files, given.rounds)


def report(files: list[Path], rounds: int) -> None:
    seconds = sum(probe(path).duration for path in files)
    encoder = load_encoder("concepts")
    ways: dict[str, Callable[[list[Path]], np.ndarray]] = {
        "plain loop": plain_loop,
        "embed_audio": lambda paths: embed_audio(encoder, paths),
    }
    results = {name: way(files[:4]) for name, way in ways.items()}  # warm
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            began = time.perf_counter()
            results[name] = way(files)
            took[name].append(time.perf_counter() - began)
    speed = {name: seconds / statistics.median(times) for name, times in took.items()}
    ratio = speed["embed_audio"] / speed["plain loop"]
    apart = float(np.abs(results["embed_audio"] - results["plain loop"]).max())
    cores = usable_cores()
    print(f"{len(files)} clips, {seconds:.0f} s of audio, {cores} cores, {rounds} rounds\n")
    print(f"{'':12s}  audio s / s   ratio")
    for name, value in speed.items():
        print(f"{name:12s}  {value:11.0f}   {value / speed['plain loop']:5.2f}")
    print(f"\nlargest difference between the two results: {apart:.1e}")
    print(
        json.dumps(
            {
                "clips": len(files),
                "audio_seconds": round(seconds, 1),
                "cores": cores,
                "seconds": {name: [round(t, 3) for t in times] for name, times in took.items()},
                "ratio": round(ratio, 3),
                "difference": apart,
            }
        )
    )


def noise_clips(folder: Path, count: int) -> Path:
    rng = np.random.default_rng(0)
    for index in range(count):
        sound = 0.1 * rng.standard_normal(5 * 44_100)
        soundfile.write(folder / f"{index:04d}.ogg", sound, 44_100)
    return folder


if __name__ == "__main__":
    main()
