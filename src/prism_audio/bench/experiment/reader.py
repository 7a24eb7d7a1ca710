"""Read and check an experiment file (TOML)."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prism_audio.bench.experiment.array_files import ArrayFiles
from prism_audio.bench.experiment.conditions import FRONTS, Recipe
from prism_audio.bench.experiment.experiment import Experiment, Spec
from prism_audio.errors import InputError

DATASETS = ("esc50", "us8k", "tau2019", "folder", "arrays")
PROTOCOLS = (
    "transductive",
    "half",
    "cross",
    "few",
    "lists",
    "skewed",
    "stream",
    "calibration",
    "batch",
    "groups",
)
_KINDS = ("overlay", "scene")
_LEVELS = ("rms", "lufs")
_OPTIONAL = ("classes", "folds", "sources", "groups")
# Further parts of the report, beside the protocols.
STUDIES = ("ablation", "sensitivity", "spectrum", "cost")


def read_experiment(path: str | os.PathLike[str]) -> Experiment:
    """Read and check a TOML file; an error names the file, the key and what is wanted."""
    source = Path(path)
    try:
        document = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{source} cannot be read ({error.strerror or error})") from error
    # A number of thousands of digits is a ValueError, thousands of brackets a RecursionError.
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is not a TOML file: {error}") from error
    return _Reader(source, document).experiment()


class _Reader:
    """Takes keys out of the document; a key that is left at the end is unknown."""

    def __init__(self, source: Path, document: dict[str, Any]) -> None:
        self._source, self._document = source, document

    def experiment(self) -> Experiment:
        noise = self._document.pop("noise", {})
        arrays = self._arrays()
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
        experiment = Experiment(
            name=self._source.stem,
            title=self._take("title", str, self._source.stem),
            dataset=self._among("dataset", DATASETS),
            encoder=self._take("encoder", str, "concepts"),
            prompts=self._take("prompts", str, "sentences"),
            recipe=recipe,
            leave_out=tuple(self._take("leave_out", list, [])),
            places=tuple(arrays.conditions if arrays else self._take("places", list, [], noise)),
            clean=self._take("clean", bool, not arrays, noise),
            mixed=self._take("mixed", bool, bool(snrs), noise),
            fronts=self._subset("fronts", FRONTS, [], noise),
            methods=methods,
            focus=self._subset("focus", labels, labels),
            ours=self._among("ours", labels, default=labels[-1]),
            protocols=self._subset("protocols", PROTOCOLS, list(PROTOCOLS)),
            studies=self._subset("studies", STUDIES, list(STUDIES)),
            arrays=arrays,
        )
        for key in (*self._document, *(f"noise.{key}" for key in noise)):
            raise InputError(f"{self._source}: unknown key {key!r}; docs/bench.md lists the keys")
        if "transductive" not in experiment.protocols:
            raise self._wrong("protocols", list(experiment.protocols), "'transductive' among them")
        return experiment

    def _arrays(self) -> ArrayFiles | None:
        if self._document.get("dataset") != "arrays":
            return None
        table = self._take("arrays", dict)
        conditions = self._take("conditions", dict, {}, table)
        if not conditions:
            raise self._wrong("arrays.conditions", conditions, "at least one, name = 'file:key'")
        known = {key: self._take(key, str, "", table) for key in ("text", "labels", *_OPTIONAL)}
        for key in ("text", "labels"):
            if not known[key]:
                raise self._wrong(f"arrays.{key}", None, "'file:key'")
        typical = self._subset("typical", list(conditions), [], table)
        pairs = self._take("pairs", dict, {}, table)
        if pairs and "clean" not in pairs:
            raise self._wrong("arrays.pairs", list(pairs), "'clean' among them")
        for key in table:
            raise InputError(f"{self._source}: unknown key 'arrays.{key}'; see docs/bench.md")
        return ArrayFiles(conditions=conditions, typical=typical, pairs=pairs, **known)

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
