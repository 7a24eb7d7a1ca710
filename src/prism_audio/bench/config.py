"""An experiment: a small TOML file that says what is mixed with what, and which methods are tried."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from prism_audio.bench.conditions import CLEAN, MIXED, Condition, Recipe
from prism_audio.bench.fronts import FRONTS
from prism_audio.errors import InputError

DATASETS = ("esc50", "us8k", "tau2019", "folder")
PROTOCOLS = (
    "transductive",
    "half",
    "cross",
    "few",
    "skewed",
    "stream",
    "calibration",
    "batch",
    "groups",
)
# What the name of a small part ends in.
QUICK = "-quick"
_KINDS = ("overlay", "scene")
_LEVELS = ("rms", "lufs")
# Beside the protocols: what the report also looks into.
STUDIES = ("ablation", "sensitivity", "spectrum", "cost")


@dataclass(frozen=True)
class Spec:
    """A method of the registry with parameters, and what the tables call it."""

    name: str
    params: dict[str, Any] = field(default_factory=dict)
    label: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.name)


@dataclass(frozen=True)
class Experiment:
    """What a TOML file asks for.

    Attributes
    ----------
    name, title : str
        For file names and for the heading of the report.
    dataset : str
        One of :data:`DATASETS`.
    encoder, prompts : str
        As after ``--encoder`` and ``--prompts``.
    recipe : Recipe
        How mixtures are made.
    leave_out : tuple of str
        File names of clips that do not take part, without suffix.
    places : tuple of str
        Backgrounds by name; all there are, if empty.
    clean, mixed : bool
        Whether the clips as they are, and clips each at an SNR of its own, are conditions too.
    fronts : tuple of str
        Treatments before the encoder that are compared with none.
    methods : tuple of Spec
        Tried in every condition.
    focus : tuple of str
        Labels of the methods that the other protocols and the pictures show.
    ours : str
        Label of the method that the report speaks about.
    protocols, studies : tuple of str
        Which of :data:`PROTOCOLS` and :data:`STUDIES` to run.
    """

    name: str
    title: str
    dataset: str
    encoder: str
    prompts: str
    recipe: Recipe
    leave_out: tuple[str, ...]
    places: tuple[str, ...]
    clean: bool
    mixed: bool
    fronts: tuple[str, ...]
    methods: tuple[Spec, ...]
    focus: tuple[str, ...]
    ours: str
    protocols: tuple[str, ...]
    studies: tuple[str, ...]

    def conditions(self) -> list[Condition]:
        """Every condition, from clean to the worst of each place."""
        found = [Condition(CLEAN, CLEAN)] if self.clean else []
        levels: list[float | str] = [MIXED] if self.mixed and self.places else []
        levels += sorted(self.recipe.snrs, reverse=True)
        return found + [Condition(place, level) for place in self.places for level in levels]

    def typical(self, front: str = "") -> list[Condition]:
        """Each place once: the conditions of treatments, and of all protocols but the first."""
        level: float | str = MIXED if self.mixed else min(self.recipe.snrs, default=MIXED)
        found = [Condition(CLEAN, CLEAN, front)] if self.clean else []
        return found + [Condition(place, level, front) for place in self.places]

    def in_focus(self) -> list[Spec]:
        """The methods in focus, in their order."""
        return [spec for label in self.focus for spec in self.methods if spec.label == label]

    def at(self, places: Sequence[str]) -> Experiment:
        """The same with the places that there are, or an error for one that is not."""
        absent = set(self.places) - set(places)
        if absent:
            raise InputError(
                f"the experiment {self.name} wants the background {min(absent)!r}; the folder of "
                f"backgrounds has {', '.join(sorted(places)) or 'none'}"
            )
        return replace(self, places=self.places or tuple(sorted(places)))

    def quickly(self) -> Experiment:
        """A small part: two places, two SNRs, one fold of the dataset (taken by the caller)."""
        snrs = sorted(self.recipe.snrs)
        few = tuple(dict.fromkeys((snrs[0], snrs[len(snrs) // 2]))) if snrs else ()
        recipe = replace(self.recipe, snrs=few)
        name, title = f"{self.name}{QUICK}", f"{self.title} (a small part)"
        places = self.places[:2]
        return replace(self, name=name, title=title, recipe=recipe, places=places, fronts=())


def read_experiment(path: str | os.PathLike[str]) -> Experiment:
    """Read and check a TOML file; an error names the file, the key and what is wanted."""
    source = Path(path)
    try:
        document = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{source} cannot be read ({error.strerror or error})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{source} is no TOML file: {error}") from error
    return _Reader(source, document).experiment()


class _Reader:
    """Takes keys out of the document; what is left at the end was not known."""

    def __init__(self, source: Path, document: dict[str, Any]) -> None:
        self._source, self._document = source, document

    def experiment(self) -> Experiment:
        noise = self._document.pop("noise", {})
        methods = self._specs(self._take("methods", list))
        labels = [spec.label for spec in methods]
        snrs = self._take("snrs", list, [], noise)
        if not all(isinstance(snr, int | float) for snr in snrs) or len(set(snrs)) < len(snrs):
            raise self._wrong("noise.snrs", snrs, "different numbers of decibels")
        recipe = Recipe(
            tuple(float(snr) for snr in snrs),
            self._among("kind", _KINDS, noise),
            self._among("level", _LEVELS, noise),
            self._take("seed", int, 0),
        )
        found = Experiment(
            name=self._source.stem,
            title=self._take("title", str, self._source.stem),
            dataset=self._among("dataset", DATASETS),
            encoder=self._take("encoder", str, "concepts"),
            prompts=self._take("prompts", str, "paper"),
            recipe=recipe,
            leave_out=tuple(self._take("leave_out", list, [])),
            places=tuple(self._take("places", list, [], noise)),
            clean=self._take("clean", bool, True, noise),
            mixed=self._take("mixed", bool, bool(snrs), noise),
            fronts=self._subset("fronts", tuple(FRONTS), [], noise),
            methods=methods,
            focus=self._subset("focus", labels, labels),
            ours=self._among("ours", labels, default=labels[-1]),
            protocols=self._subset("protocols", PROTOCOLS, list(PROTOCOLS)),
            studies=self._subset("studies", STUDIES, list(STUDIES)),
        )
        for key in (*self._document, *(f"noise.{key}" for key in noise)):
            raise InputError(f"{self._source}: the key {key!r} is not known; see docs/bench.md")
        if "transductive" not in found.protocols:
            raise self._wrong("protocols", list(found.protocols), "'transductive' among them")
        return found

    def _specs(self, entries: list[Any]) -> tuple[Spec, ...]:
        specs = []
        for entry in entries:
            if isinstance(entry, str):
                specs.append(Spec(entry))
            elif isinstance(entry, dict) and isinstance(entry.get("name"), str):
                params = {k: v for k, v in entry.items() if k not in ("name", "label")}
                specs.append(Spec(entry["name"], params, str(entry.get("label", ""))))
            else:
                raise self._wrong("methods", entry, "names, or tables with a name")
        labels = [spec.label for spec in specs]
        if not specs or len(set(labels)) < len(labels):
            raise self._wrong("methods", labels, "at least one, each with a label of its own")
        return tuple(specs)

    def _take(self, key: str, kind: type, default: Any = None, table: Any = None) -> Any:
        values = self._document if table is None else table
        value = values.pop(key, default)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self._wrong(key, value, f"a value of the type {kind.__name__}")
        return value

    def _among(
        self, key: str, allowed: Sequence[str], table: Any = None, default: str | None = None
    ) -> Any:
        value = self._take(key, str, default or allowed[0], table)
        if value not in allowed:
            raise self._wrong(key, value, f"one of {', '.join(allowed)}")
        return value

    def _subset(
        self, key: str, allowed: Sequence[str], default: list[str], table: Any = None
    ) -> tuple[str, ...]:
        values = self._take(key, list, default, table)
        for value in values:
            if value not in allowed:
                raise self._wrong(key, value, f"some of {', '.join(allowed)}")
        return tuple(values)

    def _wrong(self, key: str, value: Any, wanted: str) -> InputError:
        return InputError(f"{self._source}: {key} is {value!r}; wanted {wanted}")
