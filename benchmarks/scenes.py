"""How well events are found in long recordings: half-hours made of real clips and real backgrounds.

    python benchmarks/scenes.py ESC50 BACKGROUNDS --out FOLDER [--seeds 0 1] [--places park ...] [--wav]

A scene is 30 minutes of one place with events of ten classes drawn from ESC-50 at 4, 20 or 120 an hour,
6 or 0 dB above the background around them, and one without events. The background is pieces of 8 to
30 s of the recordings of the place, in random order and at slightly different levels. Classes that
the backgrounds themselves may hold (wind, rain, engines, birds) are left out.

Prints event-based F1 (collar 500 ms, offset 50 %) and segment-based F1 (1 s) for labels of windows
merged into events, zero-shot and calibrated; and for events against the background: in files, as
``prism classify --timeline`` finds them, and in streams, as ``prism listen --labels`` does; and false
events an hour where nothing happens. The windows of a scene are embedded once and kept in FOLDER with
its truth; ``--wav`` also writes the sound, for listening.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soundfile

from prism_audio.audio.decode import decode
from prism_audio.datasets.esc50 import load_esc50
from prism_audio.datasets.folder import audio_files
from prism_audio.encoders.embedding.recordings import Timeline, embed_timeline
from prism_audio.encoders.prompts import PromptSet, clean_label, prototypes
from prism_audio.encoders.protocol import Encoder
from prism_audio.encoders.registry import load_encoder
from prism_audio.evaluation.event_scores import count_events, count_segments, total
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.calibration import calibrate_place
from prism_audio.labelling.classify import classify
from prism_audio.labelling.events import LabelledWindow, detect_events, merge_windows
from prism_audio.labelling.formats import FORMATS, Recording, TimedLabel
from prism_audio.labelling.live_events import LiveEvents
from prism_audio.model.adapter import Adapter
from prism_audio.model.vocabulary import Vocabulary

MINUTES, CLASSES = 30, 10
DENSITIES, LEVELS = (4, 20, 120), (6, 0)
LONGEST = 4.0  # seconds of an event
FADE = 0.5  # seconds in which one piece of background gives way to the next
IN_BACKGROUNDS = {
    "wind", "rain", "train", "engine", "airplane", "sea_waves", "insects", "chirping_birds", "crickets",
    "helicopter", "washing_machine", "vacuum_cleaner", "thunderstorm", "footsteps", "crackling_fire",
    "pouring_water", "breathing",
}  # fmt: skip


class Scene(NamedTuple):
    """Samples, the labels that are listened for, and what happens when."""

    samples: np.ndarray
    labels: list[str]
    truth: list[TimedLabel]


class EmbeddedScene(NamedTuple):
    """A scene as its windows instead of its samples."""

    name: str
    windows: Timeline
    labels: list[str]
    truth: list[TimedLabel]


class Setting(NamedTuple):
    """Where, how many events an hour, how many dB above the background, and which draw."""

    place: str
    density: int
    snr: int
    seed: int


class Clips(NamedTuple):
    """Recordings by class."""

    by_class: dict[str, list[Path]]
    backgrounds: dict[str, list[Path]]
    rate: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("esc50", type=Path)
    parser.add_argument("backgrounds", type=Path, help="a folder with a sub-folder for each place")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--places", nargs="+")
    parser.add_argument("--encoder", default="concepts")
    parser.add_argument("--wav", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    encoder = load_encoder(given.encoder)
    data = load_esc50(given.esc50)
    by_class: dict[str, list[Path]] = {}
    for file, label in zip(data.files, data.labels, strict=True):
        by_class.setdefault(data.classes[label], []).append(file)
    clips = Clips(
        {name: files for name, files in by_class.items() if name not in IN_BACKGROUNDS},
        {folder.name: audio_files(folder) for folder in sorted(given.backgrounds.iterdir())},
        encoder.rate,
    )
    prompts = PromptSet.load("sentences")
    results: dict[Setting, dict[str, Scores]] = {}
    for place in given.places or clips.backgrounds:
        for seed in given.seeds:
            for density, snr in ((0, 0), *((d, s) for d in DENSITIES for s in LEVELS)):
                setting = Setting(place, density, snr, seed)
                scene = embedded(given.out, setting, clips, encoder, given.wav)
                T = prototypes(encoder, scene.labels, prompts)
                results[setting] = {
                    way: scores(scene.truth, events) for way, events in ways(scene, T, encoder)
                }
                print(setting, results[setting], file=sys.stderr, flush=True)
    for line in table_lines(results):
        print(line)


# Event F1, segment F1, and events an hour.
Scores = list[float]


def ways(
    scene: EmbeddedScene, T: np.ndarray, encoder: Encoder
) -> Iterator[tuple[str, Sequence[Any]]]:
    """Every way to find events, and its events."""
    start, end, E = scene.windows
    batch = Batch(E, [scene.name] * len(E), start, end, "window")
    plain = Adapter.zero_shot(T, tuple(scene.labels))
    site = calibrate_place(batch, Vocabulary(tuple(scene.labels), T))
    yield "zero-shot, merged", merge_windows(classify(batch, plain))
    yield "calibrated, merged", merge_windows(classify(batch, site))
    yield "file", detect_events(batch, plain)
    live, changes = LiveEvents(plain, encoder.hop, encoder.window, encoder.window, confirm=2), []
    for begin, stop, row in zip(start, end, E, strict=True):
        changes += live.add(LabelledWindow(float(begin), float(stop), None, 0.0), row)
    yield "stream", [event for kind, event in changes + live.close() if kind == "end"]


def scores(truth: Sequence[TimedLabel], events: Sequence[Any]) -> Scores:
    """Event F1, segment F1 and events an hour."""
    f1 = [total(count(truth, events).values()).f1 for count in (count_events, count_segments)]
    return [*(float(np.nan_to_num(value)) for value in f1), len(events) * 60 / MINUTES]


def embedded(
    out: Path, setting: Setting, clips: Clips, encoder: Encoder, wav: bool
) -> EmbeddedScene:
    """A scene and its windows; made once, then read from the folder."""
    place, density, snr, seed = setting
    name = f"{place}_{density}_{snr}dB_{seed}"
    path = out / f"{name}.npz"
    if not path.exists() or (wav and not path.with_suffix(".wav").exists()):
        rng = np.random.default_rng([seed, density, snr + 100, sum(map(ord, place))])
        scene = make_scene(clips, place, density, snr, rng)
        start, end, rows = embed_timeline(encoder, (scene.samples, clips.rate))
        about = json.dumps({"labels": scene.labels, "truth": scene.truth})
        np.savez(path, start=start, end=end, rows=rows, about=np.array(about))
        if wav:
            write_sound(out, name, scene, clips.rate)
    with np.load(path) as kept:
        about = json.loads(str(kept["about"]))
        windows = Timeline(kept["start"], kept["end"], kept["rows"])
    truth = [TimedLabel(*each) for each in about["truth"]]
    return EmbeddedScene(name, windows, about["labels"], truth)


def make_scene(
    clips: Clips, place: str, density: int, snr: float, rng: np.random.Generator
) -> Scene:
    """Half an hour of a place with ``density`` events an hour, ``snr`` dB above the background."""
    rate, seconds = clips.rate, 60 * MINUTES
    samples = background(clips.backgrounds[place], seconds * rate, rate, rng)
    names = [str(name) for name in rng.choice(sorted(clips.by_class), CLASSES, replace=False)]
    truth: list[TimedLabel] = []
    free = 0.0
    for wanted in np.sort(rng.uniform(5, seconds - 10, round(density * MINUTES / 60))):
        begin = max(float(wanted), free + 1)
        if begin > seconds - LONGEST - 1:
            break
        name = names[rng.integers(CLASSES)]
        files = clips.by_class[name]
        event = trimmed(decode(files[rng.integers(len(files))], rate), rate)
        first = int(begin * rate)
        around = samples[first : first + len(event)]
        level = np.sqrt(np.mean(around**2) / np.mean(event**2)) * 10 ** (snr / 20)
        samples[first : first + len(event)] += level * event
        free = begin + len(event) / rate
        truth.append(TimedLabel("", begin, free, clean_label(name)))
    labels = [clean_label(name) for name in names]
    return Scene((0.9 * samples / np.abs(samples).max()).astype(np.float32), labels, truth)


def background(
    files: Sequence[Path], length: int, rate: int, rng: np.random.Generator
) -> np.ndarray:
    """Pieces of recordings, one after another, of about equal power."""
    sounds = [decode(file, rate).astype(np.float64) for file in files]
    sounds = [sound / np.sqrt(np.mean(sound**2)) for sound in sounds]
    fade = round(FADE * rate)
    rise = np.sin(np.pi / 2 * (np.arange(fade) + 0.5) / fade)
    out, at = np.zeros(length + 60 * rate), 0
    while at < length:
        sound = sounds[rng.integers(len(sounds))]
        size = min(len(sound), round(rng.uniform(8, 30) * rate))
        first = rng.integers(len(sound) - size + 1)
        piece = sound[first : first + size] * 10 ** (rng.normal(0, 1.5) / 20)
        piece[:fade] *= rise
        piece[-fade:] *= rise[::-1]
        out[at : at + size] += piece
        at += size - fade
    return out[:length]


def trimmed(samples: np.ndarray, rate: int) -> np.ndarray:
    """A clip from where it first to where it last comes within 35 dB of its peak power."""
    frame = rate // 50
    frames = samples[: len(samples) // frame * frame].reshape(-1, frame).astype(np.float64)
    power = np.mean(frames**2, axis=1)
    loud = np.flatnonzero(power > power.max() * 10**-3.5)
    return samples[loud[0] * frame : (loud[-1] + 1) * frame][: round(LONGEST * rate)]


def write_sound(out: Path, name: str, scene: Scene, rate: int) -> None:
    soundfile.write(out / f"{name}.wav", scene.samples, rate, subtype="PCM_16")
    labels = FORMATS["audacity"]
    recording = Recording(name, len(scene.samples) / rate, rate)
    (out / f"{name}{labels.suffix}").write_text(labels.write(scene.truth, [recording]))


def table_lines(results: dict[Setting, dict[str, Scores]]) -> Iterator[str]:
    """A Markdown table: means over places and seeds."""
    cells: dict[tuple[int, int, str], list[Scores]] = {}
    for setting, by_way in results.items():
        for way, values in by_way.items():
            cells.setdefault((setting.density, setting.snr, way), []).append(values)
    names = list(dict.fromkeys(way for _, _, way in cells))
    settings = sorted({(density, snr) for density, snr, _ in cells if density})
    yield f"| events an hour, SNR | {' | '.join(names)} |"
    yield "|---|" + "---|" * len(names)
    rows = {
        f"{density}, {snr} dB": [np.mean(cells[density, snr, way], axis=0) for way in names]
        for density, snr in settings
    }
    rows["mean"] = [np.mean(column, axis=0) for column in zip(*rows.values(), strict=True)]
    for row, values in rows.items():
        yield f"| {row} | " + " | ".join(f"{v[0]:.2f}, {v[1]:.2f}" for v in values) + " |"
    false = {way: [values[2] for values in cells[0, 0, way]] for way in names}
    for row, of in (("mean", np.mean), ("highest", np.max)):
        hourly = " | ".join(f"{of(false[way]):.1f}" for way in names)
        yield f"| false events an hour, none there: {row} | {hourly} |"


if __name__ == "__main__":
    main()
