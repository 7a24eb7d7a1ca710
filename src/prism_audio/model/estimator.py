"""PRISM with the face of a scikit-learn estimator.

>>> model = PRISM(preset="paper").fit(E, prototypes=T)     # doctest: +SKIP
>>> model.predict(E)                                       # doctest: +SKIP

The constructor only stores. What was learnt ends in ``_``: ``adapter_``, ``labels_``, ``verdict_``,
``diagnostics_``, ``parameters_``. The work is done by :func:`prism_audio.geometry.calibrate.calibrate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from prism_audio.errors import InputError
from prism_audio.geometry.abr import apply_map, identity_map
from prism_audio.geometry.calibrate import Calibration, calibrate, fold
from prism_audio.geometry.confidence import confidence, probabilities
from prism_audio.geometry.guard import Verdict
from prism_audio.geometry.parameters import Parameters
from prism_audio.geometry.products import product
from prism_audio.geometry.released import calibrate_released
from prism_audio.geometry.source import InMemory, RowSource, pick
from prism_audio.geometry.sphere import Labels, Mask, row_norms, unit_rows
from prism_audio.geometry.threads import bounded_threads
from prism_audio.io.arrays import as_rows, is_torch
from prism_audio.io.limits import refuse_too_large
from prism_audio.io.types import AnyTensor, Float
from prism_audio.model.adapter import Adapter
from prism_audio.model.facts import Facts
from prism_audio.model.incremental import Reservoir
from prism_audio.model.presets import PRESETS
from prism_audio.model.truth import class_indices

# Rows that tell how scores are to be read; more would not change medians and means that matter.
READ_ROWS = 1024


class PRISM(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learn how a place bends an audio-text space from unlabelled embeddings, and undo it.

    Parameters
    ----------
    preset : {"default", "paper", "released"}
        The set of parameters to start from. ``default`` is recommended and guarded: where the batch
        cannot carry a correction it stays zero-shot and says so. ``paper`` is Algorithm 1 as printed;
        ``released`` is what the authors' public script does.
    rounds, p, q, K, alpha, lam, eps, gamma, rho, prior_clips, softness : optional
        Override a number of the preset; see :class:`prism_audio.geometry.parameters.Parameters`.
    opca, deflation, pct, abr, car, ridge_centre, compilation, guard : optional
        Override a component of the preset, for ablations and for ``car=True``.

    Attributes
    ----------
    adapter_ : Adapter
        The compiled correction: save it, fold it, export it.
    verdict_ : Verdict
        ``adapted``, ``shrunk`` or ``zero-shot``, with ``.reasons`` and ``.numbers``.
    labels_ : (N,) array
        Class of every row of the batch.
    diagnostics_ : list of dict
        For every round: gates, valid classes, scale, deflated rank, residual, condition number.
    parameters_ : Parameters
        The parameters in force.
    n_features_in_ : int
        Width d of the embeddings.
    """

    reservoir_: Reservoir
    prototypes_: Float

    def __init__(
        self,
        preset: str = "default",
        *,
        rounds: int | None = None,
        p: float | None = None,
        q: float | None = None,
        K: int | None = None,
        alpha: float | None = None,
        lam: float | None = None,
        eps: float | None = None,
        gamma: float | None = None,
        rho: float | None = None,
        prior_clips: float | None = None,
        softness: float | None = None,
        opca: bool | None = None,
        deflation: str | None = None,
        pct: bool | None = None,
        abr: bool | None = None,
        car: bool | None = None,
        ridge_centre: str | None = None,
        compilation: str | None = None,
        guard: bool | None = None,
    ) -> None:
        self.preset = preset
        self.rounds = rounds
        self.p = p
        self.q = q
        self.K = K
        self.alpha = alpha
        self.lam = lam
        self.eps = eps
        self.gamma = gamma
        self.rho = rho
        self.prior_clips = prior_clips
        self.softness = softness
        self.opca = opca
        self.deflation = deflation
        self.pct = pct
        self.abr = abr
        self.car = car
        self.ridge_centre = ridge_centre
        self.compilation = compilation
        self.guard = guard

    @bounded_threads()
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        prototypes: Any = None,
        labels: Sequence[str] = (),
    ) -> PRISM:
        """Calibrate on embeddings ``X`` (N, d) with text ``prototypes`` (C, d).

        Both are normalised in copies; the caller's arrays are only read. Rows of zeros (silence has
        no direction) are left out of the calibration. ``labels`` names the classes in the adapter.
        ``X`` may also be rows on disk or on a cluster: what
        :func:`prism_audio.out_of_core.chunks.open_chunks` gives.

        ``y`` (N,) holds what is known of some rows: names or indices of classes, and -1 for a row
        without a label. None is needed. Where the map is composed, as in ``default``, those there
        are are used; the other presets are blind to them.
        """
        params = self._parameters()
        self.__dict__.pop("reservoir_", None)
        source, heard = self._rows(X)
        self.n_features_in_ = source.shape[1]
        if prototypes is None:
            raise InputError(
                "fit needs the text embeddings of the classes: fit(E, prototypes=T) with T (C, d)"
            )
        text, _ = as_rows(prototypes, "prototypes", self.n_features_in_)
        refuse_too_large(*source.shape, len(text))
        if labels and len(labels) != len(text):
            raise InputError(
                f"{len(labels)} labels for {len(text)} prototypes; wanted one for each"
            )
        T = unit_rows(text.astype(source.dtype))
        if not T.any(axis=1).all():
            empty = np.flatnonzero(~T.any(axis=1)).tolist()
            raise InputError(f"prototypes are all zero in rows {empty}; embed the labels again")
        names = tuple(labels) or tuple(map(str, range(len(T))))
        known = None if y is None else self._known(y, heard, names)
        result = _calibrate(source, T, params, self.preset, known)
        verdict = result.verdict

        self.parameters_ = params
        self.verdict_ = verdict
        self.diagnostics_ = result.rounds
        facts = {
            "N": len(heard),
            "d": self.n_features_in_,
            "C": len(T),
            "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "verdict": str(verdict),
            "reasons": list(verdict.reasons),
            "numbers": verdict.numbers,
            "rounds": result.rounds,
        }
        adapter = Adapter(
            result.W.astype(source.dtype),
            T,
            names,
            parameters={"preset": self.preset, **params.as_dict()},
        )
        self.adapter_ = replace(
            adapter, facts=Facts.from_dict(facts | _reading(adapter, source, verdict))
        )
        # Silence gets the class that the map gives to nothing at all.
        self.labels_ = np.full(len(heard), fold(result.W, T)[-1].argmax())
        self.labels_[heard] = result.labels
        return self

    @property
    def uses_labels(self) -> bool:
        """Whether ``fit`` makes use of labels ``y``: where the map is composed, as in ``default``."""
        return self._parameters().compilation == "composition"

    def _known(self, y: Any, heard: Mask, names: Sequence[str]) -> Labels | None:
        """The classes of the heard rows, -1 where they are not known; None if none is to be used."""
        classes = class_indices(y, len(heard), names)[heard]
        return classes if self.uses_labels and (classes >= 0).any() else None

    def _rows(self, X: Any) -> tuple[RowSource, Mask]:
        """The rows that have a direction, and which of all rows those are."""
        if isinstance(X, RowSource):
            return X, X.heard
        rows, _ = as_rows(X, "X")
        if not is_torch(X):
            # Also remembers feature names, as scikit-learn wants.
            validate_data(self, X, skip_check_array=True)
        E = unit_rows(rows)
        heard = row_norms(E) > 0
        return InMemory(E if heard.all() else E[heard]), heard

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        prototypes: Any = None,
        labels: Sequence[str] = (),
    ) -> PRISM:
        """Calibrate on embeddings ``X`` (n, d) together with those of all calls before.

        ``prototypes`` and ``labels`` are taken from the first call, ``y`` is as in ``fit``. The
        result is that of one ``fit`` on everything, as long as ``incremental.CAPACITY`` rows hold it;
        then on a sample that is uniform and keeps labelled rows. For another capacity, or a place
        that changes, ``fit`` on the rows of an ``incremental.Reservoir``. A ``fit`` keeps no rows:
        what is added after it starts anew, with prototypes.
        """
        if hasattr(self, "reservoir_"):
            self._fitted(X)
            reservoir, text, names = self.reservoir_, self.prototypes_, self.adapter_.labels
            if prototypes is not None and not np.array_equal(as_rows(prototypes)[0], text):
                raise InputError(
                    "partial_fit was given other prototypes than at its first call; "
                    "start a new model for other classes"
                )
        elif prototypes is None:
            raise InputError("the first partial_fit needs the text embeddings: prototypes=T (C, d)")
        else:
            text, names = np.array(as_rows(prototypes, "prototypes")[0]), tuple(labels)
            reservoir = Reservoir()
        rows = as_rows(X, "X", text.shape[1])[0]
        classes = tuple(names) or tuple(map(str, range(len(text))))
        reservoir.add(rows, None if y is None else class_indices(y, len(rows), classes))
        self.fit(reservoir.rows, reservoir.y, prototypes=text, labels=names)
        if not is_torch(X):
            validate_data(self, X, skip_check_array=True)  # remembers feature names
        facts = replace(self.adapter_.facts, seen=reservoir.seen)
        self.adapter_ = replace(self.adapter_, facts=facts)
        self.reservoir_, self.prototypes_ = reservoir, text
        return self

    @overload
    def transform(self, X: AnyTensor) -> AnyTensor: ...
    @overload
    def transform(self, X: ArrayLike) -> Float: ...
    def transform(self, X: Any) -> Any:
        """Corrected unit rows (N, d)."""
        return self._fitted(X).transform(X)

    @overload
    def decision_function(self, X: AnyTensor) -> AnyTensor: ...
    @overload
    def decision_function(self, X: ArrayLike) -> Float: ...
    def decision_function(self, X: Any) -> Any:
        """Cosines (N, C) of the corrected rows to the prototypes."""
        return self._fitted(X).scores(X)

    @overload
    def predict(self, X: AnyTensor) -> AnyTensor: ...
    @overload
    def predict(self, X: ArrayLike) -> Labels: ...
    def predict(self, X: Any) -> Any:
        """Class index (N,) of every row."""
        return self._fitted(X).predict(X)

    @overload
    def predict_proba(self, X: AnyTensor) -> AnyTensor: ...
    @overload
    def predict_proba(self, X: ArrayLike) -> Float: ...
    def predict_proba(self, X: Any) -> Any:
        """Probability (N, C) of every class: softmax of the cosines at the calibrated temperature."""
        rows, restore = as_rows(X, "X")
        temperature = self._fitted(X).facts.temperature
        return restore(probabilities(self.adapter_.scores(rows), temperature or 1.0))

    def score(self, X: Any, y: Any) -> float:
        """Accuracy against ``y`` (N,), the indices of the classes or their names."""
        truth, labels = np.asarray(y), np.asarray(self.predict(X))
        if truth.dtype.kind in "UO":
            labels = np.array(self.adapter_.labels, dtype=object)[labels]
        if truth.shape != labels.shape:
            raise InputError(f"y has shape {truth.shape}; wanted one class for each row of X")
        return float(np.mean(truth == labels))

    def _fitted(self, X: Any) -> Adapter:
        check_is_fitted(self)
        rows, _ = as_rows(X, "X")
        if rows.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {rows.shape[1]} features, but PRISM is expecting {self.n_features_in_} "
                "features as input; embed with the encoder of the calibration"
            )
        if not is_torch(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        return self.adapter_

    def _parameters(self) -> Parameters:
        if self.preset not in PRESETS:
            raise InputError(
                f"preset {self.preset!r} is unknown; choose one of {', '.join(PRESETS)}"
            )
        given = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name != "preset" and value is not None
        }
        try:
            return replace(PRESETS[self.preset], **given).checked()
        except ValueError as error:
            raise InputError(str(error)) from None


def _reading(adapter: Adapter, source: RowSource, verdict: Verdict) -> dict[str, Any]:
    """How the scores of an adapter are to be read, from the rows that it was calibrated on."""
    if not source.shape[0]:
        return {}
    rows, agreement = pick(source, READ_ROWS), verdict.numbers.get("agreement")
    zero_shot = product(rows, adapter.prototypes.T)
    scores = product(apply_map(rows, adapter.W), adapter.prototypes.T)
    if verdict == "zero-shot":  # what two calibrations of such a batch agree on tells nothing
        agreement = None
    return confidence(scores, zero_shot, agreement)._asdict()


def _calibrate(
    source: RowSource, T: Float, params: Parameters, preset: str, y: Labels | None
) -> Calibration:
    """The calibration that a preset asks for."""
    N, d = source.shape
    if not N:
        verdict = Verdict("zero-shot", ("every row is silent",), {"clips": 0})
        return Calibration(identity_map(d), np.empty(0, np.intp), verdict=verdict)
    if preset == "released":
        # The script knows no chunks; it holds several copies of all rows.
        return calibrate_released(pick(source, N), T, params)
    return calibrate(source, T, params, y)
