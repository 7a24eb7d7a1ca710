from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prism_audio.audio.mixing.mix import MixedSound
from prism_audio.bench.embeddings.mixtures import Backgrounds, mixture
from prism_audio.bench.experiment.conditions import Condition, Recipe
from prism_audio.errors import InputError
from tests.helpers.tiny_bench import RATE, backgrounds, tone

RECIPE = Recipe((-6.0, 0.0, 9.0), seed=11)


@pytest.fixture(scope="module")
def cellar(tmp_path_factory: pytest.TempPathFactory) -> Backgrounds:
    folder = backgrounds(tmp_path_factory.mktemp("noise"))
    return Backgrounds("cellar", sorted((folder / "cellar").iterdir()), RATE)


def clip(number: int) -> MixedSound:
    # Quiet, so that no mixture has to be turned down to stay below full scale.
    return MixedSound((0.2 * tone(number % 4, number)).astype(np.float32), RATE, {})


def decibels(x: np.ndarray) -> float:
    return float(10 * np.log10(np.mean(np.square(x, dtype=np.float64))))


@pytest.mark.parametrize("snr", RECIPE.snrs)
def test_what_was_added_has_the_level_asked(cellar: Backgrounds, snr: float) -> None:
    for number in range(6):
        sound = clip(number)
        made = mixture(sound, number, Condition("cellar", snr), RECIPE, cellar)
        noise = made - sound.samples
        assert decibels(sound.samples) - decibels(noise) == pytest.approx(snr, abs=0.01)


def test_a_clip_meets_the_same_noise_at_every_snr(cellar: Backgrounds) -> None:
    for number in range(6):
        sound = clip(number)
        quiet, loud = (
            mixture(sound, number, Condition("cellar", snr), RECIPE, cellar) - sound.samples
            for snr in (9.0, -6.0)
        )
        assert np.corrcoef(quiet, loud)[0, 1] == pytest.approx(1, abs=1e-4)


def test_mixed_is_each_clip_at_one_of_the_snrs(cellar: Backgrounds) -> None:
    mixed = Condition("cellar", "mixed")
    drawn = [RECIPE.snr_of(mixed, number) for number in range(60)]
    assert set(drawn) == set(RECIPE.snrs)
    for number in range(4):
        alike = mixture(clip(number), number, Condition("cellar", drawn[number]), RECIPE, cellar)
        found = mixture(clip(number), number, mixed, RECIPE, cellar)
        np.testing.assert_array_equal(found, alike)


def test_clips_meet_all_recordings_of_a_place(cellar: Backgrounds) -> None:
    met = [cellar.pick(0, number).origin["file"] for number in range(40)]
    assert 10 < met.count(str(cellar.files[0])) < 30


def test_a_seed_is_another_mixture(cellar: Backgrounds) -> None:
    here = Condition("cellar", 0.0)
    one, again, other = (
        mixture(clip(1), 1, here, Recipe((0.0,), seed=seed), cellar) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_a_scene_has_ten_seconds(cellar: Backgrounds) -> None:
    recipe = Recipe((0.0,), kind="scene", level="lufs")
    assert len(mixture(clip(0), 0, Condition("cellar", 0.0), recipe, cellar)) == 10 * RATE


def test_clean_is_the_clip_itself() -> None:
    clean = Condition("clean", "clean")
    np.testing.assert_array_equal(mixture(clip(0), 0, clean, RECIPE, None), clip(0).samples)
    assert np.isnan(RECIPE.snr_of(clean, 0))


def test_names_tell_conditions_apart() -> None:
    conditions = [
        Condition("clean", "clean"),
        Condition("cellar", -6.0),
        Condition("cellar", 6.0),
        Condition("cellar", "mixed"),
        Condition("cellar", "mixed", "gate"),
    ]
    assert len({condition.name for condition in conditions}) == len(conditions)


def test_what_does_not_matter_is_no_fact() -> None:
    """The embeddings of one SNR serve experiments with other SNRs beside it."""
    wide, narrow = Recipe((-6.0, 0.0)), Recipe((0.0,))
    here, mixed = Condition("cellar", 0.0), Condition("cellar", "mixed")
    assert wide.facts(here) == narrow.facts(here)
    assert wide.facts(mixed) != narrow.facts(mixed)
    assert Recipe((0.0,), seed=1).facts(here) != narrow.facts(here)
    clean = Condition("clean", "clean")
    assert Recipe((0.0,), seed=1).facts(clean) == narrow.facts(clean)


def test_a_place_needs_a_recording() -> None:
    with pytest.raises(InputError, match="desert"):
        Backgrounds("desert", list[Path](), RATE)
