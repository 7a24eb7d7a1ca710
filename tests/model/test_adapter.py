"""The artefact: what it computes, and that its file is whole, checked and safe."""

from __future__ import annotations

import base64
import json
import os
import struct
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load, save

from prism_audio import PRISM, Adapter, PrismError
from prism_audio.errors import AdapterError, PrismWarning
from prism_audio.geometry.guard import Verdict
from prism_audio.io.safe_tensors import dump
from prism_audio.model.facts import Surroundings
from tests.helpers.problems import problem


@pytest.fixture
def fitted():
    E, T, _ = problem(600, 32, 5, dtype=np.float32)
    model = PRISM("paper", K=6).fit(E, prototypes=T, labels=["dog bark", "é|\"'", "c", "d", "e"])
    return model.adapter_, E


@pytest.fixture
def saved(fitted, tmp_path):
    return fitted[0].save(tmp_path / "site.safetensors")


def test_transform_and_scores_are_the_equations(fitted):
    adapter, E = fitted
    X = np.hstack([E, np.ones((len(E), 1))]).astype(np.float64) @ adapter.W
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(adapter.transform(E), X, atol=1e-5)
    np.testing.assert_allclose(adapter.scores(E), X @ adapter.prototypes.T, atol=1e-5)


def test_a_clip_alone_is_a_clip_in_a_batch(fitted):
    adapter, E = fitted
    together = adapter.predict(E)
    assert [adapter.predict_one(e) for e in E] == together.tolist()
    assert [int(adapter.predict(e[None])[0]) for e in E] == together.tolist()
    np.testing.assert_allclose(
        np.vstack([adapter.scores(e[None]) for e in E[:50]]), adapter.scores(E)[:50], atol=1e-6
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int64])
def test_one_clip_of_any_type(fitted, dtype):
    adapter, E = fitted
    e = (E[3] * 100).astype(dtype)
    assert adapter.predict_one(e) == adapter.predict(e[None])[0]
    assert adapter.predict_one(e.tolist()) == adapter.predict(e[None])[0]


def test_a_silent_clip_gets_the_label_of_the_bias(fitted):
    adapter, _ = fitted
    silence = np.zeros(32, dtype=np.float32)
    wanted = np.argmax(adapter.W[-1] @ adapter.prototypes.T)
    assert adapter.predict_one(silence) == wanted
    assert adapter.predict(silence[None])[0] == wanted
    assert np.argmax(adapter.scores(silence[None])) == wanted


def test_one_clip_of_a_wrong_shape_or_not_finite_is_refused(fitted):
    adapter, E = fitted
    with pytest.raises(PrismError, match=r"wanted one embedding of shape \(32,\)"):
        adapter.predict_one(E[:2])
    with pytest.raises(PrismError, match="NaN"):
        adapter.predict_one(np.full(32, np.nan, dtype=np.float32))


def test_a_file_gives_back_everything(fitted, saved):
    adapter, E = fitted
    again = Adapter.load(saved)
    for name in ("labels", "encoder", "parameters", "facts", "prompts"):
        assert getattr(again, name) == getattr(adapter, name)
    np.testing.assert_array_equal(again.W, adapter.W)
    np.testing.assert_array_equal(again.predict(E), adapter.predict(E))
    assert again.facts.N == 600
    assert again.facts.verdict == "adapted"


def test_zero_shot_adapters_change_nothing():
    E, T, _ = problem(50, 16, 3, dtype=np.float32)
    adapter = Adapter.zero_shot(T, ["a", "b", "c"], encoder="x")
    np.testing.assert_allclose(adapter.transform(E), E, atol=1e-7)
    np.testing.assert_array_equal(adapter.predict(E), np.argmax(E @ T.T, axis=1))


def test_saving_replaces_whole_files_only(fitted, tmp_path, monkeypatch):
    adapter, _ = fitted
    path = adapter.save(tmp_path / "site.safetensors")
    before = path.read_bytes()

    def full_disk(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(PrismError, match="No space left"):
        adapter.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["site.safetensors"]
    with pytest.raises(PrismError, match="cannot write"):
        adapter.save(tmp_path / "missing" / "site.safetensors")


def test_every_truncation_is_noticed(saved, tmp_path):
    payload = saved.read_bytes()
    cut = tmp_path / "cut.safetensors"
    for length in [*range(0, 64), *range(64, len(payload), 211), len(payload) - 1]:
        cut.write_bytes(payload[:length])
        with pytest.raises(AdapterError, match=r"truncated|not a safetensors|cannot be read"):
            Adapter.load(cut)


def rewritten(saved, tmp_path, tensors=None, **metadata):
    payload = saved.read_bytes()
    size = struct.unpack("<Q", payload[:8])[0]
    header = json.loads(payload[8 : 8 + size])["__metadata__"] | metadata
    path = tmp_path / "other.safetensors"
    path.write_bytes(dump(load(payload) | (tensors or {}), header))
    return path


def test_every_defect_has_its_message(saved, tmp_path):
    def refused(match, **change):
        with pytest.raises(AdapterError, match=match):
            Adapter.load(rewritten(saved, tmp_path, **change))

    W = load(saved.read_bytes())["W"]
    refused("W contains NaN", tensors={"W": np.where(np.eye(33, 32) > 0, np.nan, W)})
    refused("do not fit", tensors={"W": W[:-1]})
    refused("do not fit", tensors={"prototypes": np.ones((5, 31), dtype=np.float32)})
    refused("5 labels for 4", tensors={"prototypes": np.ones((4, 32), dtype=np.float32)})
    refused("wanted a float matrix", tensors={"W": W.astype(np.int32)})
    refused("of another kind", format="something")
    refused("schema 99", schema="99")
    refused("damaged", card="{")
    refused("lacks 'labels'", card="{}")
    refused("list of strings", card='{"labels": [1, 2]}')
    refused("nested more than", card='{"labels": ' + "[" * 100_000 + "]" * 100_000 + "}")


def test_every_changed_bit_is_noticed(saved, tmp_path):
    payload = saved.read_bytes()
    path = tmp_path / "flipped.safetensors"
    rng = np.random.default_rng(0)
    for place in rng.choice(8 * len(payload), 300, replace=False):
        changed = bytearray(payload)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(AdapterError, match=r"flipped\.safetensors"):
            Adapter.load(path)


def test_files_of_older_versions_load_with_a_note(saved, tmp_path):
    payload = saved.read_bytes()
    header = json.loads(payload[8 : 8 + struct.unpack("<Q", payload[:8])[0]])["__metadata__"]
    del header["sha256"]
    old = tmp_path / "old.safetensors"
    old.write_bytes(save(load(payload), header))
    with pytest.warns(PrismWarning, match="without a hash"):
        adapter = Adapter.load(old)
    np.testing.assert_array_equal(adapter.W, Adapter.load(saved).W)


def recorded(saved):
    payload = saved.read_bytes()
    size = struct.unpack("<Q", payload[:8])[0]
    return json.loads(json.loads(payload[8 : 8 + size])["__metadata__"]["card"])


@pytest.mark.parametrize(
    ("match", "labels"),
    [
        ("two classes are called 'a'", list("abcda")),
        ("no valid Unicode", [*"abcd", "\ud800"]),
        ("no classes", []),
    ],
)
def test_labels_that_cannot_be_used_are_refused(saved, tmp_path, match, labels):
    card = json.dumps(recorded(saved) | {"labels": labels})
    with pytest.raises(AdapterError, match=match):
        Adapter.load(rewritten(saved, tmp_path, card=card))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("place", 3),
        ("N", "many"),
        ("N", -1),
        ("temperature", "warm"),
        ("temperature", float("nan")),
        ("temperature", 10**400),
        ("N", 1.5),
        ("d", True),
        ("reasons", "few clips"),
        ("reasons", [1]),
        ("rounds", {}),
        ("numbers", []),
        ("classes", []),
        ("classes", {"trapped": [1, 0, 0, 0, 0]}),
        ("classes", {"clips_after": [1, 2]}),
        ("surroundings", {"spread": 1.0}),
        ("surroundings", {"spread": 1.0, "classes": ["a"], "centres": ""}),
    ],
)
def test_facts_of_a_wrong_type_are_refused(saved, tmp_path, name, value):
    card = recorded(saved)
    card["facts"][name] = value
    with pytest.raises(AdapterError, match=f"facts.{name}"):
        Adapter.load(rewritten(saved, tmp_path, card=json.dumps(card)))


@pytest.fixture
def known(fitted, tmp_path):
    """An adapter that knows how the rows of two of its classes lay."""
    rows = np.full((3, 32), 0.125, np.float16)
    near = Surroundings(spread=0.5, classes=(1, 3), centres=rows)
    adapter = replace(fitted[0], facts=replace(fitted[0].facts, surroundings=near))
    return adapter.save(tmp_path / "known.safetensors")


def test_centres_are_a_tensor_and_those_of_older_files_are_read(known, tmp_path):
    got = Adapter.load(known).facts.surroundings
    assert got.centres.dtype == np.float16
    assert "centres" not in recorded(known)["facts"]["surroundings"]
    card, tensors = recorded(known), load(known.read_bytes())
    centres = tensors.pop("centres")
    card["facts"]["surroundings"]["centres"] = base64.b64encode(centres.tobytes()).decode()
    old = tmp_path / "old.safetensors"
    metadata = {"format": "prism-adapter", "schema": "1", "card": json.dumps(card)}
    old.write_bytes(dump(tensors, metadata))
    again = Adapter.load(old).facts.surroundings
    assert again == got
    np.testing.assert_array_equal(again.centres, got.centres)


@pytest.mark.parametrize(
    "centres",
    [
        np.ones((2, 32), np.float16),
        np.ones((3, 31), np.float16),
        np.ones((3, 32), np.float32),
        np.full((3, 32), np.nan, np.float16),
        np.full((3, 32), 7, np.float16),
    ],
)
def test_centres_that_no_calibration_gives_are_refused(known, tmp_path, centres):
    with pytest.raises(AdapterError, match=r"facts\.surroundings"):
        Adapter.load(rewritten(known, tmp_path, {"centres": centres}))


def test_a_header_of_more_than_a_megabyte_is_neither_written_nor_read(fitted, known, tmp_path):
    adapter = replace(fitted[0], labels=tuple(str(c) * 300_000 for c in range(5)))
    with pytest.raises(PrismError, match="shorter labels"):
        adapter.save(tmp_path / "long.safetensors")
    with pytest.raises(AdapterError, match="at most 1,048,576"):
        Adapter.load(rewritten(known, tmp_path, card=" " * 2**20))


def test_facts_of_a_newer_version_are_kept(saved, tmp_path):
    card = recorded(saved)
    card["facts"] |= {"humidity": [1, {"of": "air"}], "unknown_threshold": None}
    adapter = Adapter.load(rewritten(saved, tmp_path, card=json.dumps(card)))
    assert adapter.facts.extra == {"humidity": [1, {"of": "air"}]}
    assert adapter.facts.unknown_threshold is None
    again = Adapter.load(adapter.save(tmp_path / "again.safetensors"))
    assert again.facts == adapter.facts
    assert recorded(tmp_path / "again.safetensors")["facts"]["humidity"] == [1, {"of": "air"}]


def test_the_card_for_a_notebook_escapes_what_it_shows(fitted):
    adapter, _ = fitted
    odd = replace(adapter, facts=replace(adapter.facts, place="<b>yard</b>"))
    assert "<td style='text-align:left'>&lt;b&gt;yard&lt;/b&gt;</td>" in odd._repr_html_()


def test_foreign_and_missing_files(tmp_path, saved):
    path = tmp_path / "x"
    for content in (b"", b"hello", b"\x80\x04pickle" * 50, b"RIFF" + bytes(100)):
        path.write_bytes(content)
        with pytest.raises(AdapterError, match="not a safetensors file"):
            Adapter.load(path)
    path.write_bytes(saved.read_bytes() + b"more")
    with pytest.raises(AdapterError, match="oversized: 4 bytes after its end"):
        Adapter.load(path)
    with pytest.raises(AdapterError, match="No such file"):
        Adapter.load(tmp_path / "nowhere")
    with open(path, "wb") as file:  # sparse: takes no room on the disk
        file.truncate(2**30 + 1)
    with pytest.raises(AdapterError, match="oversized"):
        Adapter.load(path)


def test_the_card_reads_well(fitted):
    adapter, _ = fitted
    text, page = str(adapter), adapter.markdown()
    for part in ("adapted", "600 clips", "dog bark", "lam=0.01"):
        assert part in text
        assert part in page
    assert "é\\|" in page, "a bar in a label must not end the table cell"
    assert "C=5, d=32" in repr(adapter)


def test_a_verdict_is_its_word_with_reasons():
    verdict = Verdict("shrunk", ("few clips",), {"weight": 0.5})
    assert verdict == "shrunk"
    assert verdict.reasons == ("few clips",)
    with pytest.raises(ValueError, match="not 'perhaps'"):
        Verdict("perhaps")
