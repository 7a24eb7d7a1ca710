from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from prism_audio.encoders import base
from prism_audio.encoders.base import Encoder, embed_audio, embed_timeline, load_encoder
from prism_audio.errors import AudioError, InputError, PrismError
from tests.helpers.encoder_contract import CHECKS


class Moments:
    """An encoder that can be followed by hand: a window's level, peak, sharpness and balance."""

    id = "moments"
    fingerprint = hashlib.sha256(b"moments").hexdigest()
    dim = 4
    rate = 8_000
    window = 0.5
    hop = 0.2

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def embed_windows(self, windows: np.ndarray) -> np.ndarray:
        if windows.ndim != 2 or windows.shape[1] != 4_000 or not np.isfinite(windows).all():
            raise InputError(f"windows of shape (any, 4000) were wanted, not {windows.shape}")
        x = self.gain * windows.astype(np.float64)
        rows = [np.abs(x).mean(1), np.abs(x).max(1), np.abs(np.diff(x)).mean(1), 1 + x.mean(1)]
        return np.stack(rows, axis=1).astype(np.float32)

    def pool(self, features: np.ndarray, weights: np.ndarray) -> np.ndarray:
        mean = np.average(features, axis=0, weights=weights)
        return (mean / np.linalg.norm(mean)).astype(np.float32)

    def embed_text(self, texts: Sequence[str]) -> np.ndarray:
        if isinstance(texts, str):
            raise InputError("a list of texts was wanted")
        rows = [list(hashlib.sha256(text.encode()).digest()[:4]) for text in texts]
        floats = 1 + np.array(rows, np.float32).reshape(len(rows), 4)
        return floats / np.linalg.norm(floats, axis=1, keepdims=True)


class FilledUp(Moments):
    """The same, trained on short sounds that were repeated."""

    def pad(self, sound: np.ndarray) -> np.ndarray:
        return np.resize(sound, 4_000)


def noise(seconds: float, seed: int = 0) -> np.ndarray:
    samples = 0.1 * np.random.default_rng(seed).standard_normal(round(seconds * 8_000))
    return samples.astype(np.float32)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        metadata.EntryPoint("moments", f"{__name__}:Moments", base.ENTRY_POINTS),
        metadata.EntryPoint("clap", f"{__name__}:FakeClap", base.ENTRY_POINTS),
        metadata.EntryPoint("broken", "no_such_package.at_all:Thing", base.ENTRY_POINTS),
        metadata.EntryPoint("half", f"{__name__}:Half", base.ENTRY_POINTS),
    ]
    found = metadata.EntryPoints(points)
    monkeypatch.setattr(metadata, "entry_points", lambda **wanted: found.select(**wanted))


class FakeClap(Moments):
    def __init__(self, source: str = "default", **options: Any) -> None:
        super().__init__()
        self.source, self.options = source, options


class Half:
    id = "half"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_contract_holds_for_a_plain_encoder(check) -> None:
    check(Moments())


class Sloppy(Moments):
    """What encoders do wrong: a batch shares its scale, so members influence each other."""

    def embed_windows(self, windows: np.ndarray) -> np.ndarray:
        return super().embed_windows(windows / (np.abs(windows).max() + 1e-9))


def test_the_contract_notices_a_batch_that_changes_its_members() -> None:
    failed = []
    for check in CHECKS:
        try:
            check(Sloppy())
        except AssertionError:
            failed.append(check.__name__)
    assert "windows_do_not_influence_each_other" in failed


@pytest.mark.usefixtures("registered")
class TestLoadEncoder:
    def test_by_name_with_options(self) -> None:
        encoder = load_encoder("moments", gain=2.0)
        assert isinstance(encoder, Moments)
        assert encoder.gain == 2.0

    @pytest.mark.parametrize("name", ["laion/clap-htsat-fused", "./model.pt"])
    def test_a_hub_id_or_a_path_is_clap(self, name: str) -> None:
        encoder = load_encoder(name, device="cpu")
        assert isinstance(encoder, FakeClap)
        assert (encoder.source, encoder.options) == (name, {"device": "cpu"})

    def test_a_file_without_a_slash_is_clap_too(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("model.pt").touch()
        assert load_encoder("model.pt").source == "model.pt"  # type: ignore[attr-defined]
        assert load_encoder(tmp_path).source == str(tmp_path)  # type: ignore[attr-defined]

    def test_an_unknown_name_lists_the_known(self) -> None:
        with pytest.raises(InputError, match="broken, clap, half, moments"):
            load_encoder("momets")

    def test_one_that_does_not_import_says_so(self) -> None:
        with pytest.raises(PrismError, match="no_such_package"):
            load_encoder("broken")

    def test_one_that_lacks_a_part_is_refused(self) -> None:
        with pytest.raises(PrismError, match="protocol"):
            load_encoder("half")


def test_concepts_is_the_default_and_registered() -> None:
    points = metadata.entry_points(group=base.ENTRY_POINTS)
    assert {"concepts", "clap"} <= points.names
    assert base.DEFAULT == "concepts"


def test_embed_audio_pools_all_windows_by_their_sound() -> None:
    encoder, sound = Moments(), noise(1.23)
    starts = [0, 1600, 3200, 4800, 6400]  # the first that reaches the end of 9840 samples is last
    parts = [sound[start : start + 4000] for start in starts]
    windows = np.array([np.pad(part, (0, 4000 - len(part))) for part in parts])
    weights = np.array([len(part) / 8000 for part in parts], np.float32)
    expected = encoder.pool(encoder.embed_windows(windows), weights)
    np.testing.assert_allclose(embed_audio(encoder, [(sound, 8_000)])[0], expected, atol=1e-6)


def test_embed_audio_of_a_recording_longer_than_a_batch() -> None:
    encoder, sound = Moments(), noise(30.0)
    line = embed_timeline(encoder, (sound, 8_000))
    assert len(line.start) > 2 * base._BATCH
    features = np.concatenate(
        [encoder.embed_windows(sound[round(s * 8000) :][:4000][None]) for s in line.start[:-1]]
    )
    whole = encoder.pool(features, np.full(len(features), 0.5, np.float32))
    assert embed_audio(encoder, [(sound, 8_000)])[0] @ whole > 0.9999


def test_embed_audio_takes_files_and_arrays_in_order(tmp_path: Path) -> None:
    encoder = Moments()
    recordings = [noise(0.3 + 0.2 * k, seed=k) for k in range(12)]
    for k, samples in enumerate(recordings):
        soundfile.write(tmp_path / f"{k}.wav", samples, 8_000, subtype="FLOAT")
    from_files = embed_audio(encoder, [tmp_path / f"{k}.wav" for k in range(12)])
    mixed = embed_audio(
        encoder,
        [(x, 8_000) if k % 2 else str(tmp_path / f"{k}.wav") for k, x in enumerate(recordings)],
        workers=3,
    )
    np.testing.assert_allclose(from_files, mixed, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(mixed, axis=1), 1, atol=1e-6)
    assert embed_audio(encoder, []).shape == (0, 4)


def test_timeline_says_when_and_what() -> None:
    encoder = Moments()
    sound = np.concatenate([np.zeros(8_000, np.float32), noise(1.0)])
    line = embed_timeline(encoder, (sound, 8_000))
    np.testing.assert_allclose(line.start, 0.2 * np.arange(len(line.start)), atol=1e-9)
    assert line.end[-1] == pytest.approx(2.0)
    np.testing.assert_allclose(line.embeddings[line.end <= 1.0, 0], 0, atol=1e-6)
    assert (line.embeddings[line.start >= 1.0, 0] > 0.01).all()


def test_a_short_last_window_is_filled_the_encoders_way() -> None:
    sound = noise(0.1)
    filled = embed_audio(FilledUp(), [(sound, 8_000)])[0]
    by_hand = embed_audio(Moments(), [(np.resize(sound, 4_000), 8_000)])[0]
    np.testing.assert_allclose(filled, by_hand, atol=1e-6)
    assert np.abs(filled - embed_audio(Moments(), [(sound, 8_000)])[0]).max() > 1e-3


def test_what_is_no_list_of_recordings_is_refused(tmp_path: Path) -> None:
    encoder: Encoder = Moments()
    for wrong in ("file.wav", tmp_path, noise(1.0)):
        with pytest.raises(InputError, match="list of recordings"):
            embed_audio(encoder, wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pair"):
        embed_audio(encoder, [(noise(1.0), 8_000, 1)])  # type: ignore[list-item]
    with pytest.raises(AudioError, match=r"missing\.wav"):
        embed_audio(encoder, [tmp_path / "missing.wav"])
    with pytest.raises(PrismError):
        embed_audio(encoder, [noise(1.0)])  # an array without its rate
