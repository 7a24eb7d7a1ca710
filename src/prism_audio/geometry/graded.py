"""The calibration of ``default``: a correction as large as its evidence, part by part.

    d, w_1       <- the shift of the place, and how far the clips speak for it   (shift.py)
    head_a, W_a  <- rounds of composition that go by what was heard              (compose.py)
    head_b, W_b  <- rounds that hold all classes equally often                   (balance.py, compose.py)
    g, u, w      <- which rounds to believe, and how far (neighbours.py, guard.py)
    W            =  (1 - w) [I; -u d] + w (g W_b + (1 - g) W_a)

W_a is the smallest change of the rigid map with W_a T^T = head_a, in which every class has its own
prototype: W_a = W_r + (head_a - W_r T^T) (T T^T)^-1 T; and so is W_b. Where all classes were heard
equally often, rounds that hold them so are the better ones; elsewhere those that go by what was heard.

Both kinds of rounds share the moments of the rows, one eigendecomposition and every pass.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from prism_audio.geometry import compose, guard
from prism_audio.geometry.abr import identity_map
from prism_audio.geometry.balance import balanced_head
from prism_audio.geometry.frame import Frame, find_frame, thin_frame
from prism_audio.geometry.neighbours import ask_neighbours
from prism_audio.geometry.parameters import Parameters
from prism_audio.geometry.products import Float, Float64, product
from prism_audio.geometry.repeats import COMPARED, find_repeats, independent_clips
from prism_audio.geometry.shift import find_shift
from prism_audio.geometry.source import RowSource, ScanResult, pick
from prism_audio.geometry.sphere import assign_folded
from prism_audio.geometry.threads import side_by_side

# How much softer than later ones the first assignments are: zero-shot knows nothing of the place.
FIRST = 1.5
# How shares of classes count in the rounds of either start: half, since they are guesses; evened out.
SHARES = (0.5, -1.0)
# Rows that the shift and the biases of the start are found on: four or C numbers need no more.
SAMPLE = 16_384
# Directions of the prototypes weaker than this (in squares, of the strongest) are not told apart.
TEXT_RANK = 1e-6


class Graded(NamedTuple):
    """The map W (d + 1, d), the verdict on it, what the rounds saw, and the frame they saw it in."""

    W: Float64
    verdict: guard.Verdict
    rounds: list[dict[str, Any]]
    frame: Frame | None = None


def graded(source: RowSource, T: Float, second: Float64, params: Parameters) -> Graded:
    """The map of rows with the moments ``second`` of [e | 1] and prototypes ``T`` (C, d)."""
    (N, d), C = source.shape, len(T)
    rows = pick(source, SAMPLE)
    compared = rows if len(rows) <= COMPARED else pick(source, COMPARED)
    repeats = find_repeats(compared)
    clips = independent_clips(repeats, N)
    first = FIRST * params.softness
    small = len(rows) == N and d > N + C
    starts: list[Callable[[], Any]] = [
        lambda: thin_frame(rows, T) if small else find_frame(second, T.dtype),
        lambda: find_shift(rows, T, first, clips),
        lambda: balanced_head(rows, T, first),
    ]
    frame, shift, balanced = side_by_side(lambda start: start(), starts)
    W_1 = identity_map(d)
    if shift is None:
        return Graded(W_1, guard.judge(N, clips, C, None, guard.NOTHING_HEARD), [])
    W_1[-1] = -shift.vector
    prior = params.prior(C, clips)
    found, rounds, heads = repeat(source, T, frame, [shift.head, balanced], prior, params)
    biases = [product(W_1[-1:], T.T.astype(np.float64)), np.zeros((1, C))]
    y_a, y_b, y_1, y_0 = source.scan(partial(_labels, heads=heads, T=T, biases=biases)).rows
    near = [assign_folded(compared, head) for head in heads]
    neighbours = ask_neighbours(repeats.likeness, repeats.first, near, C)
    heard = guard.listen(y_a, y_b, y_1, y_0, shift.shares, clips, neighbours)
    verdict = guard.judge(N, clips, C, shift, heard)
    if not params.guard:
        verdict = guard.Verdict("adapted", ("the guard is off",))
    w, u = (verdict.numbers.get(name, 1.0) for name in ("weight", "shift_weight"))
    W_1[-1] *= u
    if not found or w == 0:
        return Graded(W_1, verdict, rounds, frame)
    W_a, W_b = side_by_side(partial(whole_map, T=T, second=second), found)
    W_2 = heard.even * W_b + (1 - heard.even) * W_a
    return Graded((1 - w) * W_1 + w * W_2, verdict, rounds, frame)


def repeat(
    source: RowSource,
    T: Float,
    frame: Frame,
    heads: list[Float64],
    prior: float,
    params: Parameters,
) -> tuple[list[compose.Composition], list[dict[str, Any]], list[Float64]]:
    """Rounds of composition from two starts: the last of each, facts of the rounds, the last logits.

    Those of the first go by the shares that were heard, those of the second even them out. No
    compositions where the clips determine none.
    """
    rounds: list[dict[str, Any]] = []
    last: list[compose.Composition] = []
    text = product(T.astype(np.float64), frame.Q)
    find = partial(compose.compose, frame=frame, M_t=text, rho=params.rho, prior=prior)
    for number in range(1, params.rounds + 1):
        shares = compose.find_shares(source, heads)
        found = [made for made in side_by_side(find, shares) if made is not None]
        if len(found) < len(heads):
            return [], rounds, heads
        last, heads = [], []
        for made, held, belief in zip(found, shares, SHARES, strict=True):
            temperature = params.softness * made.unit or 1.0
            head = compose.with_shares(made.head, held.n_c, belief * temperature)
            last.append(made._replace(head=head))
            heads.append(head / temperature)
        heard = int(np.sum(shares[-1].n_c >= 1))
        facts = {"round": number, "valid_classes": heard, "scale": found[-1].rigid.s}
        rounds.append(facts | {"deflated_rank": found[-1].deflated_rank})
    return last, rounds, heads


def whole_map(made: compose.Composition, T: Float, second: Float64) -> Float64:
    """The map with W T^T = head, scaled so that its scores are as long as those of zero-shot."""
    text = T.astype(np.float64)
    W = with_head(made.rigid.matrix(), made.head, text)
    before = compose.score_length(np.vstack([text.T, np.zeros(len(text))]), second)
    after = compose.score_length(product(W, text.T), second)
    return W * (before / after) if after > 0 else W


def with_head(W: Float64, head: Float64, text: Float64) -> Float64:
    """The map closest to ``W`` (d + 1, d) that gives the scores ``head`` (d + 1, C) with ``text``."""
    values, vectors = np.linalg.eigh(product(text, text.T))
    known = values > TEXT_RANK * values[-1]
    missing = product(head - product(W, text.T), vectors[:, known])
    return np.asarray(W + product(missing / values[known], product(vectors[:, known].T, text)))


def _labels(E: Float, *, heads: list[Float64], T: Float, biases: list[Float64]) -> ScanResult:
    """Labels by the heads, and by zero-shot scores plus each of the biases (1, C)."""
    scores = product(E, T.T)
    plain = [(scores + bias.astype(E.dtype)).argmax(axis=1) for bias in biases]
    return ScanResult((*(assign_folded(E, head) for head in heads), *plain))
