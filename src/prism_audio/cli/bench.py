"""``prism bench``: compare every method on the same noisy clips and write a report."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from prism_audio.cli import options
from prism_audio.cli.console import end, orderly_stop, printable, progress_bar, say, say_json

if TYPE_CHECKING:
    from prism_audio.bench.trials.study import Findings


def command(
    experiment: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="The experiment, a TOML file.")
    ],
    data: Annotated[
        Path,
        typer.Option(
            exists=True, file_okay=False, help="The dataset as it is published, or array files."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the report.")],
    backgrounds: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="A folder for each noisy place."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Cache folder; $PRISM_CACHE/bench or the user's cache."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: one fold, two places, two SNRs.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that run methods; one for every core.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Compare PRISM with every other method on clips mixed with noise.

    Clips are mixed and embedded once; embeddings and the labels of every method
    are kept in a cache (never sound). You can stop at any time: the same command
    continues, and computes nothing twice. The report is README.md, with pictures;
    report.html is the same in one file; results.parquet has the numbers.

    Example: [bold]prism bench experiments/esc50.toml --data ESC-50
    --backgrounds places -o results[/bold]
    """
    from prism_audio.bench.cache import Cache
    from prism_audio.bench.embeddings.array_studio import assemble_arrays
    from prism_audio.bench.embeddings.assemble import assemble
    from prism_audio.bench.experiment.reader import read_experiment
    from prism_audio.bench.report.write import write_report
    from prism_audio.bench.trials.ablation import check_specs
    from prism_audio.bench.trials.study import embed, investigate
    from prism_audio.encoders.registry import load_encoder

    settings = read_experiment(experiment)
    check_specs(settings.methods)
    store = Cache(cache)
    began = time.monotonic()
    stopped = "stopped; finished work is kept: run the same command again to continue"
    # Jobs take from a millisecond to seconds, so a short window would mislead about the time left.
    bar = progress_bar(
        TextColumn("{task.description:20}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        speed_estimate_period=600,
    )
    with orderly_stop(stopped), bar as progress:
        if settings.arrays:
            bench = assemble_arrays(settings, data, store)
        else:
            encoder = load_encoder(settings.encoder)
            bench = assemble(settings, data, backgrounds, encoder, store, quick)
        embedded = embed(bench, _steps(progress))
        findings = investigate(bench, _steps(progress), workers)
        files = write_report(findings, out)
    took, work = time.monotonic() - began, (embedded, *findings.work)
    failures: list[tuple[str | Path, str]] = [
        (f"{failure.method} ({failure.where})", failure.reason) for failure in findings.failures
    ]
    if as_json:
        say_json(
            {
                "report": [printable(path) for path in files],
                "methods": _scores(findings),
                "conditions_embedded": embedded.computed,
                "work": [{**stage._asdict(), "seconds": round(stage.seconds, 1)} for stage in work],
                "seconds": round(took, 1),
                "failures": [{"job": str(job), "reason": reason} for job, reason in failures],
            }
        )
    else:
        for name, score in _scores(findings).items():
            say(
                f"{name:34} {100 * score['accuracy']:5.1f} %   macro-F1 {100 * score['macro_f1']:5.1f}"
            )
        for stage in work:  # what is not computed came from the cache
            computed = f"{stage.computed:5} of {stage.needed:5} computed"
            say(f"{stage.stage:34} {computed} in {stage.seconds:6.0f} s")
        say(f"{printable(files[0])} and {len(files) - 1} more files, in {took:.0f} s")
    end(failures)


def _scores(findings: Findings) -> dict[str, dict[str, Any]]:
    """Methods from best to worst, over all conditions."""
    summary = findings.summary
    return {
        method: {
            "accuracy": round(summary.mean(method), 4),
            "macro_f1": round(summary.f1(method), 4),
            "kind": findings.kinds[method],
        }
        for method in sorted(summary.methods, key=summary.mean, reverse=True)
    }


def _steps(progress: Progress) -> Callable[[str, int], Callable[[int], None]]:
    def begin(name: str, total: int) -> Callable[[int], None]:
        task = progress.add_task(name, total=total)
        return lambda count: progress.advance(task, count)

    return begin
