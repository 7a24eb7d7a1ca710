"""Write the report: README.md with pictures, one HTML file with everything, and the numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from prism_audio.bench.report.sections import Picture, Section, sections
from prism_audio.bench.report.style import svg
from prism_audio.bench.report.table import ReportTable
from prism_audio.bench.trials.scores import macro_f1
from prism_audio.bench.trials.study import Findings
from prism_audio.errors import PrismError
from prism_audio.io.atomic import atomic_write
from prism_audio.io.table_files import write_table

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1b1b; background: #fff;
       max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd; }
.table { overflow-x: auto; } table { border-collapse: collapse; font-size: 14px; margin-top: 1rem; }
caption { text-align: left; white-space: nowrap; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #e5e5e5; text-align: right;
         font-variant-numeric: tabular-nums; white-space: nowrap; }
tbody th, thead th:first-child { text-align: left; font-weight: 400; } b { color: #a53d00; }
.prose th, .prose td { text-align: left; white-space: normal; vertical-align: top; }
.note, figcaption { color: #555; font-size: 14px; } figure { margin: 1.5rem 0; }
figure svg { width: 100%; height: auto; } nav a { margin-right: 1rem; }
code { background: #f3f3f3; padding: .1rem .3rem; }
"""


def write_report(findings: Findings, folder: Path) -> list[Path]:
    """Write all files of the report to a folder; returns their paths, README.md first."""
    try:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PrismError(f"{folder} cannot be made: {error.strerror or error}") from error
    report = list(sections(findings, folder))
    title = findings.bench.experiment.title
    pictures = {
        part.name: svg(part.figure)
        for section in report
        for part in section.parts
        if isinstance(part, Picture)
    }
    files = {
        folder / "README.md": markdown(title, report).encode(),
        folder / "report.html": html(title, report, pictures).encode(),
        **{folder / "figures" / f"{name}.svg": picture for name, picture in pictures.items()},
    }
    for path, content in files.items():
        with atomic_write(path) as file:
            file.write(content)
    return [*files, write_results(findings, folder)]


def write_results(findings: Findings, folder: Path) -> Path:
    """A row for every method, case and judged condition: Parquet, or CSV without pyarrow."""
    rows: list[dict[str, Any]] = [
        {
            "protocol": answer.case.protocol,
            "setting": answer.case.setting,
            "repeat": answer.case.repeat,
            "method": answer.method,
            "calibrated_in": answer.case.condition.background,
            "calibrated_at": str(answer.case.condition.snr),
            "judged_in": answer.tested.background,
            "judged_at": str(answer.tested.snr),
            "front": answer.tested.front,
            "clips_calibrated": len(answer.case.rows),
            "clips_judged": len(answer.rows),
            "accuracy": answer.accuracy,
            "macro_f1": macro_f1(answer.truth, answer.labels.astype(np.int64)),
        }
        for answer in findings.answers
    ]
    try:
        import pyarrow  # noqa: F401

        path = folder / "results.parquet"
    except ImportError:
        path = folder / "results.csv"
    write_table(path, list(rows[0]), rows)
    return path


def markdown(title: str, report: Sequence[Section]) -> str:
    """The report as one Markdown text; pictures are links to ``figures``."""
    blocks = [f"# {title}"]
    for section in report:
        blocks.append(f"## {section.title}")
        for part in section.parts:
            if isinstance(part, ReportTable):
                blocks.append(part.markdown())
            elif isinstance(part, Picture):
                blocks.append(f"![{part.caption}](figures/{part.name}.svg)\n\n*{part.caption}*")
            elif isinstance(part, list):
                blocks.append("\n".join(f"- {line}" for line in part))
            else:
                blocks.append(part)
    return "\n\n".join(blocks) + "\n"


def html(title: str, report: Sequence[Section], pictures: dict[str, bytes]) -> str:
    """The report as one file that needs nothing else."""
    body = [f"<h1>{escape(title)}</h1><nav>"]
    body += [f'<a href="#s{n}">{escape(s.title)}</a>' for n, s in enumerate(report)]
    body.append("</nav>")
    for number, section in enumerate(report):
        body.append(f'<h2 id="s{number}">{escape(section.title)}</h2>')
        for part in section.parts:
            if isinstance(part, ReportTable):
                body.append(part.html())
            elif isinstance(part, Picture):
                picture = _inline(part.name, pictures[part.name])
                body.append(
                    f"<figure>{picture}<figcaption>{escape(part.caption)}</figcaption></figure>"
                )
            elif isinstance(part, list):
                body.append("<ul>" + "".join(f"<li>{_words(line)}</li>" for line in part) + "</ul>")
            else:
                body.append(f"<p>{_words(part)}</p>")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def _words(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _inline(name: str, picture: bytes) -> str:
    """An SVG element whose inner names cannot meet those of another on the same page."""
    text = picture.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', text)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
