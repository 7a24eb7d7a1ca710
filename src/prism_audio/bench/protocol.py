"""The protocols: on which clips a method may adapt, and on which it is judged.

    transductive   adapt to all clips of a condition, judge the same clips (the paper's)
    half           adapt to one half, judge the other, and the other way round
    cross          adapt in one place, judge the other half in another
    few            the batch holds clips of only k of the C classes
    skewed         some classes are common in the batch, most are rare
    stream         adapt to the first quarter of a stream in which neighbours are alike
    calibration    adapt to n clips, judge the other half
    batch          adapt to batches of n clips, each for itself, and judge the same clips
    groups         adapt to the clips of each group (recording device) for itself

Halves are cut in the order of the folds, so that clips from one source, which the datasets keep in one
fold, do not lie on both sides. Every draw follows from the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_audio.bench.conditions import CLEAN, Condition

Rows = NDArray[np.int64]

FEW = (1, 2, 3, 4, 8)
FEW_DRAWS = 5
SKEW_DRAWS = 3
SIZES = (32, 64, 128, 256, 512, 1024)
SIZE_DRAWS = 2
# Clips in a batch, and how many such batches are drawn.
BATCHES = ((1, 32), (8, 16), (64, 8), (256, 4), (1024, 2))
BURST = 8
STREAMS = ("shuffled", "in bursts", "class by class")


@dataclass(frozen=True)
class Test:
    """Clips that are judged."""

    condition: Condition
    rows: Rows


@dataclass(frozen=True)
class Case:
    """One calibration and all that is judged with it.

    Attributes
    ----------
    protocol, setting : str
        Which protocol, and where on its axis.
    repeat : int
        Number of the draw.
    condition, rows : Condition, array
        The clips to adapt to, in the order in which they come.
    tests : tuple of Test
        Clips to judge; the answer to the calibration clips themselves, if empty.
    """

    protocol: str
    setting: str
    repeat: int
    condition: Condition
    rows: Rows
    tests: tuple[Test, ...] = ()


@dataclass(frozen=True)
class Clips:
    """What the protocols must know of the clips: class, fold, perhaps group; and the seed of draws."""

    truth: NDArray[np.int64]
    folds: NDArray[np.int64]
    seed: int = 0
    groups: tuple[str, ...] = ()

    @property
    def halves(self) -> tuple[Rows, Rows]:
        """Row numbers of the two halves."""
        order = np.argsort(self.folds, kind="stable")
        middle = len(order) // 2
        return np.sort(order[:middle]), np.sort(order[middle:])

    def random(self, *stream: int) -> np.random.Generator:
        """Random numbers of their own for every purpose."""
        return np.random.default_rng((self.seed, *stream))


def cases(
    protocol: str, clips: Clips, conditions: Sequence[Condition], typical: Sequence[Condition]
) -> list[Case]:
    """All cases of a protocol: the transductive one in every condition, others in typical ones."""
    everywhere = conditions if protocol == "transductive" else typical
    make = {
        "transductive": _transductive,
        "half": _half,
        "few": _few,
        "skewed": _skewed,
        "stream": _stream,
        "calibration": _calibration,
        "batch": _batch,
        "groups": _groups,
    }
    if protocol == "cross":
        return _cross(clips, typical)
    return [case for condition in everywhere for case in make[protocol](clips, condition)]


def _transductive(clips: Clips, condition: Condition) -> list[Case]:
    return [Case("transductive", "", 0, condition, np.arange(len(clips.truth)))]


def _half(clips: Clips, condition: Condition) -> list[Case]:
    one, other = clips.halves
    pairs = ((one, other), (other, one))
    return [
        Case("half", "", number, condition, fit, (Test(condition, test),))
        for number, (fit, test) in enumerate(pairs)
    ]


def _cross(clips: Clips, places: Sequence[Condition]) -> list[Case]:
    one, other = clips.halves
    return [
        Case("cross", "", number, here, fit, tuple(Test(there, test) for there in places))
        for here in places
        for number, (fit, test) in enumerate(((one, other), (other, one)))
    ]


def _few(clips: Clips, condition: Condition) -> list[Case]:
    found = []
    classes = np.unique(clips.truth)
    for k in (k for k in FEW if k < len(classes)):
        for draw in range(FEW_DRAWS):
            chosen = clips.random(1, k, draw).choice(classes, k, replace=False)
            rows = np.flatnonzero(np.isin(clips.truth, chosen))
            found.append(Case("few", str(k), draw, condition, rows))
    return found


def _skewed(clips: Clips, condition: Condition) -> list[Case]:
    """The class of rank r, in an order drawn anew, keeps one in r of its clips, and at least one."""
    found = []
    classes = np.unique(clips.truth)
    for draw in range(SKEW_DRAWS):
        random = clips.random(5, draw)
        kept = []
        for rank, c in enumerate(random.permutation(classes), start=1):
            members = random.permutation(np.flatnonzero(clips.truth == c))
            kept.append(members[: -(-len(members) // rank)])
        found.append(Case("skewed", "", draw, condition, np.sort(np.concatenate(kept))))
    return found


def _stream(clips: Clips, condition: Condition) -> list[Case]:
    found = []
    for kind in STREAMS:
        order = stream_order(clips, kind)
        quarter = len(order) // 4
        test = Test(condition, order[quarter:])
        found.append(Case("stream", kind, 0, condition, order[:quarter], (test,)))
    return found


def stream_order(clips: Clips, kind: str) -> Rows:
    """Row numbers in the order in which a stream of that kind brings them."""
    random = clips.random(2)
    shuffled = random.permutation(len(clips.truth))
    if kind == "shuffled":
        return shuffled
    by_class = [shuffled[clips.truth[shuffled] == c] for c in np.unique(clips.truth)]
    if kind == "class by class":
        runs = by_class
    else:
        runs = [rows[at : at + BURST] for rows in by_class for at in range(0, len(rows), BURST)]
    return np.concatenate([runs[number] for number in random.permutation(len(runs))])


def _calibration(clips: Clips, condition: Condition) -> list[Case]:
    found = []
    pool, test = clips.halves
    for size in dict.fromkeys(min(size, len(pool)) for size in SIZES):
        for draw in range(SIZE_DRAWS if size < len(pool) else 1):
            rows = clips.random(3, size, draw).permutation(pool)[:size]
            found.append(
                Case("calibration", str(size), draw, condition, rows, (Test(condition, test),))
            )
    return found


def _batch(clips: Clips, condition: Condition) -> list[Case]:
    if condition.background == CLEAN:
        return []
    found = []
    for size, most in BATCHES:
        order = clips.random(4, size).permutation(len(clips.truth))
        for number in range(min(most, len(order) // size)):
            rows = order[number * size : (number + 1) * size]
            found.append(Case("batch", str(size), number, condition, rows))
    return found


def _groups(clips: Clips, condition: Condition) -> list[Case]:
    names = np.array(clips.groups)
    return [
        Case("groups", name, 0, condition, np.flatnonzero(names == name))
        for name in sorted(set(clips.groups))
    ]
