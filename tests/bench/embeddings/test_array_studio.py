"""Experiments on embeddings that somebody made before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from prism_audio.bench.cache import Cache
from prism_audio.bench.embeddings.array_studio import assemble_arrays
from prism_audio.bench.experiment.protocols import cases
from prism_audio.bench.experiment.reader import read_experiment
from prism_audio.bench.trials.runner import plan, run
from prism_audio.cli.bench import command
from prism_audio.errors import InputError
from prism_audio.methods import make
from tests.helpers.shift import shifted, unit

TOML = """
dataset = "arrays"
methods = ["zero_shot", "sinkhorn", "pca_pp", { name = "prism_paper", K = 2 }, "prism_car", "prism"]
protocols = ["transductive", "half", "lists", "calibration"]
studies = ["spectrum", "ablation"]
[arrays]
text = "clips.npz:T"
labels = "clips.npz:y"
typical = ["two: hall"]
[arrays.conditions]
"one: clean" = "clips.npz:E"
"two: hall" = "hall.npy"
[arrays.pairs]
clean = "clips.npz:E"
hall = "hall.npy"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    E, T, truth, background = shifted(480, 24, 12, seed=1, shift=0.3)
    np.savez(tmp_path / "clips.npz", E=2 * E, T=T.astype(np.float16), y=truth)
    np.save(tmp_path / "hall.npy", unit(E + 0.4 * background).astype(np.float32))
    (tmp_path / "arrays.toml").write_text(TOML)
    return tmp_path


def test_conditions_are_unit_rows_of_the_files(folder: Path) -> None:
    bench = assemble_arrays(read_experiment(folder / "arrays.toml"), folder, Cache(folder / "c"))
    conditions = bench.experiment.conditions()
    assert [c.background for c in conditions] == ["one: clean", "two: hall"]
    assert [c.background for c in bench.experiment.typical()] == ["two: hall"]
    rows = bench.studio.embedding(conditions[0])
    np.testing.assert_allclose(rows, np.load(folder / "clips.npz")["E"] / 2, atol=1e-6)
    assert bench.studio.path(conditions[0]).is_file()
    assert bench.studio.path(conditions[0]) != bench.studio.path(conditions[1])
    assert list(bench.pairs) == ["clean", "hall"]


def test_a_short_list_is_answered_with_its_own_labels(folder: Path) -> None:
    bench = assemble_arrays(read_experiment(folder / "arrays.toml"), folder, Cache(folder / "c"))
    here = bench.experiment.conditions()
    jobs = plan(bench, bench.experiment.methods[:2], cases("lists", bench.clips, here, here))
    done = run(bench, jobs, workers=1)
    assert not done.failures
    for answer in done.answers:
        classes, rows = answer.case.classes, answer.rows
        assert classes is not None
        E = bench.studio.embedding(answer.tested)[rows]
        expected = make(answer.method).fit(E, bench.text[classes]).labels
        np.testing.assert_array_equal(answer.labels, classes[expected])


def test_from_arrays_to_a_report(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    app = typer.Typer()
    app.command()(command)
    arguments = [folder / "arrays.toml", "--data", folder, "-o", folder / "out", "--workers", "1"]
    done = CliRunner().invoke(app, [*map(str, arguments), "--cache", str(folder / "cache")])
    assert done.exit_code == 0, done.output
    text = (folder / "out" / "README.md").read_text()
    for words in ("By space", "one (1)", "two, 10 labels", "By condition", "The paper's claims"):
        assert words in text
    assert str(folder) not in text
    assert "`prism bench experiments/arrays.toml --data DATA -o RESULTS`" in text


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("clips.npz:y", "clips.npz:z", r"no array 'z'; it has E, T, y"),
        ("clips.npz:y", "clips.npz:T", "no labels"),
        ('= "hall.npy"', '= "clips.npz:T"', r"'two: hall'.*shape \(12, 24\)"),
        ("hall.npy", "yard.npy", "yard.npy cannot be read"),
    ],
)
def test_files_that_do_not_fit_are_named(folder: Path, old: str, new: str, reason: str) -> None:
    (folder / "arrays.toml").write_text(TOML.replace(old, new, 1))
    with pytest.raises(InputError, match=reason):
        assemble_arrays(read_experiment(folder / "arrays.toml"), folder, Cache(folder / "c"))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('labels = "clips.npz:y"', "", "arrays.labels"),
        ("typical = [", "rows = [", "unknown key 'arrays.rows'"),
        ('["two: hall"]', '["three"]', "typical is 'three'"),
        ('clean = "clips.npz:E"', "", "'clean' among them"),
    ],
)
def test_wrong_tables_are_refused(folder: Path, old: str, new: str, reason: str) -> None:
    (folder / "arrays.toml").write_text(TOML.replace(old, new, 1))
    with pytest.raises(InputError, match=reason):
        read_experiment(folder / "arrays.toml")
