"""Digital silence is ``silence``, not a class: files and streams, with either kind of encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

import prism_audio as prism
from prism_audio.encoders import assets, load_encoder
from prism_audio.encoders.prompts import PromptSet
from prism_audio.encoders.protocol import Encoder
from prism_audio.labelling.labeller import SILENCE
from prism_audio.labelling.listener import Listener, Pace, WindowAnswer
from prism_audio.model.vocabulary import Vocabulary


@pytest.fixture(scope="module", params=["concepts", "clap"])
def encoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    if request.param == "concepts":
        if not all(assets.find(asset) for asset in assets.ASSETS):
            pytest.skip("the files of the encoder 'concepts' are not in the cache")
        return load_encoder("concepts")
    pytest.importorskip("transformers", reason="the CLAP encoder's extra is not installed")
    pytest.importorskip("torch", reason="the CLAP encoder's extra is not installed")
    from prism_audio.encoders.clap.encoder import ClapEncoder
    from tests.helpers.clap_tiny import tiny_model, write_hub_folder, write_tokenizer

    place = tmp_path_factory.mktemp("clap")
    tokenizer = write_tokenizer(place / "roberta")
    return ClapEncoder(write_hub_folder(place / "hub", tiny_model(False), tokenizer))


def test_files_and_streams(encoder: Encoder, tmp_path: Path) -> None:
    words = Vocabulary.from_text(encoder, ["drilling", "rain"], PromptSet.load("plain"))
    adapter = words.adapter()
    seconds = round(2 * encoder.window * encoder.rate)
    noise = 0.1 * np.random.default_rng(0).standard_normal(seconds).astype(np.float32)
    silence = np.zeros(seconds, np.float32)
    for name, samples in (("noise", noise), ("silence", silence)):
        sf.write(tmp_path / f"{name}.wav", samples, encoder.rate)
    heard, silent = prism.classify(tmp_path, adapter, encoder=encoder)
    assert heard.label in adapter.labels
    assert (silent.label, silent.probability) == (SILENCE, None)

    def answers(sound: np.ndarray) -> list[str]:
        told = Listener(encoder, adapter, Pace.fit(encoder)).hear([sound])
        return [notice.answer.label for notice in told if isinstance(notice, WindowAnswer)]

    assert set(answers(silence)) == {SILENCE}
    assert SILENCE not in answers(noise)
    assert not list(prism.listen([silence], adapter, encoder=encoder))
