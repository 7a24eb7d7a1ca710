"""The studies behind ``benchmarks/guard.py``: each draws batches from one condition with one seed.

A study yields (cell, method, figures). Accuracies are in percent, on clips that the calibration has
not seen unless the study says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from guard_data import CHOSEN_ON, Sounds, background, load_condition, spaces

from prism_audio import PRISM
from prism_audio.geometry.confidence import confidence, conviction, probabilities

PRESETS = ("paper", "released", "default")
SIZES = (8, 16, 32, 64, 128, 256, 512, 1000)
# Where paper and released are calibrated too: there, and not at every size, for the time it takes.
RIVAL_SIZES = (32, 128, 512, 1000)
BINS = 15
Row = tuple[str, str, dict[str, Any]]


def sizes(sounds: Sounds, condition: str, rng: np.random.Generator) -> Iterator[Row]:
    """Calibrated on N clips of all classes."""
    E, y, train, test = _halves(sounds, condition, rng)
    for N in SIZES:
        presets = PRESETS if N in RIVAL_SIZES else ("default",)
        yield from _compared(f"{N}", E[train[:N]], E[test], y[test], sounds.text, presets)


def transductive(sounds: Sounds, condition: str, rng: np.random.Generator) -> Iterator[Row]:
    """Calibrated on all clips and tested on the same.

    Drawn is the order of the clips: ``released`` gives other answers in another one.
    """
    E, _ = load_condition(sounds.files[condition])
    order = rng.permutation(len(E))
    yield from _compared("concepts", E[order], E[order], sounds.truth[order], sounds.text)


def other_spaces(sounds: Sounds, condition: str, rng: np.random.Generator) -> Iterator[Row]:
    """The same in the four other spaces, in one order."""
    E, features = load_condition(sounds.files[condition])
    for name, (audio, text) in spaces(E, features, sounds.text).items():
        if name != "concepts":
            yield from _compared(name, audio, audio, sounds.truth, text)


def few(sounds: Sounds, condition: str, rng: np.random.Generator) -> Iterator[Row]:
    """Calibrated on few of the classes, deployed on all."""
    E, y, train, test = _halves(sounds, condition, rng)
    for k in (1, 2, 4, 8):
        heard = train[np.isin(y[train], rng.choice(len(sounds.text), k, replace=False))]
        for N in (64, 512):
            batch = rng.choice(heard, N, replace=len(heard) < N)
            cell = f"{k} class{'es' * (k > 1)}, {N} clips"
            yield from _compared(cell, E[batch], E[test], y[test], sounds.text, ("default",))


def streams(sounds: Sounds, condition: str, rng: np.random.Generator) -> Iterator[Row]:
    """Calibrated on the beginning of a stream: classes come in runs, or some far more often."""
    E, y, train, test = _halves(sounds, condition, rng)
    C = len(sounds.text)
    by_class = [train[y[train] == c] for c in range(C)]
    zipf = rng.permutation(1 / np.arange(1, C + 1))
    for run, N in ((4, 128), (4, 512), (16, 128), (16, 512), (64, 512)):
        heard = np.repeat(rng.integers(C, size=N // run), run)
        batch = np.array([rng.choice(by_class[c]) for c in heard])
        yield from _compared(
            f"runs of {run}, {N} clips", E[batch], E[test], y[test], sounds.text, ("default",)
        )
    for N in (128, 512, 1000):
        batch = np.array([rng.choice(by_class[c]) for c in rng.choice(C, N, p=zipf / zipf.sum())])
        yield from _compared(
            f"Zipf, {N} clips", E[batch], E[test], y[test], sounds.text, ("default",)
        )


def foreign(sounds: Sounds, condition: str, rng: np.random.Generator) -> Iterator[Row]:
    """Half of the classes are asked for; part of the 400 clips of the batch is from the others."""
    E, y, train, test = _halves(sounds, condition, rng)
    C = len(sounds.text)
    wanted = np.sort(rng.choice(C, C // 2, replace=False))
    known, other = (train[np.isin(y[train], wanted, invert=not_in)] for not_in in (False, True))
    test = test[np.isin(y[test], wanted)]
    target = np.searchsorted(wanted, y[test])
    for percent in (0, 10, 20, 30, 40, 50):
        n = 4 * percent
        batch = np.concatenate([known[: 400 - n], other[:n]])
        yield from _compared(
            f"{percent} % foreign", E[batch], E[test], target, sounds.text[wanted], ("default",)
        )


def honesty(sounds: Sounds, condition: str, rng: np.random.Generator) -> Iterator[Row]:
    """Confidence before and after: 15 classes asked for, 10 others as foreign sounds.

    Classes of even number where constants were chosen, of odd number where they are checked.
    """
    E, y, train, test = _halves(sounds, condition, rng)
    parity = 0 if background(condition) in CHOSEN_ON else 1
    classes = rng.permutation(np.arange(parity, len(sounds.text), 2))
    wanted, others = np.sort(classes[:15]), classes[15:]
    text = sounds.text[wanted]
    known = train[np.isin(y[train], wanted)]
    strange = train[np.isin(y[train], others)]
    unseen, stranger = test[np.isin(y[test], wanted)], test[np.isin(y[test], others)]
    target = np.searchsorted(wanted, y[unseen])
    for cell, batch in (
        ("30 clips", known[:30]),
        ("100 clips", known[:100]),
        ("250 clips", known[:250]),
        ("250 clips, 30 % foreign", np.concatenate([known[:175], strange[:75]])),
    ):
        X = E[batch] @ text.T
        model = PRISM().fit(E[batch], prototypes=text)
        S_0, F_0 = E[unseen] @ text.T, E[stranger] @ text.T
        S, F = map(model.decision_function, (E[unseen], E[stranger]))
        for method, reading, of_known, of_foreign in (
            ("zero-shot", confidence(X, X, weight=0.0)._asdict(), S_0, F_0),
            ("default", model.adapter_.facts.to_dict(), S, F),
        ):
            share = reading["zero_shot_share"]
            sure, fooled = conviction(of_known, S_0, share), conviction(of_foreign, F_0, share)
            figures = honest(of_known, target, sure, fooled, reading)
            # What the cosines alone tell of what is foreign.
            figures["auroc_cosine"] = auroc(of_known.max(axis=1), of_foreign.max(axis=1))
            yield cell, method, figures


def lists(sounds: Sounds, condition: str, rng: np.random.Generator) -> Iterator[Row]:
    """Other lists of labels, and batches that hold them badly.

    Classes of even number where constants were chosen, of odd number where they are checked.
    """
    E, y, train, test = _halves(sounds, condition, rng)
    parity = 0 if background(condition) in CHOSEN_ON else 1
    for C, heard in ((2, (2, 1)), (3, (3, 2)), (5, (5, 2)), (10, (10, 1, 3, 5, 8)), (25, (25, 12))):
        wanted = np.sort(rng.permutation(np.arange(parity, len(sounds.text), 2))[:C])
        known = train[np.isin(y[train], wanted)]
        unseen = test[np.isin(y[test], wanted)]
        target = np.searchsorted(wanted, y[unseen])
        batches = {
            f"{C} labels, {k} heard": known[np.isin(y[known], rng.choice(wanted, k, replace=False))]
            for k in heard
        }
        if C == 10:
            most = rng.choice(known[y[known] == wanted[0]], 16 * C)
            batches["10 labels, 80 % one of them"] = np.concatenate([most, known[: 4 * C]])
            batches["10 labels, 20 clips ten times"] = np.repeat(known[:20], 10)
            batches["10 labels, none of them heard"] = train[~np.isin(y[train], wanted)][: 20 * C]
        for cell, batch in batches.items():
            text = sounds.text[wanted]
            yield from _compared(cell, E[batch], E[unseen], target, text, ("default",))
    half = train[np.isin(y[train], rng.choice(len(sounds.text), 25, replace=False))]
    yield from _compared(
        "50 labels, 25 heard", E[half], E[test], y[test], sounds.text, ("default",)
    )


def auroc(sure: np.ndarray, strange: np.ndarray) -> float:
    """How often, in percent, a known clip convinces more than a foreign one."""
    from scipy.stats import rankdata

    n, m = len(sure), len(strange)
    ranks = rankdata(np.concatenate([sure, strange]))[:n]
    return 100 * float((ranks.sum() - n * (n + 1) / 2) / (n * m))


def honest(
    S: np.ndarray,
    target: np.ndarray,
    sure: np.ndarray,
    fooled: np.ndarray,
    reading: dict[str, Any],
) -> dict[str, Any]:
    """Figures of scores ``S`` of known clips, and of the conviction of known and foreign ones."""
    right = S.argmax(axis=1) == target
    ece, bins = calibration_error(probabilities(S, reading["temperature"]), target)
    unknown = sure[:, 0] < reading["unknown_threshold"]
    return {
        "accuracy": 100 * float(right.mean()),
        "ece": ece,
        "bins": bins,
        "auroc": auroc(sure[:, 0], fooled[:, 0]),
        "known_rejected": 100 * float(unknown.mean()),
        "foreign_rejected": 100 * float(np.mean(fooled[:, 0] < reading["unknown_threshold"])),
        "accuracy_lost": 100 * float(np.mean(right & unknown)),
    }


def calibration_error(P: np.ndarray, target: np.ndarray) -> tuple[float, list[list[float]]]:
    """Expected calibration error in percent; per bin the clips, their confidence and right answers."""
    sure, right = P.max(axis=1), P.argmax(axis=1) == target
    number = np.minimum((BINS * sure).astype(int), BINS - 1)
    clips, summed, hits = (
        np.bincount(number, weights=w, minlength=BINS) for w in (np.ones(len(sure)), sure, right)
    )
    bins = np.stack([clips, summed, hits], axis=1)
    return 100 * float(np.abs(summed - hits).sum() / len(sure)), bins.round(4).tolist()


def _halves(
    sounds: Sounds, condition: str, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Embeddings, classes, and the clips to draw batches from and to test on."""
    E, _ = load_condition(sounds.files[condition])
    order = rng.permutation(len(E))
    return E, sounds.truth, order[: len(E) // 2], order[len(E) // 2 :]


def _compared(
    cell: str,
    batch: np.ndarray,
    test: np.ndarray,
    target: np.ndarray,
    text: np.ndarray,
    presets: tuple[str, ...] = PRESETS,
) -> Iterator[Row]:
    """Accuracy of zero-shot and of the presets, calibrated on a batch."""
    zero_shot = (test @ text.T).argmax(axis=1)
    yield cell, "zero-shot", {"accuracy": 100 * float(np.mean(zero_shot == target))}
    for preset in presets:
        model = PRISM(preset).fit(batch, prototypes=text)
        figures: dict[str, Any] = {"accuracy": 100 * float(np.mean(model.predict(test) == target))}
        if preset == "default":
            figures["weight"] = model.verdict_.numbers["weight"]
        yield cell, preset, figures
