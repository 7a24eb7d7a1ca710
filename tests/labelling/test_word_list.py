"""Warnings about lists of labels."""

from __future__ import annotations

import pytest

from prism_audio.labelling.word_list import label_warnings


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["dog bark; siren", "rain"], "commas"),
        (["dog|siren", "rain"], "commas"),
        (["dog bark"], "only label"),
        (["chien", "siren"], "English"),
        (["Hund", "siren"], "English"),
        (["pájaro", "siren"], "English"),
        (["犬", "siren"], "English"),
    ],
)
def test_what_looks_wrong_is_told(labels: list[str], words: str) -> None:
    (told,) = label_warnings(labels)
    assert words in told


def test_plain_lists_pass() -> None:
    assert label_warnings(["dog bark", "door wood knock", "can opening"]) == []
    assert label_warnings(["犬", "siren"], language="ja") == []
    (told,) = label_warnings(["dog", "wind"], background=1)
    assert "background words" in told
