from __future__ import annotations

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from prism_audio.bench.experiment.conditions import Recipe
from prism_audio.bench.experiment.reader import STUDIES
from prism_audio.bench.report import paper
from prism_audio.bench.report.claims import claims
from prism_audio.bench.report.sections import sections
from prism_audio.bench.report.table import ReportTable, best_of, interval, percent, points
from prism_audio.bench.report.write import write_report
from prism_audio.bench.trials.ablation import ABLATION, PRINTED, SENSITIVITY
from prism_audio.bench.trials.runner import Failure
from prism_audio.bench.trials.spectrum import Energy
from prism_audio.bench.trials.study import Findings, embed, investigate
from prism_audio.errors import PrismError
from tests.helpers.tiny_bench import world

pytest.importorskip("matplotlib")


def quiet(name: str, total: int):
    return lambda count: None


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    bench = world(tmp_path_factory.mktemp("world"), studies=STUDIES)
    wanted = len(bench.experiment.conditions())
    assert embed(bench, quiet)[1:3] == (wanted, wanted)
    assert embed(bench, quiet)[1:3] == (0, wanted)
    return investigate(bench, quiet, workers=1)


def test_a_package_that_is_missing_is_said_before_anything_is_embedded(tmp_path, monkeypatch):
    bench = world(tmp_path, studies=())
    treated = replace(bench, experiment=replace(bench.experiment, fronts=("noisereduce",)))
    monkeypatch.setitem(sys.modules, "noisereduce", None)
    with pytest.raises(PrismError, match="pip install"):
        embed(treated, quiet)
    assert not any(bench.studio.path(c).exists() for c in bench.experiment.conditions())


@pytest.fixture(scope="module")
def report(found: Findings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "deep"
    write_report(found, folder)
    return folder


class Page(HTMLParser):
    """Collects what a page would load, its ids, and whether its tags match."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "data", "poster", "srcset"):
                self.loads.append(value)
            if name == "id":
                self.ids.append(value)
        if tag not in ("meta", "path", "use", "rect", "image", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()


def test_the_page_needs_nothing_else(report: Path) -> None:
    text = (report / "report.html").read_text()
    page = Page()
    page.feed(text)
    inside = [value for value in page.loads if value.startswith(("#", "data:"))]
    assert page.loads == inside
    assert "@import" not in text
    assert not re.findall(r"url\((?!#)", text)
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    assert {value[1:] for value in inside if value[0] == "#"} <= set(page.ids)


def test_every_picture_of_the_text_exists(report: Path) -> None:
    text = (report / "README.md").read_text()
    shown = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert len(shown) >= 10
    for name in shown:
        assert (report / name).read_text().startswith("<?xml")
    assert {f"figures/{path.name}" for path in (report / "figures").iterdir()} == set(shown)


def test_tables_of_the_text_are_whole(report: Path) -> None:
    lines = (report / "README.md").read_text().splitlines()
    for rule in (number for number, line in enumerate(lines) if re.match(r"\|---", line)):
        width = lines[rule].count("|")
        row = rule + 1
        while row < len(lines) and lines[row].startswith("|"):
            assert lines[row].count("|") == width
            row += 1
        assert row > rule + 1


def test_the_report_covers_what_was_asked(found: Findings, report: Path) -> None:
    text = (report / "README.md").read_text()
    for heading in ("Where PRISM loses", "By place", "By level of noise", "By class", "Ablation"):
        assert heading in text
    for heading in ("Few classes", "Correlated streams", "used in another", "Cost", "energy"):
        assert heading in text
    for spec in (*found.bench.experiment.methods, *ABLATION):
        assert f"| {spec.label} |" in text
    assert set(found.sensitivity) == set(SENSITIVITY)
    assert "prism bench experiments/tiny.toml" in text


def test_all_work_of_a_first_run_is_counted(found: Findings) -> None:
    assert len(found.work) == 4
    answers, apart, turned, timed = found.work
    assert answers.computed == answers.needed
    assert timed.computed == timed.needed == len(found.costs)
    # What an ablation shares with the comparison was done there.
    assert 0 < apart.computed < apart.needed
    assert 0 < turned.computed <= turned.needed


def test_every_claim_of_the_paper_has_its_variant_and_a_verdict(found: Findings) -> None:
    assert set(paper.CLAIMS.values()) <= {spec.label for spec in ABLATION}
    assert found.ablation is not None
    verdicts = {claim.claim: claim for claim in claims(found)}
    for claim, variant in paper.CLAIMS.items():
        gap = found.ablation.difference(variant, PRINTED)
        sign = (gap.low > 0) - (gap.high < 0)
        assert verdicts[claim].verdict == ("not seen", "contradicted", "confirmed")[sign]
        assert interval(gap) in verdicts[claim].numbers
    for words in (
        "60 components",
        "Over-alignment",
        "warm-up",
        "batch",
        "Polyphonic",
        "CAR",
        "DCASE",
    ):
        assert any(words in claim for claim in verdicts)
    assert all(claim.numbers for claim in verdicts.values())


def test_low_rank_is_compared_with_the_clean_rows(found: Findings) -> None:
    claim = next(claims(found))
    clean = percent(found.references[0].within_rank)
    assert f"Clean rows about their mean: {clean} %" in claim.numbers
    flat = [replace_curve(energy, 0.5) for energy in found.references]
    assert next(claims(replace(found, references=flat))).verdict == "confirmed"


def replace_curve(energy: Energy, share: float) -> Energy:
    return energy._replace(curve=np.full(len(energy.curve), share))


def test_numbers_are_written_for_other_programs(found: Findings, report: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = parquet.read_table(report / "results.parquet").to_pylist()
    assert len(rows) == len(found.answers)
    own = [
        row["accuracy"]
        for row in rows
        if (row["protocol"], row["method"], row["judged_in"], row["judged_at"])
        == ("transductive", "prism", "cellar", "-6.0")
    ]
    assert own == [pytest.approx(found.summary.score("prism", "cellar", -6.0))]


def test_a_second_report_is_the_same_byte_for_byte(
    found: Findings, report: Path, tmp_path: Path
) -> None:
    again = investigate(found.bench, quiet, workers=1)
    assert [work.stage for work in again.work] == [work.stage for work in found.work]
    assert [work.computed for work in again.work] == [0] * len(found.work)
    assert [work.needed for work in again.work] == [work.needed for work in found.work]
    write_report(again, tmp_path)
    for path in report.rglob("*"):
        if path.suffix in (".md", ".html", ".svg"):
            assert (tmp_path / path.relative_to(report)).read_bytes() == path.read_bytes()


def test_noise_hurts_and_the_baseline_is_not_a_guess(found: Findings) -> None:
    """The little world behaves as the large one: else the other tests would prove nothing."""
    summary = found.summary
    assert summary.mean("zero_shot", levels=["clean"]) > 0.9
    assert summary.mean("zero_shot", levels=[-6.0]) < summary.mean("zero_shot", levels=["clean"])


def test_failures_are_in_the_report(found: Findings) -> None:
    failed = replace(found, failures=[Failure("magic", "half, cellar", "no wand")])
    last = list(sections(failed))[-1]
    assert last.title == "What failed"
    assert last.parts == [["magic (half, cellar): no wand"]]


def test_without_noise_there_is_still_a_report(tmp_path: Path) -> None:
    bench = world(tmp_path, recipe=Recipe(()), mixed=False, studies=STUDIES)
    bench = replace(bench, experiment=replace(bench.experiment, places=()))
    devices = tuple("ab"[number % 2] for number in range(len(bench.clips)))
    bench = replace(bench, clips=replace(bench.clips, groups=devices))
    embed(bench, quiet)
    found = investigate(bench, quiet, workers=1)
    write_report(found, tmp_path / "report")
    text = (tmp_path / "report" / "README.md").read_text()
    assert "By recording device" in text
    assert "By place" not in text
    assert not found.failures


def test_table_in_both_forms() -> None:
    table = ReportTable(
        "A <b>", ["method", "x"], [["one", "1"], ["two & more", "2"]], "note", {(1, 1)}
    )
    assert "| two & more | **2** |" in table.markdown()
    assert "<td><b>2</b></td>" in table.html()
    assert "two &amp; more" in table.html()
    assert "A &lt;b&gt;" in table.html()


def test_best_of_a_column() -> None:
    assert best_of([[0.1, None], [0.3, 0.2], [0.3, float("nan")]]) == {(1, 1), (2, 1)}
    assert (percent(0.1234), percent(None), percent(np.nan), points(-0.005)) == (
        "12.3",
        "-",
        "-",
        "-0.5",
    )
