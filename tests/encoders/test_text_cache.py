"""Label vectors on the disk: the same numbers, made again for anything that changes them."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from prism_audio.encoders import text_cache
from prism_audio.encoders.prompts import PromptSet, prototypes
from prism_audio.encoders.text_cache import cached_prototypes

PLAIN = PromptSet("plain", ("{}",))
LABELS = ["rain", "siren"]


class Words:
    """The text side of an encoder, which counts the texts it was given."""

    dim = 8

    def __init__(self, seed: bytes = b"words") -> None:
        self.fingerprint, self.seen = hashlib.sha256(seed).hexdigest(), 0

    def embed_text(self, texts):
        self.seen += len(texts)
        rows = [np.frombuffer(hashlib.sha256(text.encode()).digest(), "i4") for text in texts]
        return np.stack([row / np.linalg.norm(row) for row in rows]).astype(np.float32)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path))
    return tmp_path / "prototypes"


def test_the_second_time_no_text_is_embedded():
    first, second = Words(), Words()
    rows = cached_prototypes(first, LABELS, PLAIN)
    np.testing.assert_array_equal(rows, prototypes(Words(), LABELS, PLAIN))
    np.testing.assert_array_equal(cached_prototypes(second, LABELS, PLAIN), rows)
    assert (first.seen, second.seen) == (2, 0)


@pytest.mark.parametrize(
    ("encoder", "labels", "prompts"),
    [
        (Words(b"other"), LABELS, PLAIN),
        (Words(), LABELS[::-1], PLAIN),
        (Words(), ["rain, siren"], PLAIN),
        (Words(), LABELS, PromptSet("plain", ("a {}",))),
    ],
)
def test_whatever_changes_the_vectors_has_an_entry_of_its_own(encoder, labels, prompts):
    cached_prototypes(Words(), LABELS, PLAIN)
    rows = cached_prototypes(encoder, labels, prompts)
    assert encoder.seen == len(labels)
    np.testing.assert_array_equal(rows, prototypes(encoder, labels, prompts))


@pytest.mark.parametrize("damage", [lambda old: old[:-4], lambda old: old[:-1] + b"\x7f"])
def test_a_damaged_file_is_made_again(folder, damage):
    rows = cached_prototypes(Words(), LABELS, PLAIN)
    (path,) = folder.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    np.testing.assert_array_equal(cached_prototypes(Words(), LABELS, PLAIN), rows)
    assert np.isfinite(rows).all()


def test_an_encoder_named_by_hand_is_not_cached(folder):
    encoder = Words()
    encoder.fingerprint = "words-1"
    cached_prototypes(encoder, LABELS, PLAIN)
    assert not folder.exists()


def test_the_oldest_make_room(folder, monkeypatch):
    monkeypatch.setattr(text_cache, "_MOST", 2)
    for label in ("a", "b", "c"):
        cached_prototypes(Words(), [label], PLAIN)
    assert len(list(folder.iterdir())) == 2


def test_without_a_place_to_write_the_vectors_are_there(folder):
    folder.write_text("a file where the folder would be")
    assert cached_prototypes(Words(), LABELS, PLAIN).shape == (2, 8)
