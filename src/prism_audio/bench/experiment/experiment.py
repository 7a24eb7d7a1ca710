"""An experiment: what is mixed with what, which methods are compared, and under which protocols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from prism_audio.bench.experiment.array_files import GIVEN, ArrayFiles
from prism_audio.bench.experiment.conditions import CLEAN, MIXED, Condition, Recipe
from prism_audio.errors import InputError

# What the name of a small part ends in.
QUICK = "-quick"


@dataclass(frozen=True)
class Spec:
    """A method of the registry with parameters, and its name in the tables."""

    name: str
    params: dict[str, Any] = field(default_factory=dict)
    label: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.name)


@dataclass(frozen=True)
class Experiment:
    """The content of an experiment file."""

    # For file names and for the heading of the report.
    name: str
    title: str
    dataset: str  # the layout of the clips, one of ``reader.DATASETS``
    # As after ``--encoder`` and ``--prompts``.
    encoder: str
    prompts: str
    recipe: Recipe  # how mixtures are made
    leave_out: tuple[str, ...]  # file names, without suffix, of clips that do not take part
    places: tuple[str, ...]  # backgrounds by name; all that exist, if empty
    # Whether clips without noise, and clips each at an SNR of its own, are conditions too.
    clean: bool
    mixed: bool
    fronts: tuple[str, ...]  # treatments before the encoder that are compared with none
    methods: tuple[Spec, ...]  # methods that run in every condition
    focus: tuple[str, ...]  # labels of the methods in the other protocols and in the pictures
    ours: str  # label of the method that the report is about
    # Which of ``reader.PROTOCOLS`` and ``reader.STUDIES`` to run.
    protocols: tuple[str, ...]
    studies: tuple[str, ...]
    arrays: ArrayFiles | None = None  # files with embeddings, in place of clips and noise

    def conditions(self) -> list[Condition]:
        """Every condition, from clean to the lowest SNR of each place; or every array."""
        if self.arrays:
            return [Condition(name, GIVEN) for name in self.arrays.conditions]
        clean = [Condition(CLEAN, CLEAN)] if self.clean else []
        levels: list[float | str] = [MIXED] if self.mixed and self.places else []
        levels += sorted(self.recipe.snrs, reverse=True)
        return clean + [Condition(place, level) for place in self.places for level in levels]

    def typical(self, front: str = "") -> list[Condition]:
        """Each place once: for treatments, and for all protocols but the transductive one."""
        if self.arrays:
            return [Condition(name, GIVEN) for name in self.arrays.typical or self.places]
        level: float | str = MIXED if self.mixed else min(self.recipe.snrs, default=MIXED)
        clean = [Condition(CLEAN, CLEAN, front)] if self.clean else []
        return clean + [Condition(place, level, front) for place in self.places]

    def focus_methods(self) -> list[Spec]:
        """The methods in focus, in their order."""
        return [spec for label in self.focus for spec in self.methods if spec.label == label]

    def with_places(self, places: Sequence[str]) -> Experiment:
        """The same with all the places that exist; an error if one it names does not."""
        absent = set(self.places) - set(places)
        if absent:
            raise InputError(
                f"the experiment {self.name} needs the background {min(absent)!r}; the folder of "
                f"backgrounds has {', '.join(sorted(places)) or 'none'}"
            )
        return replace(self, places=self.places or tuple(sorted(places)))

    def small_part(self) -> Experiment:
        """Two places and two SNRs; the caller takes one fold of the dataset."""
        snrs = sorted(self.recipe.snrs)
        few = tuple(dict.fromkeys((snrs[0], snrs[len(snrs) // 2]))) if snrs else ()
        recipe = replace(self.recipe, snrs=few)
        name, title = f"{self.name}{QUICK}", f"{self.title} (a small part)"
        places = self.places[:2]
        return replace(self, name=name, title=title, recipe=recipe, places=places, fronts=())
