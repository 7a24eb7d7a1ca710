"""What a few labels are worth: PRISM with labels beside classifiers on the labels alone.

    python benchmarks/labels.py CLAP CONDITIONS ESC50 --out FOLDER [--draws 1] [--only PATTERN]

CLAP holds the array files esc50_*.npz, CONDITIONS is the folder ``conditions`` of a cache that
``prism bench experiments/esc50.toml`` has filled, ESC50 the folder of the dataset. In every condition
the clips are dealt into four folds with as many of each class. The whole list of 50 classes is
calibrated on one fold (500 clips) and judged on the other three; three lists of 10 that share no class
are calibrated on three folds (300 clips of the 400 that there are) and judged on the fourth. Each fold
has its turn, so a condition is judged on all of its clips, with four draws of labels for the long list
and twelve for the short ones. Labels are drawn at random: 0, 1, 2, 5 or 10 a class; 1 and 5 a class with
5 % of them wrong, and 1 and 5 a class of half of the classes. Two processes with one BLAS thread each;
FOLDER/results.jsonl keeps what is done, and a run that was stopped goes on from there. Writes
FOLDER/labels.md and a picture.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "study"))
from labels_report import HARD, METHODS, Result, report
from spaces import Sounds, load_condition, load_sounds

from prism_audio import PRISM

COUNTS = (1, 2, 5, 10)
WRONG = 0.05
FOLDS = 4


class Place(NamedTuple):
    """A batch (E, y) of a condition, what it is judged on, and the calibration without labels."""

    E: np.ndarray
    y: np.ndarray
    T: np.ndarray
    unseen: np.ndarray
    truth: np.ndarray
    blind: PRISM

    @property
    def C(self) -> int:
        return len(self.T)


def places(sounds: Sounds, name: str, rng: np.random.Generator) -> Iterator[Place]:
    """The list of 50, and three lists of 10, once for every fold."""
    E, T, y = load_condition(sounds, name)
    fold = np.empty(len(y), dtype=int)
    for c in range(len(T)):
        own = rng.permutation(np.flatnonzero(y == c))
        fold[own] = np.arange(len(own)) % FOLDS
    order = rng.permutation(len(T))
    for classes in (np.arange(len(T)), *np.split(order[:30], 3)):
        number = np.full(len(T), -1)
        number[classes] = np.arange(len(classes))
        own = number[y] >= 0
        for turn in range(FOLDS):
            batch = own & ((fold == turn) if own.all() else (fold != turn))
            rest = own & ~batch
            blind = PRISM().fit(E[batch], prototypes=T[classes])
            yield Place(E[batch], number[y[batch]], T[classes], E[rest], number[y[rest]], blind)


def draw(place: Place, cell: str, rng: np.random.Generator) -> np.ndarray:
    """Labels (N,) of a cell such as ``5 labels, half``; -1 where there is none."""
    count, C = int(cell.split()[0]), place.C
    classes = rng.permutation(C)[: C // 2] if "half" in cell else np.arange(C)
    y = np.full(len(place.y), -1)
    for c in classes:
        y[rng.permutation(np.flatnonzero(place.y == c))[:count]] = c
    if "wrong" in cell:
        known = np.flatnonzero(y >= 0)
        wrong = rng.permutation(known)[: max(round(WRONG * len(known)), 1)]
        y[wrong] = (y[wrong] + rng.integers(1, C, len(wrong))) % C
    return y


def ours(place: Place, y: np.ndarray) -> np.ndarray:
    """PRISM with the labels."""
    return PRISM().fit(place.E, y, prototypes=place.T).predict(place.unseen)


def logistic_regression(place: Place, y: np.ndarray) -> np.ndarray:
    """On the labels alone, at one fixed strength."""
    from sklearn.linear_model import LogisticRegression

    known = y >= 0
    X, test = (10 * (E - place.E.mean(axis=0)) for E in (place.E[known], place.unseen))
    return np.asarray(LogisticRegression(C=0.1, max_iter=60).fit(X, y[known]).predict(test))


def shrunk_lda(place: Place, y: np.ndarray) -> np.ndarray | None:
    """Linear discriminant, one covariance for all classes as by Ledoit and Wolf; two clips of a class.

    scikit-learn's own shrinks the covariance of every class apart, which two clips cannot bear.
    """
    from sklearn.covariance import ledoit_wolf

    X, known = place.E[y >= 0].astype(float), y[y >= 0]
    classes, inverse, counts = np.unique(known, return_inverse=True, return_counts=True)
    if len(X) <= len(classes):
        return None
    means = np.stack([X[known == c].mean(axis=0) for c in classes])
    spread, _ = ledoit_wolf(X - means[inverse], assume_centered=True)
    heads = np.linalg.solve(spread * len(X) / (len(X) - len(classes)), means.T)
    scores = place.unseen @ heads - (means.T * heads).sum(axis=0) / 2 + np.log(counts)
    return classes[scores.argmax(axis=1)]


def cache(place: Place, y: np.ndarray) -> np.ndarray:
    """Tip-Adapter's form on the corrected rows: scores of the text + labels of near clips.

    softmax logits / t + alpha exp(-beta (1 - e e_i)) one-hot(y_i), with alpha and beta by the labelled
    clips themselves, each left out in turn.
    """
    model, known = place.blind, np.flatnonzero(y >= 0)
    Y = np.eye(place.C)[y[known]]
    keys, test = model.transform(place.E[known]), model.transform(place.unseen)
    S, S_test = (model.decision_function(E) for E in (place.E[known], place.unseen))
    scale = 1 / (0.08 * np.sqrt(place.C) * S.std(axis=1).mean())
    near = keys @ keys.T
    best, chosen = -1.0, (0.0, 5.5)
    for beta in (1.0, 5.5, 20.0):
        K = np.exp(-beta * (1 - near))
        np.fill_diagonal(K, 0)
        for alpha in (0.0, 0.3, 1.0, 3.0, 10.0):
            right = float(np.mean((scale * S + alpha * K @ Y).argmax(axis=1) == y[known]))
            if right > best:
                best, chosen = right, (alpha, beta)
    alpha, beta = chosen
    return np.asarray(
        (scale * S_test + alpha * np.exp(-beta * (1 - test @ keys.T)) @ Y).argmax(axis=1)
    )


def naive_anchors(place: Place, y: np.ndarray) -> np.ndarray:
    """Corrected rows to the nearest class mean, of the labelled rows and the prototype as one more."""
    model, known = place.blind, y >= 0
    rows = model.transform(place.E[known])
    means = place.T + np.eye(place.C)[y[known]].T @ rows
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    return np.asarray((model.transform(place.unseen) @ means.T).argmax(axis=1))


RIVALS: dict[str, Callable[[Place, np.ndarray], np.ndarray | None]] = dict(
    zip(METHODS, (ours, logistic_regression, shrunk_lda, cache, naive_anchors), strict=True)
)


def measure(task: tuple[Sounds, str, int]) -> list[Result]:
    """Accuracies of one condition and draw."""
    warnings.simplefilter("ignore")
    sounds, name, seed = task
    rng = np.random.default_rng([seed, *name.encode()])
    results: list[Result] = []

    def note(place: Place, cell: str, method: str, answers: np.ndarray | None) -> None:
        if answers is not None:
            right = 100 * float(np.mean(answers == place.truth))
            results.append(Result(name, place.C, cell, method, right))

    for place in places(sounds, name, rng):
        note(place, "0 labels", "default", place.blind.predict(place.unseen))
        for count in COUNTS:
            cell = f"{count} label{'s' * (count > 1)}"
            y = draw(place, cell, rng)
            for method, answer in RIVALS.items():
                note(place, cell, method, answer(place, y))
        for cell in HARD:
            note(place, cell, METHODS[0], ours(place, draw(place, cell, rng)))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for folder in ("clap", "conditions", "esc50"):
        parser.add_argument(folder, type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for report and picture")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--only", default="", help="conditions of that pattern")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    sounds = load_sounds(given.clap, given.conditions, given.esc50)
    names = [name for name in sounds.files if re.search(given.only, name)]
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    log = given.out / "results.jsonl"
    done = read_log(log)
    tasks = [(n, seed) for seed in range(given.draws) for n in names if (n, seed) not in done]
    began = time.perf_counter()
    with (
        ProcessPoolExecutor(given.processes, get_context("spawn")) as pool,
        log.open("a", encoding="utf-8") as file,
    ):
        for count, (task, results) in enumerate(
            zip(tasks, pool.map(measure, [(sounds, *task) for task in tasks]), strict=True), 1
        ):
            done[task] = results
            file.write(json.dumps([*task, results]) + "\n")
            file.flush()
            print(f"{count} of {len(tasks)}, {time.perf_counter() - began:.0f} s", file=sys.stderr)
    report([result for results in done.values() for result in results], given.out)


def read_log(log: Path) -> dict[tuple[str, int], list[Result]]:
    """What an earlier run has measured; remove the file where the code has changed since."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    entries = (json.loads(line) for line in lines)
    return {(name, seed): [Result(*r) for r in results] for name, seed, results in entries}


if __name__ == "__main__":
    main()
