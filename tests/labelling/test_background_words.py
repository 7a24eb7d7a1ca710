"""Background words: they compete with the labels and are answered ``background``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prism_audio.encoders.prompts import PromptSet
from prism_audio.errors import InputError
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.calibration import calibrate_place
from prism_audio.labelling.labeller import BACKGROUND, Labeller
from prism_audio.model.adapter import Adapter
from prism_audio.model.vocabulary import Vocabulary
from tests.helpers.bands import BandEncoder, tone


def words(background: tuple[str, ...] = ("tone 12",)) -> Vocabulary:
    prompts = PromptSet.load("plain")
    return Vocabulary.from_text(BandEncoder(), ["tone 2", "tone 7"], prompts, background)


def rows(*bands: int) -> np.ndarray:
    encoder = BandEncoder()
    return np.stack(
        [
            encoder.pool(encoder.embed_windows(tone(b, 0.5, seed=i)[None]), np.ones(1, np.float32))
            for i, b in enumerate(bands)
        ]
    )


def test_a_background_word_is_not_reported() -> None:
    answers = Labeller(words().adapter()).answer(rows(2, 7, 12))
    assert [answer.label for answer in answers] == ["tone 2", "tone 7", BACKGROUND]
    assert answers[2].best == "tone 12"
    assert [answer.convinced for answer in answers] == [True, True, False]


def test_without_it_the_same_sound_gets_a_label() -> None:
    (answer,) = Labeller(words(()).adapter()).answer(rows(12))
    assert answer.label in ("tone 2", "tone 7")


def test_the_words_survive_calibration_and_the_file(tmp_path: Path) -> None:
    E = rows(*([2, 7, 12] * 40))
    nowhere = np.full(len(E), np.nan)
    site = calibrate_place(Batch(E, ["a.wav"] * len(E), nowhere, nowhere), words())
    site.save(tmp_path / "site.safetensors")
    loaded = Adapter.load(tmp_path / "site.safetensors")
    assert loaded.facts.background == 1
    assert Vocabulary.of(loaded).background == 1
    assert [a.label for a in Labeller(loaded).answer(rows(12, 2))] == [BACKGROUND, "tone 2"]


def test_a_word_is_a_label_or_background_not_both() -> None:
    with pytest.raises(InputError, match="name it once"):
        words(("tone 7",))
    prompts = PromptSet.load("plain")
    clash = Vocabulary.from_text(BandEncoder(), [BACKGROUND, "tone 7"], prompts, ["tone 12"])
    with pytest.raises(InputError, match="word that class differently"):
        Labeller(clash.adapter())
