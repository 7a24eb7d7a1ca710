"""Where CLAP comes from: hub, folder or checkpoint; what is lost is an error, never made up."""

from __future__ import annotations

import json
import re
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the CLAP encoder's extra is not installed")
transformers = pytest.importorskip("transformers", reason="the CLAP encoder's extra is missing")

from prism_audio.encoders.clap.encoder import ClapEncoder  # noqa: E402
from prism_audio.errors import AssetError, InputError, PrismError  # noqa: E402
from tests.helpers.clap_tiny import (  # noqa: E402
    WORDS,
    laion_state,
    sounds,
    tiny_model,
    write_hub_folder,
    write_laion_file,
    write_tokenizer,
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("words") / "roberta")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tokenizer):
    return write_hub_folder(tmp_path_factory.mktemp("clap") / "hub", tiny_model(True), tokenizer)


@pytest.fixture(scope="module")
def encoder(folder):
    return ClapEncoder(folder)


def test_half_precision_weights_are_computed_in_full(tmp_path, tokenizer):
    model = tiny_model(True).half()
    encoder = ClapEncoder(write_hub_folder(tmp_path / "half", model, tokenizer))
    full = ClapEncoder(write_hub_folder(tmp_path / "full", model.float(), tokenizer))
    np.testing.assert_array_equal(encoder.embed_text(WORDS), full.embed_text(WORDS))
    assert encoder.fingerprint == full.fingerprint


def test_fingerprint_sees_weights_settings_and_words(tmp_path, folder, encoder):
    def of(change) -> str:
        copy = shutil.copytree(folder, tmp_path / change.__name__)
        change(copy)
        return ClapEncoder(copy).fingerprint

    def nothing(copy):
        pass

    def weight(copy):
        model = transformers.ClapModel.from_pretrained(copy)
        with torch.no_grad():
            model.audio_projection.linear2.bias[0] += 1e-3
        model.save_pretrained(copy)

    def setting(copy):
        for file in ("processor_config.json", "preprocessor_config.json"):
            if (copy / file).exists():
                text = (
                    (copy / file).read_text().replace('"frequency_min": 50', '"frequency_min": 0')
                )
                (copy / file).write_text(text)

    def words(copy):
        text = (copy / "tokenizer.json").read_text()
        (copy / "tokenizer.json").write_text(text.replace('"<mask>"', '"<gap>"'))

    prints = [of(change) for change in (weight, setting, words)]
    assert of(nothing) == encoder.fingerprint
    assert len({encoder.fingerprint, *prints}) == 4


@pytest.fixture
def hub(monkeypatch):
    """A hub that hands out local folders by name, and a list of what was asked of it."""
    cached, online, asked = {}, {}, []

    def download(repo, *, revision, allow_patterns, local_files_only=False):
        asked.append("cache" if local_files_only else "network")
        shelf = cached if local_files_only else online
        if repo not in shelf:
            raise OSError(f"no way to {repo}\nand a page of advice")
        return str(shelf[repo])

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    return SimpleNamespace(cached=cached, online=online, asked=asked)


def test_a_hub_id_is_fetched_once(hub, folder, encoder):
    hub.online["some/clap"] = folder
    fetched = ClapEncoder("some/clap")
    assert hub.asked == ["cache", "network"]
    assert (fetched.id, fetched.fingerprint) == ("some/clap", encoder.fingerprint)
    hub.cached["some/clap"] = folder
    assert ClapEncoder("some/clap").fingerprint == encoder.fingerprint
    assert hub.asked == ["cache", "network", "cache"]


def test_a_cached_model_without_its_weights_is_fetched(hub, folder, tmp_path):
    ignore = shutil.ignore_patterns("*.safetensors")
    hub.cached["some/clap"] = shutil.copytree(folder, tmp_path / "part", ignore=ignore)
    hub.online["some/clap"] = folder
    ClapEncoder("some/clap")
    assert hub.asked == ["cache", "network"]


def test_a_hub_out_of_reach_is_said_so(hub):
    with pytest.raises(AssetError, match=r"'some/clap' .*no way to some/clap\. .*\.pt file"):
        ClapEncoder("some/clap")


def test_tokenizer_of_a_checkpoint(hub, tmp_path, tokenizer, folder):
    path = write_laion_file(tmp_path / "clap.pt", laion_state(tiny_model(False)))
    with pytest.raises(AssetError, match="'roberta-base' from the hub"):
        ClapEncoder(path)
    with pytest.raises(AssetError, match=r"no tokenizer\.json"):
        ClapEncoder(path, tokenizer=tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        ClapEncoder(path, tokenizer=tmp_path / "nowhere")
    hub.online["roberta-base"] = tokenizer
    fetched = ClapEncoder(path)
    hub.asked.clear()
    shutil.copytree(tokenizer, tmp_path / "roberta-base")
    beside = ClapEncoder(path)
    single_file = ClapEncoder(path, tokenizer=folder)  # a folder with tokenizer.json alone
    assert hub.asked == []
    assert fetched.fingerprint == beside.fingerprint == single_file.fingerprint
    np.testing.assert_array_equal(fetched.embed_text(WORDS), single_file.embed_text(WORDS))


@pytest.mark.parametrize("vocabulary", [{}, {"bark": 50_000}], ids=["empty", "too large"])
def test_a_tokenizer_of_another_model_is_refused(tmp_path, folder, vocabulary):
    copy = shutil.copytree(folder, tmp_path / "copy")
    content = json.loads((copy / "tokenizer.json").read_text())
    special = {token["content"]: token["id"] for token in content["added_tokens"]}
    content["model"].update(vocab=special | vocabulary, merges=[])
    (copy / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(AssetError, match="do not belong together"):
        ClapEncoder(copy)


@pytest.mark.parametrize(
    "source", ["missing.pt", "models/clap.pt", "no/such/folder", "./clap", "clapp"]
)
def test_a_path_that_is_not_there_is_no_hub_id(source):
    with pytest.raises(InputError, match=source):
        ClapEncoder(source)


def test_a_folder_of_another_model_is_refused(tmp_path):
    transformers.BertConfig(hidden_size=4).save_pretrained(tmp_path)
    with pytest.raises(AssetError, match="'bert'"):
        ClapEncoder(tmp_path)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(AssetError, match=r"config\.json"):
        ClapEncoder(tmp_path)


def without(folder, copy, pattern):
    """A copy of a folder whose weights lack the names that match."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(folder, copy)
    weights = load_file(copy / "model.safetensors")
    kept = {name: value for name, value in weights.items() if not re.search(pattern, name)}
    assert len(kept) < len(weights)
    save_file(kept, copy / "model.safetensors", metadata={"format": "pt"})
    return copy


def test_lost_weights_are_not_replaced_by_chance(tmp_path, folder):
    with pytest.raises(AssetError, match=r"audio_projection\.linear2\.weight"):
        ClapEncoder(without(folder, tmp_path / "copy", r"audio_projection\.linear2\.weight"))


def test_tables_that_follow_from_the_shape_may_be_absent(tmp_path, folder, encoder):
    tables = r"relative_position_index|position_ids|token_type_ids|logit_scale"
    bare = ClapEncoder(without(folder, tmp_path / "copy", tables))
    windows = sounds(1)
    # Where tensors lie in memory changes the last bit of a product.
    np.testing.assert_allclose(
        bare.embed_windows(windows), encoder.embed_windows(windows), atol=1e-6
    )
    np.testing.assert_allclose(bare.embed_text(WORDS[:3]), encoder.embed_text(WORDS[:3]), atol=1e-6)
    assert bare.fingerprint == encoder.fingerprint


def test_without_pytorch_both_remedies_are_named(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(PrismError, match=r"'--encoder clap'.*pip install 'prism-audio\[clap\]'"):
        ClapEncoder(folder)


def test_an_unsafe_pytorch_is_refused(monkeypatch, folder):
    monkeypatch.setattr(torch, "__version__", "2.5.1+cpu")
    with pytest.raises(PrismError, match=r"2\.6"):
        ClapEncoder(folder)
