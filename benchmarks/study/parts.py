"""The parts of the study: each draws batches from one condition with one seed.

A part yields records: cell, method, and figures in percent. Accuracies are on clips that the
calibration has not seen unless the part says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from figures import auroc, calibration_error
from spaces import Sounds, load_condition, unit

from prism_audio import PRISM
from prism_audio.geometry.confidence import confidence, conviction, probabilities
from prism_audio.methods import make

Record = dict[str, Any]
RIVALS: dict[str, dict[str, Any]] = {
    "sinkhorn": {"scale": "matched"},
    "gaussian_em": {"scale": "matched"},
    "stata": {},
}
# Random lists of so many labels that a draw takes: of the short ones many, since they differ most.
LISTS = {25: 1, 10: 3, 5: 9, 3: 9, 2: 9}
HEARD = (0.2, 0.4, 0.6, 0.8, 1.0)


class Draw(NamedTuple):
    """A list of classes of one condition, and the clips to draw from and to test on."""

    E: np.ndarray
    T: np.ndarray
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray
    foreign: np.ndarray
    rng: np.random.Generator

    @property
    def C(self) -> int:
        return len(self.T)

    def batch(self, N: int, heard: np.ndarray, shares: np.ndarray | None = None) -> np.ndarray:
        """Up to ``N`` different clips of the classes ``heard``, evenly or by ``shares``."""
        even = np.arange(N) % len(heard)
        kinds = even if shares is None else self.rng.choice(len(heard), N, p=shares / shares.sum())
        wanted = np.bincount(kinds, minlength=len(heard))
        pools = (self.rng.permutation(self.train[self.y[self.train] == c]) for c in heard)
        return np.concatenate([pool[:n] for pool, n in zip(pools, wanted, strict=True)])


def draw(sounds: Sounds, condition: str, C: int, rng: np.random.Generator) -> Draw:
    """A random list of ``C`` classes; half of all clips to draw from, half to test on."""
    E, T, truth = load_condition(sounds, condition)
    wanted = np.sort(rng.permutation(len(T))[:C])
    number = np.full(len(T), -1)
    number[wanted] = np.arange(C)
    y, order = number[truth], rng.permutation(len(E))
    half, rest = np.split(order, 2)
    return Draw(E, T[wanted], y, half[y[half] >= 0], rest[y[rest] >= 0], half[y[half] < 0], rng)


def whole(sounds: Sounds, condition: str, rng: np.random.Generator) -> Iterator[Record]:
    """All clips of a list as one batch, judged on themselves; beside it what it is compared with."""
    lists = [C for C, times in LISTS.items() for _ in range(times)]
    for C in [50, *lists] if _first(rng) else lists:
        d = draw(sounds, condition, C, rng)
        clips = np.flatnonzero(d.y >= 0)
        E, y = d.E[clips], d.y[clips]
        yield _record(f"{C} labels", "zero-shot", np.argmax(E @ d.T.T, axis=1), y)
        for preset in ("default", "released"):
            labels = PRISM(preset).fit(E, prototypes=d.T).labels_
            yield _record(f"{C} labels", preset, labels, y)
        for name, options in RIVALS.items():
            labels = make(name, **options).fit(E, d.T).labels
            yield _record(f"{C} labels", name, labels, y)


def transductive(sounds: Sounds, condition: str, rng: np.random.Generator) -> Iterator[Record]:
    """All clips and 50 labels, in every condition: the preset alone."""
    E, T, y = load_condition(sounds, condition)
    yield _record("50 labels", "zero-shot", np.argmax(E @ T.T, axis=1), y)
    yield _record("50 labels", "default", PRISM().fit(E, prototypes=T).labels_, y)


def floor(sounds: Sounds, condition: str, rng: np.random.Generator) -> Iterator[Record]:
    """Few clips, few of the classes, uneven, foreign and repeated clips."""
    for C, sizes in (
        (50, (16, 64, 256, 1000)),
        (25, (64, 500)),
        (10, (16, 64, 200)),
        (5, (16, 100)),
        (3, (16, 60)),
        (2, (16, 40)),
    ):
        d = draw(sounds, condition, C, rng)
        for part in HEARD:
            k = max(round(part * C), 1)
            if part < 1 and k in {max(round(p * C), 1) for p in HEARD if p > part}:
                continue
            for N in sizes:
                batch = d.batch(N, rng.permutation(C)[:k])
                yield from _calibrated(f"{C} labels, {k} heard, {N} clips", d, d.E[batch], batch)
        for k in (1, 3) if C == 50 else (1,) if C == 10 else ():
            batch = d.batch(40 * k, rng.permutation(C)[:k])
            yield from _calibrated(f"{C} labels, {k} heard, {40 * k} clips", d, d.E[batch], batch)
        if C in (50, 10, 5):
            yield from _uneven(d)


def _uneven(d: Draw) -> Iterator[Record]:
    C, everyone, rng = d.C, d.rng.permutation(d.C), d.rng
    zipf = d.batch(256, everyone, 1 / np.arange(1, C + 1))
    most = d.batch(200, everyone, np.r_[4.0 * (C - 1), np.ones(C - 1)])
    known = d.batch(175, everyone)
    mixed = np.concatenate([known, rng.permutation(d.foreign)[:75]])
    few = d.batch(40, everyone)
    blurred = np.repeat(d.E[few], 5, axis=0)
    noise = rng.standard_normal(blurred.shape).astype(np.float32)
    windows = unit(blurred + 0.15 * noise / np.sqrt(noise.shape[1]))
    yield from _calibrated(f"{C} labels, Zipf, 256 clips", d, d.E[zipf])
    yield from _calibrated(f"{C} labels, 80 % one class, 200 clips", d, d.E[most])
    if len(d.foreign):
        yield from _calibrated(f"{C} labels, 30 % foreign, 250 clips", d, d.E[mixed])
    yield from _calibrated(f"{C} labels, 40 clips 5 times", d, np.repeat(d.E[few], 5, axis=0))
    yield from _calibrated(f"{C} labels, 40 clips as 5 windows", d, windows)


def uneven(sounds: Sounds, condition: str, rng: np.random.Generator) -> Iterator[Record]:
    """Batches as they are recorded: some classes often, some seldom, some never; up to 20 of each.

    Judged on themselves, and on as many unseen clips of every class.
    """
    for C, times in ((50, 1), (10, 3), (5, 3)):
        for _ in range(times):
            d = draw(sounds, condition, C, rng)
            even = np.ones(C)
            for cell, shares in (
                ("chance", rng.multinomial(10 * C, even / C)),
                ("Dirichlet", rng.dirichlet(2 * even)),
                ("Zipf", rng.permutation(1 / np.arange(1, C + 1))),
                *((f"{part:.0%} heard", rng.permutation(C) < part * C) for part in (0.8, 0.6, 0.4)),
            ):
                yield from _recorded(f"{C} labels, {cell}", d, 20 * shares / shares.max())


def _recorded(cell: str, d: Draw, wanted: np.ndarray) -> Iterator[Record]:
    pools = (d.rng.permutation(d.train[d.y[d.train] == c]) for c in range(d.C))
    batch = np.concatenate([pool[: round(n)] for pool, n in zip(pools, wanted, strict=True)])
    E, y, test = d.E[batch], d.y[batch], d.test
    yield _record(cell, "zero-shot", np.argmax(E @ d.T.T, axis=1), y)
    yield _record(f"{cell}, unseen", "zero-shot", np.argmax(d.E[test] @ d.T.T, axis=1), d.y[test])
    for preset in ("default", "released"):
        model = PRISM(preset).fit(E, prototypes=d.T)
        yield _record(cell, preset, model.labels_, y)
        yield _record(f"{cell}, unseen", preset, model.predict(d.E[test]), d.y[test])
    for name, options in RIVALS.items():
        yield _record(cell, name, make(name, **options).fit(E, d.T).labels, y)


def bias(sounds: Sounds, condition: str, rng: np.random.Generator) -> Iterator[Record]:
    """e -> normalise(e + a g), g a random unit vector in the span of T: 20 clips a class."""
    for C in (50, 10):
        d = draw(sounds, condition, C, rng)
        g = rng.standard_normal(C) @ d.T
        batch = d.batch(20 * C, np.arange(C))
        for a in (0.0, 0.2, 0.4, 0.8):
            moved = unit(d.E + a * g / np.linalg.norm(g))
            yield from _calibrated(f"{C} labels, a = {a}", d._replace(E=moved), moved[batch])


def honesty(sounds: Sounds, condition: str, rng: np.random.Generator) -> Iterator[Record]:
    """Probabilities, foreign sounds and the threshold: lists of 15 and 10 labels, 250 clips."""
    for C in (15, 10):
        d = draw(sounds, condition, C, rng)
        strange = np.setdiff1d(np.flatnonzero(d.y < 0), d.foreign)
        known, foreign = rng.permutation(d.train), rng.permutation(d.foreign)
        for cell, batch in (
            (f"{C} labels", known[:250]),
            (f"{C} labels, 30 % foreign", np.concatenate([known[:175], foreign[:75]])),
        ):
            yield from _honest(cell, d, d.E[batch], strange)


def _honest(cell: str, d: Draw, E: np.ndarray, strange: np.ndarray) -> Iterator[Record]:
    model = PRISM().fit(E, prototypes=d.T)
    S_b, S_0, F_0 = (X @ d.T.T for X in (E, d.E[d.test], d.E[strange]))
    S, F = (model.decision_function(X) for X in (d.E[d.test], d.E[strange]))
    facts = model.adapter_.facts
    plain = confidence(S_b, S_b)
    for method, temperature, share, least, now, other in (
        ("zero-shot", plain.temperature, 0.0, None, S_0, F_0),
        ("default", facts.temperature, facts.zero_shot_share, facts.unknown_threshold, S, F),
    ):
        sure, fooled = conviction(now, S_0, share)[:, 0], conviction(other, F_0, share)[:, 0]
        ece, bins = calibration_error(probabilities(now, temperature), d.y[d.test])
        record = _record(cell, method, now.argmax(axis=1), d.y[d.test])
        record |= {"ece": ece, "bins": bins, "auroc": auroc(sure, fooled)}
        if least is not None:
            record |= {
                "known_rejected": 100 * float(np.mean(sure < least)),
                "foreign_rejected": 100 * float(np.mean(fooled < least)),
            }
        yield record


def _first(rng: np.random.Generator) -> bool:
    """Whether this is the draw with seed 0, the only one that takes the whole list."""
    return bool(rng.bit_generator.seed_seq.entropy[0] == 0)


def _calibrated(
    cell: str, d: Draw, E: np.ndarray, batch: np.ndarray | None = None
) -> Iterator[Record]:
    """Zero-shot and the preset on unseen clips; of less than a tenth of the list also on the batch."""
    models = {"default": PRISM().fit(E, prototypes=d.T)}
    if cell.endswith(f"{d.C} heard, {20 * d.C} clips"):
        models["unguarded"] = PRISM(guard=False).fit(E, prototypes=d.T)
    test, y = d.E[d.test], d.y[d.test]
    yield _record(cell, "zero-shot", np.argmax(test @ d.T.T, axis=1), y)
    for method, model in models.items():
        yield _record(cell, method, model.predict(test), y) | _weights(model)
    if batch is not None and len(np.unique(d.y[batch])) <= max(d.C // 10 - 1, 1):
        itself = f"{cell}, on itself"
        yield _record(itself, "zero-shot", np.argmax(E @ d.T.T, axis=1), d.y[batch])
        yield _record(itself, "default", models["default"].labels_, d.y[batch])


def _weights(model: PRISM) -> Record:
    names = ("shift_weight", "weight", "agreement")
    return {name: model.verdict_.numbers[name] for name in names if name in model.verdict_.numbers}


def _record(cell: str, method: str, labels: np.ndarray, y: np.ndarray) -> Record:
    return {"cell": cell, "method": method, "accuracy": 100 * float(np.mean(labels == y))}


Part = Callable[[Sounds, str, np.random.Generator], Iterator[Record]]
PARTS: dict[str, Part] = {
    "whole": whole,
    "transductive": transductive,
    "floor": floor,
    "uneven": uneven,
    "bias": bias,
    "honesty": honesty,
}
