"""CLAP by transformers, by our PyTorch encoder and by onnxruntime: speed and peak memory in one run.

    python benchmarks/clap.py [--clips 100] [--rounds 10] [--keep FOLDER]

A model of full size (HTSAT-tiny, RoBERTa-base, no fusion) with random weights is made and exported.
Each way has a process of its own, which loads, embeds ten labels, and then waits for clips of 5 s;
the clips are handed out in rounds, a part of them to one way after another, so that all ways see the
same machine. The pipeline of transformers gets decoded arrays, ours decode files. Peak memory is the
process's own (VmHWM), which counts mapped parts of files too. A window is timed by itself, on one
core. Needs the extras clap and onnx. Prints the table of docs/clap.md, and JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import soundfile

RATE, SECONDS = 48_000, 5
LABELS = [
    "dog bark", "siren", "rain", "drilling", "speech",
    "engine", "footsteps", "birds", "wind", "music",
]  # fmt: skip
WAYS = {
    "pipeline, one at a time": "transformers' zero-shot-audio-classification, a clip a call",
    "pipeline, eight at a time": "the same with batch_size=8",
    "PyTorch encoder": "--encoder FOLDER, by transformers",
    "ONNX fp32": "--encoder FOLDER, by onnxruntime",
    "ONNX fp32, labels cached": "the same with labels that an earlier run has embedded",
    "ONNX int8": "--encoder onnx-int8:FOLDER",
    "ONNX fp32, traced graph": "the towers as PyTorch traces them, like the public exports",
}


def work(way: str, folder: Path) -> None:
    """A process that embeds what the numbers on its input name, and says how long it took."""
    files = sorted((folder / "clips").glob("*.wav"))
    run, window = _way(way, folder)
    run(files[:2])
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        first, last = json.loads(line)
        began = time.perf_counter()
        run(files[first:last])
        took = time.perf_counter() - began
        print(json.dumps({"seconds": took, "peak": _peak()} | window()), flush=True)


def _way(way: str, folder: Path):
    if way.startswith("pipeline"):
        return _pipeline(folder, 8 if "eight" in way else 1), dict
    from prism_audio.encoders.clap.encoder import ClapEncoder
    from prism_audio.encoders.clap.onnx_encoder import OnnxClapEncoder
    from prism_audio.encoders.embedding.engine import embed_files
    from prism_audio.encoders.prompts import PromptSet
    from prism_audio.encoders.text_cache import cached_prototypes

    if way == "PyTorch encoder":
        encoder = ClapEncoder(folder / "hub")
    else:
        towers = folder / ("traced" if "traced" in way else "onnx")
        encoder = OnnxClapEncoder(towers, precision="int8" if "int8" in way else "fp32")
    T = cached_prototypes(encoder, LABELS, PromptSet.load("plain"))
    noise = np.random.default_rng(0).standard_normal(10 * RATE).astype(np.float32)

    def run(files):
        return [int((clip.embedding @ T.T).argmax()) for clip in embed_files(files, encoder)]

    def window():
        """Processor seconds of one window, and of the front end's part in them."""
        seconds = {}
        for name, step in {"mel": encoder.mel.picture, "window": encoder.embed_windows}.items():
            began = time.process_time()
            step(noise if name == "mel" else noise[None])
            seconds[name] = time.process_time() - began
        return seconds

    return run, window


def _pipeline(folder: Path, batch: int):
    from transformers import pipeline

    classify = pipeline("zero-shot-audio-classification", model=str(folder / "hub"))

    def run(files):
        sounds = [soundfile.read(file, dtype="float32")[0] for file in files]
        if batch == 1:
            return [classify(sound, candidate_labels=LABELS)[0]["label"] for sound in sounds]
        answers = classify(sounds, candidate_labels=LABELS, batch_size=batch)
        return [answer[0]["label"] for answer in answers]

    return run


def _peak() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def make(folder: Path, clips: int) -> None:
    """Clips and models, unless they are there from a run before."""
    if not (folder / "clips").is_dir():
        (folder / "clips").mkdir(parents=True)
        chance = np.random.default_rng(0)
        for number in range(clips):
            sound = 0.1 * chance.standard_normal(SECONDS * RATE)
            soundfile.write(folder / "clips" / f"{number:04d}.wav", sound, RATE)
    if (folder / "traced").is_dir():
        return
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from prism_audio.encoders.clap.encoder import ClapEncoder
    from prism_audio.encoders.clap.export.drift import Probe, made_sounds
    from prism_audio.encoders.clap.export.write import export_clap
    from tests.helpers.clap_tiny import full_model, write_hub_folder, write_tokenizer

    if not (folder / "hub").is_dir():
        write_hub_folder(folder / "hub", full_model(False), write_tokenizer(folder / "words"))
    encoder = ClapEncoder(folder / "hub")
    if not (folder / "onnx").is_dir():
        export_clap(encoder, folder / "onnx", Probe(made_sounds(encoder, 6), LABELS))
    _trace(encoder, folder)


def _trace(encoder, folder: Path) -> None:
    """The audio tower as PyTorch's own exporter writes it; the rest is shared."""
    import torch

    class Tower(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = encoder.model

        def forward(self, input_features):
            longer = torch.zeros((len(input_features), 1), dtype=torch.bool)
            audio = self.model.audio_model(input_features=input_features, is_longer=longer)
            return self.model.audio_projection(audio.pooler_output)

    target = folder / "traced"
    (target / "onnx").mkdir(parents=True)
    for name in (
        "config.json",
        "preprocessor_config.json",
        "tokenizer.json",
        "onnx/text_model.onnx",
    ):
        os.link(folder / "onnx" / name, target / name)
    with torch.no_grad():
        torch.onnx.export(
            Tower(),
            (torch.zeros(1, 1, encoder.mel.frames, encoder.mel.mels),),
            str(target / "onnx" / "audio_model.onnx"),
            dynamo=False,
            opset_version=17,
            input_names=["input_features"],
            output_names=["audio_embeds"],
            dynamic_axes={"input_features": {0: "batch"}, "audio_embeds": {0: "batch"}},
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clips", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--keep", type=Path, help="Where models and clips are kept for a next run.")
    parser.add_argument("--ways", nargs="*", default=list(WAYS), help="Only these.")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work == "make":
        return make(given.keep, given.clips)
    if given.work:
        return work(given.work, given.keep)
    with tempfile.TemporaryDirectory() as made:
        folder = given.keep or Path(made)
        # In a process of its own, whose memory is gone when the others are measured.
        words = ["--work", "make", "--keep", str(folder), "--clips", str(given.clips)]
        subprocess.run([sys.executable, __file__, *words], check=True)
        report(folder, given)


def report(folder: Path, given: argparse.Namespace) -> None:
    workers = {}
    cache = folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    for way in given.ways:
        command = [sys.executable, __file__, "--work", way, "--keep", str(folder)]
        workers[way] = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL, env=os.environ | {"PRISM_CACHE": str(cache)},
        )  # fmt: skip
        workers[way].stdout.readline()  # one after another: the first leaves labels in the cache
    edges = np.linspace(0, given.clips, given.rounds + 1).astype(int)
    results = {way: [] for way in workers}
    for first, last in pairwise(edges):
        for way, worker in workers.items():
            worker.stdin.write(json.dumps([int(first), int(last)]) + "\n")
            worker.stdin.flush()
            results[way].append(json.loads(worker.stdout.readline()))
            speed = SECONDS * (last - first) / results[way][-1]["seconds"]
            print(f"clips {first} to {last}: {way}: {speed:.1f} audio s / s", file=sys.stderr)
    for worker in workers.values():
        worker.stdin.close()
        worker.wait()
    table = {}
    for way, rounds in results.items():
        seconds = sum(item["seconds"] for item in rounds)
        table[way] = {
            "audio_seconds_per_second": round(SECONDS * given.clips / seconds, 1),
            "peak_megabytes": round(rounds[-1]["peak"]),
        } | {
            name: round(float(np.median([item[name] for item in rounds])), 4)
            for name in ("mel", "window")
            if name in rounds[0]
        }
    print(f"{given.clips} clips of {SECONDS} s, {os.cpu_count()} cores, {given.rounds} rounds\n")
    bases = [way for way in table if way.startswith("pipeline")]
    print(f"| | audio s / s | {' | '.join(f'against the {base}' for base in bases)} "
          "| peak memory | a window on one core | mel share |")  # fmt: skip
    print("| --- " * (5 + len(bases)) + "|")
    for way, row in table.items():
        speed, peak = row["audio_seconds_per_second"], row["peak_megabytes"]
        ratios = [f"{speed / table[base]['audio_seconds_per_second']:.2f}x" for base in bases]
        alone = f"{row['window']:.3f} s | {row['mel'] / row['window']:.1%}" if "mel" in row else "|"
        print(f"| {way} | {speed:.1f} | {' | '.join(ratios)} | {peak} MB | {alone} |")
    print(json.dumps(table))


if __name__ == "__main__":
    main()
