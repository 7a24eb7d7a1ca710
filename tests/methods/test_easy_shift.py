"""On an easy shift no method may fall to chance, and each must at least keep what zero-shot has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from prism_audio.methods import METHODS, make
from tests.helpers.shift import accuracy, shifted, text_context

SEEDS = [0, 1, 2]
# They model the translation, which is all that is wrong here, and so must undo it.
UNDO_IT = {
    "contextda_text",
    "contextda_audio",
    "prism",
    "prism_paper",
    "prism_released",
    "prism_car",
    "mean_shift",
    "sinkhorn",
    "audio_prototypes",
    "gaussian_em",
    "text_mixture",
    "zlap",
}
# They know nothing of the translation: random text, or a stream that has only begun to learn.
NEAR_ZERO_SHOT = {"das", "prompt_weights", "onzeta"}


def run(name, seed):
    E, T, truth, background = shifted(seed=seed)
    context = replace(
        text_context(T), background_text=[background] * 3, background_audio=background
    )
    fitted = make(name).fit(E[:400], T, context)
    return accuracy(fitted.labels, truth[:400]), accuracy(fitted.predict(E[400:]), truth[400:])


def test_the_shift_hurts_but_is_easy():
    for seed in SEEDS:
        assert 0.6 < run("zero_shot", seed)[0] < 0.9


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", METHODS)
def test_not_worse_than_zero_shot(name, seed):
    seen, unseen = run(name, seed)
    zero_seen, zero_unseen = run("zero_shot", seed)
    chance = 1 / 10
    assert seen > 5 * chance
    assert unseen > 5 * chance
    assert seen >= zero_seen - (0.05 if name in NEAR_ZERO_SHOT else 0)
    assert unseen >= zero_unseen - 0.05
    if name in UNDO_IT:
        assert seen > 0.95
