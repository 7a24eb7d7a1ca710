"""Tables in files: cells that a spreadsheet would run are guarded, and read back as they were."""

from __future__ import annotations

import pytest

from prism_audio.evaluation.results import read_records
from prism_audio.io.table_files import write_table


@pytest.mark.parametrize("text", ["=1+1", "+x", "-x", "@sum(a1)", "\tx", "plain", "'quoted", ""])
def test_formulas_are_guarded(tmp_path, text):
    rows = [{"file": text, "label": text, "score": -0.5}]
    write_table(tmp_path / "rows.csv", ("file", "label", "score"), rows)
    (row,) = read_records(tmp_path / "rows.csv")
    assert row["label"] == text
    assert row["score"] == "-0.5"
    assert row["file"].removeprefix("./") == text
    content = (tmp_path / "rows.csv").read_text().splitlines()[1]
    assert not content.startswith(("=", "+", "-", "@", "\t"))
    write_table(tmp_path / "rows.json", ("file", "label", "score"), rows)
    assert read_records(tmp_path / "rows.json")[0]["file"] == text
