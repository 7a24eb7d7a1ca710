"""CLAP as an encoder: the same vector for the same sound, whatever else is in the batch."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the CLAP encoder's extra is not installed")
transformers = pytest.importorskip("transformers", reason="the CLAP encoder's extra is missing")

from prism_audio.encoders import embed_audio  # noqa: E402
from prism_audio.encoders.clap.encoder import ClapEncoder, _rows  # noqa: E402
from prism_audio.errors import InputError  # noqa: E402
from tests.helpers.clap_tiny import SAMPLES, sounds, tiny_model, write_hub_folder, write_tokenizer  # noqa: E402
from tests.helpers.encoder_contract import CHECKS  # noqa: E402


@pytest.fixture(scope="module", params=[True, False], ids=["fused", "unfused"])
def folder(request, tmp_path_factory):
    place = tmp_path_factory.mktemp("clap")
    return write_hub_folder(
        place / "hub", tiny_model(request.param), write_tokenizer(place / "roberta")
    )


@pytest.fixture(scope="module")
def encoder(folder):
    return ClapEncoder(folder, batch_size=3)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check, encoder):
    check(encoder)


def test_says_what_it_is(encoder, folder):
    assert (encoder.id, encoder.dim) == (str(folder), 24)
    assert (encoder.rate, encoder.window, encoder.hop) == (48_000, 10.0, 10.0)


def test_no_dice(encoder, monkeypatch):
    def thrown(*args, **options):
        raise AssertionError("a random number was asked for")

    windows = sounds(2)
    first = encoder.embed_windows(windows)
    for name in ("randint", "choice", "rand", "random"):
        monkeypatch.setattr(f"numpy.random.{name}", thrown)
    np.testing.assert_array_equal(encoder.embed_windows(windows), first)


def test_equal_to_transformers_with_the_truth_about_length(folder, encoder):
    windows = sounds(2)
    extractor = transformers.ClapFeatureExtractor.from_pretrained(folder)
    pictures = torch.tensor(
        np.asarray(extractor(list(windows), sampling_rate=48_000)["input_features"]),
        dtype=torch.float32,
    )
    model = transformers.ClapModel.from_pretrained(folder).eval()

    def with_flags(longer: list[bool]) -> np.ndarray:
        with torch.no_grad():
            flags = torch.tensor(longer)[:, None]
            return _rows(model.get_audio_features(input_features=pictures, is_longer=flags))

    np.testing.assert_allclose(
        encoder.embed_windows(windows), with_flags([False, False]), atol=1e-5
    )
    if model.config.audio_config.enable_fusion:
        lie = with_flags([True, False])
        assert np.abs(lie[0] - encoder.embed_windows(windows)[0]).max() > 1e-3


def test_nothing_in_gives_nothing_out(encoder):
    assert encoder.embed_windows(np.empty((0, SAMPLES), np.float32)).shape == (0, 24)


def test_text_that_does_not_fit_is_not_cut(encoder):
    with pytest.raises(InputError, match="98 tokens"):
        encoder.embed_text(["short", "dog " * 100])


@pytest.mark.parametrize("texts", ["one string", ["one", 2]])
def test_text_must_be_a_list_of_strings(encoder, texts):
    with pytest.raises(InputError, match="list of texts"):
        encoder.embed_text(texts)


@pytest.mark.parametrize("shape", [(SAMPLES,), (1, 160_000), (1, 1, SAMPLES)])
def test_windows_of_another_shape_are_refused(encoder, shape):
    with pytest.raises(InputError, match="480000"):
        encoder.embed_windows(np.zeros(shape, np.float32))


def test_pooling_weighs_by_duration(encoder):
    features = encoder.embed_windows(sounds(3))
    pooled = encoder.pool(features, np.array([10, 10, 2.5], np.float32))
    mean = 10 * features[0] + 10 * features[1] + 2.5 * features[2]
    np.testing.assert_allclose(pooled, mean / np.linalg.norm(mean), atol=1e-6)
    np.testing.assert_allclose(encoder.pool(features[:1], np.ones(1)), features[0], atol=1e-6)


@pytest.mark.parametrize("weights", [[1], [0, 0], [1, -1], [np.nan, 1]])
def test_pooling_wants_usable_weights(encoder, weights):
    with pytest.raises(InputError, match="weight"):
        encoder.pool(np.eye(2, 24, dtype=np.float32), np.array(weights))


def test_pooling_names_windows_that_cancel(encoder):
    with pytest.raises(InputError, match="cancel"):
        encoder.pool(np.array([[1.0] * 24, [-1.0] * 24], np.float32), np.ones(2))


def test_short_sound_is_repeated_not_followed_by_silence(encoder):
    sound = sounds(1)[0, : SAMPLES // 2]
    np.testing.assert_array_equal(encoder.pad(sound), np.concatenate([sound, sound]))


def test_recordings_of_any_length_go_through_the_front_end(encoder):
    sound = sounds(3).reshape(-1)[: int(2.5 * SAMPLES)]
    short, long = embed_audio(encoder, [(sound[: SAMPLES // 3], 48_000), (sound, 48_000)])
    third = encoder.embed_windows(encoder.pad(sound[: SAMPLES // 3])[None])
    np.testing.assert_allclose(short, third[0], atol=1e-5)
    windows = [sound[:SAMPLES], sound[SAMPLES : 2 * SAMPLES], encoder.pad(sound[2 * SAMPLES :])]
    pooled = encoder.pool(encoder.embed_windows(np.stack(windows)), np.array([10, 10, 5]))
    np.testing.assert_allclose(long, pooled, atol=1e-5)


def test_both_forms_of_output_are_read():
    rows = torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    for output in (rows.clone(), SimpleNamespace(pooler_output=rows.clone(), last_hidden_state=0)):
        np.testing.assert_allclose(_rows(output), [[0.6, 0.8], [0, 1]], atol=1e-7)


def test_wrong_options_are_named(folder):
    with pytest.raises(InputError, match="batch_size"):
        ClapEncoder(folder, batch_size=0)
    with pytest.raises(InputError, match="nonsense"):
        ClapEncoder(folder, device="nonsense")
