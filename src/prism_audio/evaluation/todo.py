"""A folder of clips to listen to: short sound files, a sheet for the labels, and what it came from.

    todo/sheet.csv                   a line a clip; the column label is for what is heard
    todo/clips/0001.wav              the clip; 0001.txt beside it is a label track for Audacity
    todo/label_studio.json .xml      the same as tasks for Label Studio, and their interface
    todo/pick.json                   the store and the settings of the pick

A label track holds "dog bark?": a label that ends in a question mark is a suggestion that nobody has
confirmed. Labels in the tracks are taken over into the sheet by the next pick into the same folder.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_audio.audio.cut import as_wav, cut
from prism_audio.errors import InputError, PrismError
from prism_audio.evaluation.picking import Picks
from prism_audio.evaluation.population import OTHER as NO_CLASS
from prism_audio.evaluation.population import Population
from prism_audio.io.atomic import atomic_write
from prism_audio.io.table_files import write_table
from prism_audio.labelling.formats.audacity import Audacity
from prism_audio.labelling.formats.base import TimedLabel
from prism_audio.labelling.formats.label_studio import interface, tasks
from prism_audio.labelling.sheet import OTHER, read_sheet
from prism_audio.store.store import Store, read_description

SHEET, ABOUT, CLIPS = "sheet.csv", "pick.json", "clips"
COLUMNS = ("file", "start", "end", "label", "suggestion", "probability", "clip")
# Seconds of sound around a window, which alone is too short to judge, and the longest clip.
CONTEXT, LONGEST = 1.0, 60.0

Key = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class Todo:
    """A pick that is to be written: the store, the classes, and the clips."""

    store: Store
    labels: Sequence[str]
    population: Population
    picks: Picks

    def rows(self, given: dict[Key, str]) -> list[dict[str, Any]]:
        """The lines of the sheet, with the labels that were given before."""
        paths, start, end = self.store.paths, self.store.start, self.store.end
        answers = [self.population.answer[i] for i in self.picks.rows]
        lines: list[dict[str, Any]] = []
        for number, (i, answer) in enumerate(zip(self.picks.rows, answers, strict=True), start=1):
            key = (paths[i], f"{start[i]:.3f}", f"{end[i]:.3f}")
            values = (
                *key,
                given.get(key, ""),
                OTHER if answer == NO_CLASS else self.labels[answer],
                f"{self.picks.probability[number - 1]:.6g}",
                f"{CLIPS}/{number:04d}.wav",
            )
            lines.append(dict(zip(COLUMNS, values, strict=True)))
        return lines

    def write(self, folder: Path, settings: dict[str, Any]) -> list[tuple[str, str]]:
        """Write or update the folder; gives the recordings whose sound could not be cut, and why.

        Raises
        ------
        InputError
            If the folder holds labels of clips that are not in this pick.
        """
        before = read_picked(folder)
        given = {key: label for key, label in before.items() if label}
        lines = self.rows(given)
        lost = set(given) - {_key(line) for line in lines}
        if lost:
            raise InputError(
                f"{folder} holds labels of clips that are not in this pick, such as "
                f"{min(lost)[0]}: that pick had another seed, adapter or store, or more clips. Give "
                f"another --out, or the settings in {folder / ABOUT}"
            )
        clips = folder / CLIPS
        clips.mkdir(parents=True, exist_ok=True)
        if list(before)[: len(lines)] != [_key(line) for line in lines][: len(before)]:
            for file in (*clips.glob("*.wav"), *clips.glob("*.txt")):
                file.unlink()  # of another pick, under the same names
        failures = []
        for line in lines:
            try:
                self._write_clip(folder, line)
            except PrismError as error:
                failures.append((line["file"], str(error)))
                line["clip"] = ""
        heard = [line for line in lines if line["clip"]]
        _write(folder / "label_studio.json", tasks(heard).encode())
        _write(folder / "label_studio.xml", interface([*self.labels, OTHER]).encode())
        _write(folder / ABOUT, (json.dumps(settings, indent=1) + "\n").encode())
        write_table(folder / SHEET, COLUMNS, lines)
        return failures

    def _write_clip(self, folder: Path, line: dict[str, Any]) -> None:
        """Cut the sound of a line, with its label track; sound that is there already stays."""
        path = folder / line["clip"]
        start, end = float(line["start"]), float(line["end"])
        context = CONTEXT if self.store.settings.row == "window" else 0.0
        first, last = max(start - context, 0.0), min(end, start + LONGEST)
        if not path.exists():
            source = Path(read_description(self.store.path).get("source", "")) / line["file"]
            _write(path, as_wav(*cut(source, first, last + context)))
        label = line["label"] or f"{line['suggestion']}?"
        event = TimedLabel(path.stem, start - first, last - first, label)
        _write(path.with_suffix(".txt"), Audacity().write([event], []).encode())


def read_picked(folder: Path) -> dict[Key, str]:
    """The clips of an earlier pick into the folder, in order, with their labels or "".

    A label comes from the sheet, or else from the label track of the clip.
    """
    if not (folder / SHEET).exists():
        return {}
    return {
        (row.file, f"{row.start or 0:.3f}", f"{row.end or 0:.3f}"): row.label
        or _track_label(folder / CLIPS / f"{number:04d}.txt")
        for number, row in enumerate(read_sheet(folder / SHEET), start=1)
    }


def read_settings(sheet: Path) -> dict[str, Any]:
    """The settings of the pick that a sheet belongs to; empty where they are not beside it."""
    try:
        settings = json.loads((sheet.parent / ABOUT).read_bytes())
    except (OSError, ValueError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _track_label(path: Path) -> str:
    """The label of a track that a person has confirmed."""
    try:
        events = Audacity().read(path.read_text(encoding="utf-8-sig"), str(path))
    except OSError:
        return ""
    return next((event.label for event in events if not event.label.endswith("?")), "")


def _write(path: Path, content: bytes) -> None:
    with atomic_write(path) as file:
        file.write(content)


def _key(line: dict[str, Any]) -> Key:
    return line["file"], line["start"], line["end"]
