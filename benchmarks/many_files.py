"""Are many small files embedded at the speed of the encoder? And a day of sound at that of its decoder?

    python benchmarks/many_files.py [--files 5000] [--hours 24]

Makes files of 1 s, and a long FLAC and Opus file, in a temporary folder. Prints the processor time of
the encoder alone, of all that is done for the files, of libsndfile alone, and of the stream that PRISM
makes of it, with the largest memory before and after. Processor time, not wall time, because it does
not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile

from prism_audio.audio.decode import stream
from prism_audio.encoders import load_encoder
from prism_audio.encoders.embedding.engine import embed_files
from prism_audio.encoders.protocol import Encoder

RATE = 16_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--hours", type=float, default=24.0)
    options = parser.parse_args()
    minute = 0.05 * np.random.default_rng(0).standard_normal(60 * RATE).astype(np.float32)
    with tempfile.TemporaryDirectory() as name:
        many_files(Path(name), minute, options.files)
        long_file(Path(name) / "long.flac", "FLAC", "PCM_16", minute, options.hours)
        long_file(Path(name) / "long.opus", "OGG", "OPUS", minute, options.hours)


def many_files(folder: Path, minute: np.ndarray, count: int) -> None:
    files = [folder / f"{number:06d}.wav" for number in range(count)]
    for number, file in enumerate(files):
        soundfile.write(file, np.roll(minute, -number * 997)[:RATE], RATE)
    encoder = load_encoder("concepts")
    pair = np.stack([minute[: round(encoder.window * RATE)]] * 2)
    encoder.embed_windows(pair)
    alone = cpu(lambda: encoder_alone(encoder, pair, count))
    whole = cpu(lambda: sum(1 for _ in embed_files(files, encoder)))
    print(
        f"{count} files of 1 s: encoder alone {alone:.2f} s, with everything else {whole:.2f} s",
        flush=True,
    )


def encoder_alone(encoder: Encoder, pair: np.ndarray, count: int) -> None:
    batch = np.tile(pair, (32, 1))
    for _ in range(count // 32):
        encoder.embed_windows(batch)


def long_file(file: Path, kind: str, subtype: str, minute: np.ndarray, hours: float) -> None:
    with soundfile.SoundFile(file, "w", RATE, 1, subtype=subtype, format=kind) as target:
        for _ in range(round(60 * hours)):
            target.write(minute)
    before = memory()
    alone, whole = cpu(lambda: libsndfile(file)), cpu(lambda: sum(map(len, stream(file, RATE))))
    name = file.suffix[1:]
    print(f"{hours:g} h of {name}: libsndfile alone {alone:.2f} s, as a stream {whole:.2f} s")
    print(f"largest memory {before:.0f} MB before, {memory():.0f} MB after", flush=True)


def libsndfile(file: Path) -> None:
    buffer = np.empty((10 * RATE, 1), np.float32)
    with soundfile.SoundFile(file) as source:
        while len(source.read(out=buffer)):
            pass


def cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
