"""LAION's checkpoint files: translated key by key, equal to the hub's form, harmless if hostile."""

from __future__ import annotations

import os
import pickle
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the CLAP encoder's extra is not installed")
pytest.importorskip("transformers", reason="the CLAP encoder's extra is not installed")

from prism_audio.encoders.clap.checkpoint import (  # noqa: E402
    architecture,
    load_checkpoint,
    read_state,
    translate,
)
from prism_audio.encoders.clap.encoder import ClapEncoder  # noqa: E402
from prism_audio.errors import AssetError  # noqa: E402
from tests.helpers.clap_tiny import (  # noqa: E402
    WORDS,
    laion_state,
    sounds,
    tiny_model,
    write_hub_folder,
    write_laion_file,
    write_tokenizer,
)

BOTH = pytest.mark.parametrize("fused", [True, False], ids=["fused", "unfused"])
# What a published file holds besides the two towers and their projections.
IDLE = re.compile(
    r".*(extractor|tscam_conv|head|_transform|logit_scale|attn_mask|position_index|position_ids).*"
)
COUNTERS = "num_batches_tracked"  # of batch norms: not used once training is over


@pytest.fixture(scope="module", params=[True, False], ids=["fused", "unfused"])
def model(request):
    return tiny_model(request.param)


@BOTH
def test_equal_to_the_hub_form(tmp_path, fused):
    model = tiny_model(fused, seed=3)
    tokenizer = write_tokenizer(tmp_path / "roberta-base")
    ours = ClapEncoder(write_laion_file(tmp_path / "clap.pt", laion_state(model)))
    hub = ClapEncoder(write_hub_folder(tmp_path / "hub", model, tokenizer))
    windows = sounds(3)
    np.testing.assert_allclose(ours.embed_windows(windows), hub.embed_windows(windows), atol=1e-5)
    np.testing.assert_allclose(ours.embed_text(WORDS), hub.embed_text(WORDS), atol=1e-5)
    assert ours.fingerprint == hub.fingerprint


@BOTH
@pytest.mark.parametrize("depths", [(2, 2), (1, 3, 2)])
def test_architecture_is_read_from_the_shapes(fused, depths):
    model = tiny_model(fused, depths=depths)
    found = architecture(laion_state(model))
    for tower in ("audio_config", "text_config"):
        wanted, got = (getattr(config, tower).to_dict() for config in (model.config, found))
        settings = [key for key in wanted if not key.startswith("_")]
        assert [key for key in settings if got[key] != wanted[key]] == []
    assert found.projection_dim == model.config.projection_dim


def test_every_weight_arrives_under_its_name(model):
    translated = translate(laion_state(model), model.state_dict())
    for name, value in model.state_dict().items():
        if name in translated:
            assert torch.equal(translated[name], value), name
        else:
            assert IDLE.fullmatch(name) or name.endswith("token_type_ids"), name


def test_every_key_is_needed_or_known_to_be_idle(model):
    state, wanted = laion_state(model), model.state_dict()
    full = translate(state, wanted)
    for key in state:
        rest = {name: value for name, value in state.items() if name != key}
        if IDLE.fullmatch(key):
            assert translate(rest, wanted).keys() == full.keys()
        elif not key.endswith(COUNTERS):
            with pytest.raises(AssetError, match="missing weights"):
                translate(rest, wanted)


def test_a_bare_state_dict_loads_too(tmp_path, model):
    state = laion_state(model)
    torch.save(state, tmp_path / "bare.pt")
    assert read_state(tmp_path / "bare.pt").keys() == state.keys()
    assert load_checkpoint(tmp_path / "bare.pt").config.projection_dim == 24


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"audio_branch.norm.weight": None}, "audio_encoder.norm.weight"),
        ({"text_branch.encoder.layer.1.output.dense.bias": None}, "layer.1.output.dense.bias"),
        ({"audio_branch.patch_embed.proj.weight": None}, "audio_branch.patch_embed.proj.weight"),
        (
            {"audio_branch.layers.0.blocks.0.attn.gate": 1},
            "audio_branch.layers.0.blocks.0.attn.gat",
        ),
        ({"text_branch.encoder.surplus.weight": 1}, "text_branch.encoder.surplus.weight"),
        ({"audio_branch.mel_conv1d.0.weight": 1}, "audio_branch.mel_conv1d.0.weight"),
        ({"audio_branch.norm.weight": 5}, "size mismatch"),
        ({"audio_branch.patch_embed.proj.weight": (16, 4, 4, 4)}, "4 channels"),
        ({"text_branch.embeddings.token_type_embeddings.weight": (2, 128)}, "not RoBERTa"),
    ],
)
def test_wrong_keys_are_named(tmp_path, change, named):
    state = laion_state(tiny_model(False))
    for key, shape in change.items():
        if shape is None:
            del state[key]
        else:
            state[key] = torch.zeros(shape)
    path = write_laion_file(tmp_path / "wrong.pt", state)
    with pytest.raises(AssetError, match=re.escape(named)) as caught:
        load_checkpoint(path)
    assert "wrong.pt" in str(caught.value)


def test_another_model_is_refused(tmp_path):
    torch.save({"state_dict": torch.nn.Linear(2, 2).state_dict()}, tmp_path / "linear.pt")
    with pytest.raises(AssetError, match=r"linear\.pt is not a CLAP checkpoint"):
        load_checkpoint(tmp_path / "linear.pt")


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.999])
def test_a_truncated_file_is_refused(tmp_path, keep):
    path = write_laion_file(tmp_path / "short.pt", laion_state(tiny_model(False)))
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data)) if keep < 1 else keep])
    with pytest.raises(AssetError, match=r"cannot read .*short\.pt"):
        read_state(path)


@pytest.mark.parametrize("content", [b"not a model", b"PK\x03\x04" + bytes(500)])
def test_what_is_no_checkpoint_is_refused(tmp_path, content):
    (tmp_path / "notes.pt").write_bytes(content)
    with pytest.raises(AssetError, match=r"notes\.pt"):
        read_state(tmp_path / "notes.pt")


@pytest.mark.parametrize("content", [[1, 2], {"state_dict": {"a": 1}}, {"state_dict": {}}, {}])
def test_a_file_without_tensors_is_refused(tmp_path, content):
    torch.save(content, tmp_path / "empty.pt")
    with pytest.raises(AssetError, match=r"empty\.pt holds no state_dict"):
        read_state(tmp_path / "empty.pt")


class Bomb:
    """Runs a command when it is unpickled by a reader that trusts its input."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.mark.parametrize("write", [torch.save, lambda bomb, path: path.write_bytes(bomb)])
def test_a_hostile_file_does_not_run(tmp_path, write):
    sign = tmp_path / "it ran"
    bomb = {"state_dict": {}, "name": Bomb(f"touch '{sign}'")}
    write(bomb if write is torch.save else pickle.dumps(bomb, protocol=2), tmp_path / "bomb.pt")
    with pytest.raises(AssetError, match="Nothing in it was run") as caught:
        read_state(tmp_path / "bomb.pt")
    assert not sign.exists()
    assert "posix.system" in str(caught.value) or "nt.system" in str(caught.value)
    assert "weights_only" not in str(caught.value)


def test_reading_leaves_no_trace_in_what_others_may_load(tmp_path, model):
    before = set(torch.serialization.get_safe_globals())
    read_state(write_laion_file(tmp_path / "clap.pt", laion_state(model)))
    assert set(torch.serialization.get_safe_globals()) == before
