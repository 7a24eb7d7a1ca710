"""The protocols: which clips a method adapts to, and which clips it is judged on.

    transductive   adapt to all clips of a condition, judge the same clips (the paper's)
    half           adapt to one half, judge the other, and the other way round
    cross          adapt in one place, judge the other half in another
    few            the batch holds clips of only k of the C classes
    lists          a random list of k labels, and the clips of those classes
    skewed         some classes are common in the batch, most are rare
    stream         adapt to the first quarter of a stream in which neighbours are alike
    calibration    adapt to n clips, judge the other half
    batch          adapt to batches of n clips, each for itself, and judge the same clips
    groups         adapt to the clips of each group (recording device) for itself

Halves are cut in the order of the folds, so that clips from one source, which the datasets keep in one
fold, are never in both halves. Every draw follows from the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_audio.bench.experiment.conditions import CLEAN, Condition

Rows = NDArray[np.int64]

FEW = (1, 2, 3, 4, 8)
FEW_DRAWS = 5
LISTS = (10, 5)
LIST_DRAWS = 3
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
    """One calibration and the clips that are judged with it."""

    # Which protocol, and where on its axis.
    protocol: str
    setting: str
    repeat: int  # number of the draw
    # The clips to adapt to, in the order in which they come.
    condition: Condition
    rows: Rows
    tests: tuple[Test, ...] = ()  # clips to judge; the calibration clips themselves, if empty
    classes: Rows | None = None  # numbers of the classes on offer; all, if none


@dataclass(frozen=True)
class ClipTable:
    """Class, fold and perhaps group of every clip; and the seed of draws."""

    truth: NDArray[np.int64]
    folds: NDArray[np.int64]
    seed: int = 0
    groups: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def halves(self) -> tuple[Rows, Rows]:
        """Row numbers of the two halves."""
        order = np.argsort(self.folds, kind="stable")
        middle = len(order) // 2
        return np.sort(order[:middle]), np.sort(order[middle:])

    def random(self, *stream: int) -> np.random.Generator:
        """A separate stream of random numbers for every purpose."""
        return np.random.default_rng((self.seed, *stream))


def cases(
    protocol: str, clips: ClipTable, conditions: Sequence[Condition], typical: Sequence[Condition]
) -> list[Case]:
    """All cases of a protocol: the transductive one in every condition, others in typical ones."""
    everywhere = conditions if protocol == "transductive" else typical
    make: dict[str, Callable[[ClipTable, Condition], Iterable[Case]]] = {
        "transductive": _transductive,
        "half": _half,
        "few": _few,
        "lists": _lists,
        "skewed": _skewed,
        "stream": _stream,
        "calibration": _calibration,
        "batch": _batch,
        "groups": _groups,
    }
    if protocol == "cross":
        return _cross(clips, typical)
    return [case for condition in everywhere for case in make[protocol](clips, condition)]


def _transductive(clips: ClipTable, condition: Condition) -> list[Case]:
    return [Case("transductive", "", 0, condition, np.arange(len(clips.truth)))]


def _half(clips: ClipTable, condition: Condition) -> list[Case]:
    one, other = clips.halves
    pairs = ((one, other), (other, one))
    return [
        Case("half", "", number, condition, fit, (Test(condition, test),))
        for number, (fit, test) in enumerate(pairs)
    ]


def _cross(clips: ClipTable, places: Sequence[Condition]) -> list[Case]:
    one, other = clips.halves
    return [
        Case("cross", "", number, here, fit, tuple(Test(there, test) for there in places))
        for here in places
        for number, (fit, test) in enumerate(((one, other), (other, one)))
    ]


def _few(clips: ClipTable, condition: Condition) -> Iterator[Case]:
    classes = np.unique(clips.truth)
    for k in (k for k in FEW if k < len(classes)):
        for draw in range(FEW_DRAWS):
            chosen = clips.random(1, k, draw).choice(classes, k, replace=False)
            rows = np.flatnonzero(np.isin(clips.truth, chosen))
            yield Case("few", str(k), draw, condition, rows)


def _lists(clips: ClipTable, condition: Condition) -> Iterator[Case]:
    classes = np.unique(clips.truth)
    for k in (k for k in LISTS if k < len(classes)):
        for draw in range(LIST_DRAWS):
            chosen = np.sort(clips.random(6, k, draw).choice(classes, k, replace=False))
            rows = np.flatnonzero(np.isin(clips.truth, chosen))
            yield Case("lists", str(k), draw, condition, rows, classes=chosen)


def _skewed(clips: ClipTable, condition: Condition) -> Iterator[Case]:
    """The class of rank r, in an order drawn anew, keeps one in r of its clips, and at least one."""
    classes = np.unique(clips.truth)
    for draw in range(SKEW_DRAWS):
        random = clips.random(5, draw)
        rows = []
        for rank, c in enumerate(random.permutation(classes), start=1):
            of_class = random.permutation(np.flatnonzero(clips.truth == c))
            rows.append(of_class[: -(-len(of_class) // rank)])
        yield Case("skewed", "", draw, condition, np.sort(np.concatenate(rows)))


def _stream(clips: ClipTable, condition: Condition) -> Iterator[Case]:
    for kind in STREAMS:
        order = stream_order(clips, kind)
        quarter = len(order) // 4
        test = Test(condition, order[quarter:])
        yield Case("stream", kind, 0, condition, order[:quarter], (test,))


def stream_order(clips: ClipTable, kind: str) -> Rows:
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


def _calibration(clips: ClipTable, condition: Condition) -> Iterator[Case]:
    pool, test = clips.halves
    for size in dict.fromkeys(min(size, len(pool)) for size in SIZES):
        for draw in range(SIZE_DRAWS if size < len(pool) else 1):
            rows = clips.random(3, size, draw).permutation(pool)[:size]
            yield Case("calibration", str(size), draw, condition, rows, (Test(condition, test),))


def _batch(clips: ClipTable, condition: Condition) -> Iterator[Case]:
    if condition.background == CLEAN:
        return
    for size, most in BATCHES:
        order = clips.random(4, size).permutation(len(clips.truth))
        for number in range(min(most, len(order) // size)):
            rows = order[number * size : (number + 1) * size]
            yield Case("batch", str(size), number, condition, rows)


def _groups(clips: ClipTable, condition: Condition) -> list[Case]:
    names = np.array(clips.groups)
    return [
        Case("groups", name, 0, condition, np.flatnonzero(names == name))
        for name in sorted(set(clips.groups))
    ]
