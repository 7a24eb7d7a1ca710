from __future__ import annotations

from pathlib import Path

import pytest

from prism_audio.bench.ablation import check_specs
from prism_audio.bench.conditions import Condition
from prism_audio.bench.config import read_experiment
from prism_audio.errors import InputError

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
GOOD = """
dataset = "esc50"
methods = ["zero_shot", { name = "sinkhorn", scale = 50.0, label = "soft" }]
[noise]
snrs = [6, -6, 0]
"""


def read(tmp_path: Path, text: str):
    path = tmp_path / "trial.toml"
    path.write_text(text)
    return read_experiment(path)


@pytest.mark.parametrize("name", ["esc50", "us8k", "dcase"])
def test_the_shipped_experiments_are_whole(name: str) -> None:
    found = read_experiment(EXPERIMENTS / f"{name}.toml")
    check_specs(found.methods)
    assert found.ours in found.focus
    assert len(found.in_focus()) == len(found.focus)
    assert found.conditions()


def test_what_is_not_said_has_a_default(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD)
    assert (found.name, found.encoder, found.ours) == ("trial", "concepts", "soft")
    assert found.methods[1].params == {"scale": 50.0}
    assert found.recipe.snrs == (6.0, -6.0, 0.0)
    assert (found.recipe.kind, found.recipe.level) == ("overlay", "rms")


def test_conditions(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD).at(["b", "a"])
    conditions = found.conditions()
    assert conditions[0] == Condition("clean", "clean")
    assert len(set(conditions)) == len(conditions) == 1 + 2 * 4
    assert found.typical() == [
        Condition("clean", "clean"),
        Condition("a", "mixed"),
        Condition("b", "mixed"),
    ]
    assert {c.front for c in found.typical("noisereduce")} == {"noisereduce"}


def test_without_noise_there_is_one_condition(tmp_path: Path) -> None:
    found = read(tmp_path, 'dataset = "tau2019"\nmethods = ["zero_shot"]\n').at([])
    assert found.conditions() == found.typical() == [Condition("clean", "clean")]


def test_a_place_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'moon'.*has park"):
        read(tmp_path, GOOD + 'places = ["moon"]\n').at(["park"])


def test_quickly_is_a_part(tmp_path: Path) -> None:
    whole = read(tmp_path, GOOD).at(["a", "b", "c"])
    part = whole.quickly()
    assert part.places == ("a", "b")
    assert set(part.recipe.snrs) < set(whole.recipe.snrs)
    assert min(part.recipe.snrs) == min(whole.recipe.snrs)
    assert part.name != whole.name


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"esc50"', '"esc500"', "dataset is 'esc500'; wanted one of esc50"),
        ("methods", "method", "methods is None"),
        ("[6, -6, 0]", '["loud"]', "different numbers of decibels"),
        ("[6, -6, 0]", "[1, 1]", "different numbers of decibels"),
        ("[6, -6, 0]", "[6]\nkind = 'shout'", "kind is 'shout'"),
        ("[6, -6, 0]", "[6]\nsnr = 3", "'noise.snr' is not known"),
        ("[noise]", "focus = ['soft', 'hard']\n[noise]", "focus is 'hard'"),
        ("[noise]", "colour = 'red'\n[noise]", "'colour' is not known"),
        ("[noise]", "protocols = ['half']\n[noise]", "'transductive' among them"),
        ("[noise]", "seed = true\n[noise]", "seed is True"),
        ('label = "soft"', 'label = "zero_shot"', "each with a label of its own"),
        ('"zero_shot",', "3,", "methods is 3"),
        ("[noise]", "[noise", "no TOML file"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, old: str, new: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as told:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert "trial.toml" in str(told.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_experiment(tmp_path / "none.toml")
