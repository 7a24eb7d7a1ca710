from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from prism_audio.encoders.prompts import PromptSet, clean_label, prototypes, read_labels
from prism_audio.errors import InputError


class Letters:
    """A text tower that anyone can check: counts of letters, unit length."""

    dim = 26

    def embed_text(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.array([[text.lower().count(chr(97 + k)) for k in range(26)] for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_shipped_sets() -> None:
    sentences, plain = PromptSet.load("sentences"), PromptSet.load("plain")
    assert len(set(sentences.templates)) == 20
    assert "This is a sound of {}" in sentences.templates
    assert "An audio clip of {}" in sentences.templates
    assert plain.templates == ("{}",)
    assert PromptSet.load(sentences.name) == sentences
    assert sentences.fingerprint != plain.fingerprint


@pytest.mark.parametrize("name", ["paper", "paper-1"])
def test_the_former_name_that_adapters_store_is_read(name: str) -> None:
    assert PromptSet.load(name) == PromptSet.load("sentences-1")


def test_a_set_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("# mine\n\nthe {} outside\n  a {} nearby  \n", encoding="utf-8")
    mine = PromptSet.load(path)
    assert mine.templates == ("the {} outside", "a {} nearby")
    assert mine.fill("{0} \"odd\" 'label'") == [
        "the {0} \"odd\" 'label' outside",
        "a {0} \"odd\" 'label' nearby",
    ]
    assert mine.fingerprint == PromptSet("other name", mine.templates).fingerprint
    assert mine.fingerprint != PromptSet("mine", mine.templates[::-1]).fingerprint


@pytest.mark.parametrize("text", ["", "# only a remark\n", "no slot\n", "{} and {}\n"])
def test_a_set_without_use_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"mine\.txt"):
        PromptSet.load(path)


def test_an_unknown_set_names_those_there_are() -> None:
    with pytest.raises(InputError, match="plain, sentences"):
        PromptSet.load("papre")


def test_prototypes_average_unit_vectors() -> None:
    prompts = PromptSet("two", ("{}", "a long sentence about the {}"))
    labels = ["dog", "siren"]
    rows = prototypes(Letters(), labels, prompts)
    for label, row in zip(labels, rows, strict=True):
        short, long = Letters().embed_text([label, f"a long sentence about the {label}"])
        expected = (short + long) / np.linalg.norm(short + long)
        np.testing.assert_allclose(row, expected, atol=1e-6)
    np.testing.assert_allclose(rows[::-1], prototypes(Letters(), labels[::-1], prompts))


def test_plain_prototypes_are_the_labels_own_vectors() -> None:
    labels = ["dog", "siren", "rain"]
    rows = prototypes(Letters(), labels, PromptSet.load("plain"))
    np.testing.assert_allclose(rows, Letters().embed_text(labels), atol=1e-6)


@pytest.mark.parametrize(
    ("given", "clean"),
    [
        ("dog_bark", "dog bark"),
        ("  Car   horn\t", "Car horn"),
        ("cafe\u0301", "café"),
        ("it's “loud”", "it's “loud”"),
        ("hi-hat", "hi-hat"),
        ("鐘の音", "鐘の音"),
    ],
)
def test_clean_label(given: str, clean: str) -> None:
    assert clean_label(given) == clean


def test_comma_list_keeps_quoted_commas() -> None:
    assert read_labels('dog_bark, "rain, heavy",siren') == ["dog bark", "rain, heavy", "siren"]
    assert read_labels("one label") == ["one label"]
    assert read_labels('the 5" gun, a/c unit') == ['the 5" gun', "a/c unit"]


def test_sequence() -> None:
    assert read_labels(("dog_bark", "a, b")) == ["dog bark", "a, b"]


def test_text_file(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_bytes("\ufeff# places\r\ndog_bark\r\n\r\nrain, heavy\r\n“Fön”\r\n".encode())
    assert read_labels(path) == ["dog bark", "rain, heavy", "“Fön”"]
    assert read_labels(str(path)) == ["dog bark", "rain, heavy", "“Fön”"]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("label\ndog_bark\n", ["dog bark"]),
        ("id,Category,x\n1,dog_bark,a\n2,'siren',b\n", ["dog bark", "'siren'"]),
        ('dog_bark\n"rain, heavy"\n', ["dog bark", "rain, heavy"]),
        ("index,mid,display_name\n0,/m/1,Speech\n", ["Speech"]),
    ],
)
def test_csv_file(tmp_path: Path, text: str, labels: list[str]) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text, encoding="utf-8")
    assert read_labels(path) == labels


@pytest.mark.parametrize("spec", ["dog_bark,rain,Dog bark", ["a", "A"]])
def test_duplicates_are_refused_with_both_spellings(spec: str | list[str]) -> None:
    with pytest.raises(InputError, match="twice"):
        read_labels(spec)


def test_what_cannot_be_used_is_refused(tmp_path: Path) -> None:
    for empty in ("", " , ,", []):
        with pytest.raises(InputError, match="no label"):
            read_labels(empty)
    with pytest.raises(InputError, match=r"labels\.txt cannot be read"):
        read_labels("labels.txt")
    with pytest.raises(InputError, match="cannot be read"):
        read_labels(tmp_path)
    with pytest.raises(InputError, match="a label is a text"):
        read_labels(["dog", 3])  # type: ignore[list-item]
    columns = tmp_path / "two.csv"
    columns.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="a, b"):
        read_labels(columns)
    latin = tmp_path / "latin.txt"
    latin.write_bytes("Fön".encode("latin-1"))
    with pytest.raises(InputError, match="UTF-8"):
        read_labels(latin)


def test_a_long_comma_list_is_not_taken_for_a_file_name() -> None:
    labels = [f"label number {k}" for k in range(500)]
    assert read_labels(",".join(labels)) == labels
