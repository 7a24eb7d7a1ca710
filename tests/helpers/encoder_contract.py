"""What any encoder must do, as checks that take an encoder and fail with an ``AssertionError``.

An encoder of another package is tested the same way::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_contract(check, my_encoder):
        check(my_encoder)
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from prism_audio.encoders import embed_audio
from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import PrismError

TOLERANCE = 1e-5
TEXTS = [
    "a dog barking",
    "rain",
    'a "quoted" word, and a comma',
    "Glocke läutet – 鐘の音",
    "the low hum of a transformer behind a wall",
    "rain",
]


def sounds(encoder: Encoder) -> np.ndarray:
    """Windows that differ in kind and level, silence among them."""
    n = round(encoder.window * encoder.rate)
    t = np.arange(n) / encoder.rate
    rng = np.random.default_rng(0)
    click = np.zeros(n)
    click[n // 2] = 1.0
    kinds = [
        0.1 * rng.standard_normal(n),
        0.3 * np.sin(2 * np.pi * 440 * t),
        np.zeros(n),
        np.sign(np.sin(2 * np.pi * 100 * t)),
        click,
        1e-4 * rng.standard_normal(n),
        0.2 * rng.standard_normal(n) * np.exp(-8 * t),
    ]
    return np.array(kinds, np.float32).clip(-1, 1)


def says_what_it_is(encoder: Encoder) -> None:
    assert isinstance(encoder, Encoder)
    assert encoder.id
    assert len(encoder.fingerprint) >= 16
    assert int(encoder.fingerprint, 16) >= 0
    assert encoder.dim > 0
    assert encoder.rate > 0
    assert encoder.window > 0
    assert 0 < encoder.hop <= encoder.window


def is_deterministic(encoder: Encoder) -> None:
    windows = sounds(encoder)
    before = windows.copy()
    first, second = encoder.embed_windows(windows), encoder.embed_windows(windows)
    np.testing.assert_array_equal(windows, before)
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-6)
    texts = encoder.embed_text(TEXTS), encoder.embed_text(TEXTS)
    np.testing.assert_allclose(*texts, rtol=0, atol=1e-6)


def windows_do_not_influence_each_other(encoder: Encoder) -> None:
    windows = sounds(encoder)
    together = encoder.embed_windows(windows)
    assert together.shape[0] == len(windows)
    alone = np.concatenate([encoder.embed_windows(window[None]) for window in windows])
    np.testing.assert_allclose(together, alone, rtol=0, atol=TOLERANCE)
    backwards = encoder.embed_windows(windows[::-1])[::-1]
    np.testing.assert_allclose(together, backwards, rtol=0, atol=TOLERANCE)
    many = encoder.embed_windows(np.tile(windows, (5, 1)))
    np.testing.assert_allclose(np.tile(together, (5, 1)), many, rtol=0, atol=TOLERANCE)


def may_be_called_from_threads(encoder: Encoder) -> None:
    windows = sounds(encoder)
    alone = encoder.embed_windows(windows)
    with ThreadPoolExecutor(4) as threads:
        for rows in threads.map(encoder.embed_windows, [windows] * 8):
            np.testing.assert_allclose(rows, alone, rtol=0, atol=TOLERANCE)


def different_sounds_differ(encoder: Encoder) -> None:
    rows = each_pooled(encoder, sounds(encoder)[:2])
    assert rows[0] @ rows[1] < 0.999


def pools_to_finite_unit_vectors(encoder: Encoder) -> None:
    rows = each_pooled(encoder, sounds(encoder))
    assert rows.shape[1] == encoder.dim
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    sounding = sounds(encoder).any(axis=1)
    np.testing.assert_allclose(np.linalg.norm(rows[sounding], axis=1), 1, atol=TOLERANCE)


def silence_has_no_direction(encoder: Encoder) -> None:
    windows = sounds(encoder)
    silent = np.zeros((3, windows.shape[1]), np.float32)
    assert not each_pooled(encoder, silent).any()
    assert not embed_audio(encoder, [(silent.ravel(), encoder.rate)]).any()
    both = encoder.embed_windows(np.concatenate([windows[:1], silent]))
    assert np.linalg.norm(encoder.pool(both, np.ones(4, np.float32))) == pytest.approx(1, abs=1e-5)


def pools_by_the_weighted_mean(encoder: Encoder) -> None:
    features = encoder.embed_windows(sounds(encoder))
    weights = np.linspace(0.2, 1.0, len(features)).astype(np.float32)
    pooled = encoder.pool(features, weights)
    mean = np.average(features, axis=0, weights=weights).astype(np.float32)
    folded = encoder.pool(mean[None], weights.sum(keepdims=True))
    np.testing.assert_allclose(pooled, folded, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(pooled, encoder.pool(features, 3 * weights), rtol=0, atol=TOLERANCE)
    weights[1:] = 0
    np.testing.assert_allclose(
        encoder.pool(features, weights), encoder.pool(features[:1], weights[:1]), atol=TOLERANCE
    )


def embeds_texts_in_order(encoder: Encoder) -> None:
    rows = encoder.embed_text(TEXTS)
    assert rows.shape == (len(TEXTS), encoder.dim)
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=TOLERANCE)
    np.testing.assert_allclose(encoder.embed_text(TEXTS[::-1])[::-1], rows, rtol=0, atol=TOLERANCE)
    alone = np.concatenate([encoder.embed_text([text]) for text in TEXTS])
    np.testing.assert_allclose(alone, rows, rtol=0, atol=TOLERANCE)
    assert abs(rows[0] - rows[1]).max() > 1e-3
    assert encoder.embed_text([]).shape == (0, encoder.dim)


def refuses_what_it_cannot_use(encoder: Encoder) -> None:
    n = round(encoder.window * encoder.rate)
    for wrong in (np.zeros((2, n + 1), np.float32), np.zeros(n, np.float32)):
        with pytest.raises(PrismError):
            encoder.embed_windows(wrong)
    with pytest.raises(PrismError):
        encoder.embed_windows(np.full((1, n), np.nan, np.float32))
    with pytest.raises(PrismError):
        encoder.embed_text("a single text")


def a_recording_is_embedded_alike_alone_and_among_others(encoder: Encoder) -> None:
    n = round(encoder.window * encoder.rate)
    rng = np.random.default_rng(1)
    lengths = [n // 3, n, int(2.5 * n)]
    recordings = [(0.1 * rng.standard_normal(k).astype(np.float32), encoder.rate) for k in lengths]
    together = embed_audio(encoder, recordings)
    alone = np.concatenate([embed_audio(encoder, [recording]) for recording in recordings])
    np.testing.assert_allclose(together, alone, rtol=0, atol=TOLERANCE)


def each_pooled(encoder: Encoder, windows: np.ndarray) -> np.ndarray:
    weight = np.array([encoder.window], np.float32)
    return np.stack([encoder.pool(row[None], weight) for row in encoder.embed_windows(windows)])


CHECKS: list[Callable[[Encoder], None]] = [
    says_what_it_is,
    is_deterministic,
    windows_do_not_influence_each_other,
    may_be_called_from_threads,
    different_sounds_differ,
    pools_to_finite_unit_vectors,
    silence_has_no_direction,
    pools_by_the_weighted_mean,
    embeds_texts_in_order,
    refuses_what_it_cannot_use,
    a_recording_is_embedded_alike_alone_and_among_others,
]
