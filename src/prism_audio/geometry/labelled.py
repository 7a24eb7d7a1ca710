"""What a few labelled clips add to a calibration: rounds with anchors, then logistic regression.

    r_i     = one-hot(y_i) for a labelled clip, softmax([e_i | 1] head) for the others
    head_1  <- rounds of composition with these r, from the head_0 of the calibration  (compose.py)
    B       = (1 - a) head_0 + a head_1,     a = v N / (N + C),     both in logits of one length
    v       = 1 / (1 + exp(-log(w_1 / (1 - w_1)) - (l_0 - l_1)))
    A       = argmin  -sum_i log softmax(g [e_i | 1] B_-i + x_i A)_(y_i) + lambda / 2 |A|^2
    head    = g B + G A,                     x = (e - m) G,  of length 1 on the mean over the clips
    W       <- the smallest change of the map of the calibration with W T^T = head

The sum runs over the labelled clips. Ridge regression shrinks a classifier to zero; this one is shrunk
to B, which knows the text and all unlabelled clips. So one label moves little and many labels decide,
and without labels the calibration stays what it is. Half of x are the rows whitened within classes,
where all directions are alike to a clip of a class, half the rows as they are: where few clips vary, a
whitening by few clips exaggerates. It comes from rounds without labels. One that knew them would draw
labelled clips to their classes, left-out ones too, and unseen clips would not follow.

For the means of the classes a labelled clip counts twice, for their scatter once. Shares of classes
count in the rounds as in those of the calibration (:mod:`prism_audio.geometry.graded`): evened out as
far as the rounds that do so are believed there.

B_-i is B without the label of clip i. Labelled clips are dealt into five parts, and each part is scored
by rounds without its labels. A head that has seen a label needs no correction there and would hide what
to correct elsewhere. The same parts choose lambda: the log-loss on clips that neither B_-i nor A have
seen. g is the scale of B with the least log-loss.

N / (N + C) is how much class means of N clips carry beside the text, which is worth a clip of every
class. v is how likely it is that the rounds are to be believed at all. Before the labels that is w_1,
how far the clips speak for classes (:mod:`prism_audio.geometry.guard`), but never surer than 95 %. l_0
and l_1 are the log-losses of the left-out clips, summed, by head_0 and by rounds without their labels.

Labels that the clips contradict as if drawn by chance, or with which left-out clips are told apart
worse than without, are not used. Not in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from prism_audio.geometry import compose
from prism_audio.geometry.frame import Frame, whitened_trace
from prism_audio.geometry.graded import SHARES, Graded, with_head
from prism_audio.geometry.guard import TEXT_WORTH, Verdict
from prism_audio.geometry.logistic import find_scale, hit_rate, log_loss, regress, softmax
from prism_audio.geometry.parameters import Parameters
from prism_audio.geometry.products import Float, Float64, product
from prism_audio.geometry.source import RowSource, marked
from prism_audio.geometry.sphere import Labels
from prism_audio.geometry.threads import side_by_side

# Assigned clips that a labelled one is worth for the mean of its class: where p of them are right, the
# mean keeps p of what tells the class apart, p^2 of its square: a half at p = 0.7.
LABEL = 2.0
# Parts that labelled clips are dealt into, and rounds with the labels of all but one.
PARTS, ROUNDS = 5, 4
# How far above chance, and above the loss without labels, counts: in standard deviations.
CHANCE, SURE = 3.0, 2.0
# From so many labels on, what left-out clips say is trusted.
ENOUGH = 8
# The least that is believed of either head before the labels.
DOUBT = 0.05
# Shares of a class below this are rounding.
NOTHING = 1e-6


class LabelledClips(NamedTuple):
    """Labelled clips: unit rows (n, d) and their classes (n,)."""

    rows: Float
    y: Labels


class Site(NamedTuple):
    """What the calibration without labels has found: all that does not depend on labels."""

    source: RowSource
    T: Float
    second: Float64
    frame: Frame
    clips: float
    belief: float
    even: float
    params: Parameters

    @property
    def shares(self) -> float:
        """How the shares of the classes count in the rounds."""
        by_what_was_heard, evened = SHARES
        return (1 - self.even) * by_what_was_heard + self.even * evened

    def logits(self, head: Float64) -> Float64:
        """A head in the unit of the soft assignments of the rounds."""
        unit = self.params.softness * compose.score_length(head, self.second)
        return head / unit if unit > 0 else head


@dataclass(frozen=True)
class Refined:
    """The head (d + 1, C) with labels, and what left-out labelled clips said.

    Attributes
    ----------
    head : (d + 1, C) array or None
        None where the labels are not used.
    right_before, right : float
        Fraction of the labelled clips that are right without labels, and with those of the others.
    strength : float or None
        lambda; None where there was no regression.
    reason : str
        Why labels are not used, or empty.
    """

    head: Float64 | None
    right_before: float
    right: float
    strength: float | None = None
    reason: str = ""


def use_labels(
    source: RowSource, T: Float, second: Float64, result: Graded, y: Labels, params: Parameters
) -> tuple[Float64, Verdict]:
    """The map and the verdict of a calibration whose rows have the classes ``y`` (N,), -1 if not known.

    ``result`` is the calibration without labels; it is the answer where no row has one.
    """
    W, verdict = result.W, result.verdict
    known = y >= 0
    if not known.any():
        return W, verdict
    labelled = LabelledClips(marked(source, known), y[known])
    head_0 = product(W, T.T.astype(np.float64))
    if result.frame is None:
        right = hit_rate(scores(labelled.rows, head_0), labelled.y)
        nothing = Refined(None, right, right, reason="there are too few clips or classes")
        return W, judge(verdict, labelled, nothing)
    clips = float(verdict.numbers.get("independent_clips", len(y)))
    belief = float(verdict.numbers.get("evidence_weight", 1.0))
    even = float(verdict.numbers.get("evenness", 1.0))
    site = Site(source, T, second, result.frame, clips, belief, even, params)
    refined = refine(site, head_0, labelled)
    if refined.head is not None:
        now, then = (compose.score_length(head, second) for head in (refined.head, head_0))
        scale = then / now if now > 0 else 1.0
        W = with_head(W, scale * refined.head, T.astype(np.float64))
    return W, judge(verdict, labelled, refined)


def refine(site: Site, head_0: Float64, labelled: LabelledClips) -> Refined:
    """The head of a calibration with the head ``head_0`` (d + 1, C) and labelled clips."""
    rows, y = labelled
    n, C = len(y), len(site.T)
    part = deal(y)
    every = np.ones(n, dtype=bool)
    trained = [every, *(part != k for k in range(PARTS)), ~every]
    start = site.logits(head_0)
    found = anchored_rounds(site, start, labelled, trained)
    if found is None:
        right = hit_rate(scores(rows, start), y)
        return Refined(None, right, right, reason="fewer than two classes can be told apart")
    heads, made = found
    S_0, S_1 = scores(rows, start), np.empty((n, C))  # without labels; with those of other parts
    for k, head in enumerate(heads[1:-1]):
        S_1[part == k] = scores(rows[part == k], head)
    loss_0, loss_1 = (log_loss(find_scale(S, y) * S, y) for S in (S_0, S_1))
    a = believed(site.belief, loss_0, loss_1) * site.clips / (site.clips + TEXT_WORTH * C)
    S = (1 - a) * S_0 + a * S_1
    g = find_scale(S, y)
    x, back = features(site, made, rows)
    strength, A, L = regress(x, g * S, y, part)
    head = g * ((1 - a) * start + a * heads[0]) + back(A)
    before, right = hit_rate(S_0, y), hit_rate(L, y)
    reason = contradiction(loss_0, log_loss(L, y), (before, right), y)
    return Refined(None if reason else head, before, right, strength, reason)


def believed(prior: float, loss_0: Float64, loss_1: Float64) -> float:
    """v: how likely the second of two heads is, by the losses (n,) of left-out clips."""
    from scipy.special import expit, logit  # blind calibrations need none of it

    prior = min(max(prior, DOUBT), 1 - DOUBT)
    return float(expit(logit(prior) + np.sum(loss_0 - loss_1)))


def deal(y: Labels) -> Labels:
    """The part (n,) of every labelled clip: of one class evenly, neighbours together."""
    part = np.empty(len(y), dtype=np.intp)
    for c in np.unique(y):
        members = np.flatnonzero(y == c)
        # Windows of one recording are neighbours and alike; the class sets where dealing begins.
        part[members] = (np.arange(len(members)) * PARTS // len(members) + c) % PARTS
    return part


def anchored_rounds(
    site: Site, start: Float64, labelled: LabelledClips, trained: list[np.ndarray]
) -> tuple[list[Float64], compose.Composition] | None:
    """Heads after rounds with the labels of each of ``trained`` (n,), and the last composition."""
    heads = [start] * len(trained)
    text = product(site.T.astype(np.float64), site.frame.Q)
    prior = site.params.prior(len(site.T), site.clips)
    find = partial(compose.compose, frame=site.frame, M_t=text, rho=site.params.rho, prior=prior)
    for _ in range(ROUNDS):
        shares = [
            anchored(held, head, LabelledClips(labelled.rows[chosen], labelled.y[chosen]))
            for held, head, chosen in zip(
                compose.find_shares(site.source, heads), heads, trained, strict=True
            )
        ]
        made = [
            found
            for found in side_by_side(lambda pair: find(pair[0], weighed=pair[1]), shares)
            if found is not None
        ]
        if len(made) < len(heads):
            return None
        heads = [
            compose.with_shares(site.logits(found.head), held.n_c, site.shares)
            for found, (held, _) in zip(made, shares, strict=True)
        ]
    return heads, made[-1]


def anchored(
    shares: compose.Shares, head: Float64, labelled: LabelledClips
) -> tuple[compose.Shares, compose.Shares]:
    """Shares of the classes with labelled clips in their own alone: counted once, and LABEL times."""
    rows, own = labelled.rows.astype(np.float64), np.zeros((len(labelled.y), len(shares.n_c)))
    own[np.arange(len(labelled.y)), labelled.y] = 1
    soft = softmax(scores(labelled.rows, head))
    found = []
    for times in (1.0, LABEL):
        change = times * own - soft
        n_c = shares.n_c + change.sum(axis=0)
        some = n_c > NOTHING
        sums = shares.sums + product(change.T, rows)
        found.append(compose.Shares(np.where(some, n_c, 0), np.where(some[:, None], sums, 0)))
    return found[0], found[1]


def features(site: Site, made: compose.Composition, rows: Float) -> tuple[Float64, Any]:
    """x (n, 2 k), and what turns a matrix A (2 k, C) on x into a head (d + 1, C) for rows [e | 1]."""
    frame, white = site.frame, made.rigid.white
    lengths = [whitened_trace(frame, white, np.zeros((1, len(frame.values)))), frame.values.sum()]
    half, plain = (1 / np.sqrt(2 * max(total / frame.N, NOTHING**2)) for total in lengths)
    X = product(rows.astype(np.float64) - frame.m, frame.Q)

    def back(A: Float64) -> Float64:
        A_w, A_p = np.split(A, 2)
        H = half * (white.stretched(np.ascontiguousarray(A_w.T)) * white.g).T + plain * A_p
        return frame.head(H, np.zeros(A.shape[1]))

    return np.hstack([half * white(X), plain * X]), back


def contradiction(before: Float64, after: Float64, right: tuple[float, float], y: Labels) -> str:
    """Why labels ``y`` (n,) are not used, or "".

    ``before`` and ``after`` (n,) are the losses of left-out clips without and with labels, ``right``
    is how many of them are right.
    """
    n, C = len(y), len(np.unique(y))
    if n < ENOUGH:
        return ""
    # Blind answers know nothing of the labels' shares; answers with labels may always say the commonest.
    shares = (1 / C, float(np.bincount(y).max()) / n)
    chance = [share + CHANCE * np.sqrt(share * (1 - share) / n) for share in shares]
    if C > 1 and all(hits <= limit for hits, limit in zip(right, chance, strict=True)):
        return "they fit what is heard no better than labels drawn by chance"
    worse = after - before
    if worse.mean() > SURE * worse.std() / np.sqrt(n):
        return "labelled clips that were left out are told apart worse with the other labels"
    return ""


def judge(verdict: Verdict, labelled: LabelledClips, refined: Refined) -> Verdict:
    """The verdict of the calibration with what became of the labels."""
    n, classes = len(labelled.y), len(np.unique(labelled.y))
    numbers: dict[str, Any] = {"labels": n, "labelled_classes": classes}
    numbers |= {"labels_used": refined.head is not None}
    numbers |= {"label_accuracy_before": refined.right_before, "label_accuracy": refined.right}
    if refined.strength is not None:
        numbers["label_strength"] = refined.strength
    told = f"{n} labels of {classes} classes"
    kind = str(verdict)
    if refined.head is None:
        told += f" are not used: {refined.reason}"
    else:
        told += (
            f" are used: of labelled clips that were left out {100 * refined.right:.0f} % are right,"
            f" {100 * refined.right_before:.0f} % without labels"
        )
        kind = "shrunk" if kind == "zero-shot" else kind
    return Verdict(kind, (*verdict.reasons, told), verdict.numbers | numbers)


def scores(rows: Float, head: Float64) -> Float64:
    """[e | 1] head for rows (n, d)."""
    return np.asarray(product(rows.astype(np.float64), head[:-1]) + head[-1])
