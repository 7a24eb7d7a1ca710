from __future__ import annotations

from pathlib import Path

import pytest

from prism_audio.bench.experiment.conditions import Condition
from prism_audio.bench.experiment.reader import read_experiment
from prism_audio.bench.trials.ablation import check_specs
from prism_audio.errors import InputError

EXPERIMENTS = Path(__file__).parents[3] / "experiments"
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
    experiment = read_experiment(EXPERIMENTS / f"{name}.toml")
    check_specs(experiment.methods)
    assert experiment.ours in experiment.focus
    assert len(experiment.focus_methods()) == len(experiment.focus)
    assert experiment.conditions()


def test_what_is_not_said_has_a_default(tmp_path: Path) -> None:
    experiment = read(tmp_path, GOOD)
    assert (experiment.name, experiment.encoder, experiment.ours) == ("trial", "concepts", "soft")
    assert experiment.methods[1].params == {"scale": 50.0}
    assert experiment.recipe.snrs == (6.0, -6.0, 0.0)
    assert (experiment.recipe.kind, experiment.recipe.level) == ("overlay", "rms")


def test_conditions(tmp_path: Path) -> None:
    experiment = read(tmp_path, GOOD).with_places(["b", "a"])
    conditions = experiment.conditions()
    assert conditions[0] == Condition("clean", "clean")
    assert len(set(conditions)) == len(conditions) == 1 + 2 * 4
    assert experiment.typical() == [
        Condition("clean", "clean"),
        Condition("a", "mixed"),
        Condition("b", "mixed"),
    ]
    assert {c.front for c in experiment.typical("noisereduce")} == {"noisereduce"}


def test_without_noise_there_is_one_condition(tmp_path: Path) -> None:
    experiment = read(tmp_path, 'dataset = "tau2019"\nmethods = ["zero_shot"]\n').with_places([])
    assert experiment.conditions() == experiment.typical() == [Condition("clean", "clean")]


def test_a_place_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'moon'.*has park"):
        read(tmp_path, GOOD + 'places = ["moon"]\n').with_places(["park"])


def test_the_small_part(tmp_path: Path) -> None:
    whole = read(tmp_path, GOOD).with_places(["a", "b", "c"])
    part = whole.small_part()
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
        ("[6, -6, 0]", "[6]\nsnr = 3", "unknown key 'noise.snr'"),
        ("[noise]", "focus = ['soft', 'hard']\n[noise]", "focus is 'hard'"),
        ("[noise]", "colour = 'red'\n[noise]", "unknown key 'colour'"),
        ("[noise]", "protocols = ['half']\n[noise]", "'transductive' among them"),
        ("[noise]", "seed = true\n[noise]", "seed is True"),
        ('label = "soft"', 'label = "zero_shot"', "each with a label of its own"),
        ('"zero_shot",', "3,", "methods is 3"),
        ("[noise]", "[noise", "not a TOML file"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, old: str, new: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as error:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert "trial.toml" in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_experiment(tmp_path / "none.toml")
