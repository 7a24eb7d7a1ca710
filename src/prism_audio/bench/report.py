"""The report: sections of sentences, tables and pictures, made from findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prism_audio._version import __version__
from prism_audio.bench import figures, maps, protocol_tables, tables
from prism_audio.bench.config import QUICK
from prism_audio.bench.losses import losses
from prism_audio.bench.spectrum import RANK
from prism_audio.bench.summary import BASELINE
from prism_audio.bench.table import Table, percent, points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from prism_audio.bench.study import Findings

PRINTED = "OPCA + CCVD + PCT + ABR (as printed)"
_BY_CLASS = ("prism_paper", "prism_car")


@dataclass(frozen=True)
class Picture:
    """A figure with its file name and what it shows."""

    name: str
    caption: str
    figure: Figure


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it, in order."""

    title: str
    parts: list[str | list[str] | Table | Picture] = field(default_factory=list)


def sections(found: Findings) -> Iterator[Section]:
    """The whole report."""
    yield _setting(found)
    yield _headline(found)
    yield _losses(found)
    yield _comparison(found)
    yield _classes(found)
    yield from _protocols(found)
    if found.ablation is not None:
        yield Section("Which part does it", [tables.ablation_table(found.ablation, PRINTED)])
    if found.sensitivity:
        yield _sensitivity(found)
    if found.shifts:
        yield _spectrum(found)
    if found.costs:
        yield _cost(found)
    if found.failures:
        lines = [f"{f.method} ({f.where}): {f.reason}" for f in found.failures]
        yield Section("What failed", [lines])


def _setting(found: Findings) -> Section:
    bench, experiment = found.bench, found.bench.experiment
    recipe = experiment.recipe
    encoder = bench.studio.encoder
    lines = [
        f"Clips: {experiment.dataset}, {len(bench.data)} in {len(bench.data.classes)} classes.",
        f"Encoder: {encoder.id} ({encoder.dim} dimensions, {encoder.rate} Hz, fingerprint "
        f"{encoder.fingerprint[:12]}); prompts: {experiment.prompts}."
        + (
            " It is a tagger's concept space, not CLAP: compare methods with each other, not its "
            "numbers with those of papers that use CLAP."
            if encoder.id == "concepts"
            else ""
        ),
    ]
    if experiment.places:
        how = {
            "overlay": "background over the whole clip",
            "scene": "the clip as an event in a scene of 10 s",
        }[recipe.kind]
        snrs = ", ".join(f"{snr:g}" for snr in recipe.snrs)
        lines.append(
            f"Noise: {', '.join(experiment.places)}; SNR {snrs} dB ({recipe.level}); {how}; seed "
            f"{recipe.seed}. 'mixed' draws one of the SNRs for every clip. A clip meets the same "
            "stretch of background at every SNR."
        )
    lines.append(
        "Every method sees the same embeddings and prototypes and has one fixed set of parameters."
    )
    command = f"prism bench experiments/{experiment.name.removesuffix(QUICK)}.toml --data DATA"
    command += " --backgrounds BACKGROUNDS" if experiment.places else ""
    command += " -o docs/results" + (" --quick" if experiment.name.endswith(QUICK) else "")
    return Section("Setting", [lines, f"Made by prism-audio {__version__} with `{command}`."])


def _headline(found: Findings) -> Section:
    summary, ours = found.summary, found.bench.experiment.ours
    gain = summary.difference(ours, BASELINE)
    lines = [
        f"{ours}: {percent(summary.mean(ours))} % over all conditions, zero-shot "
        f"{percent(summary.mean(BASELINE))} %: {points(gain.mean)} points "
        f"[{points(gain.low)}, {points(gain.high)}]."
    ]
    groups = (
        ("blind", "Of the paper's blind rivals the best is"),
        ("oracle", "Of the methods that are told the place the best is"),
        ("rival", "Of the rivals that the paper leaves out the best is"),
        ("control", "Of the simple controls the best is"),
        ("ours", "Of the other forms of PRISM the best is"),
    )
    for kind, opening in groups:
        members = [
            method
            for method in summary.methods
            if found.kinds.get(method) == kind and method not in (ours, BASELINE)
        ]
        if members:
            best = max(members, key=summary.mean)
            gap = summary.difference(ours, best)
            word = "ahead of" if gap.mean >= 0 else "behind"
            low, high = sorted((abs(gap.low), abs(gap.high)))
            range_ = (
                f"[{points(gap.low)}, {points(gap.high)}]"
                if gap.low < 0 < gap.high
                else f"[{100 * low:.1f}, {100 * high:.1f}]"
            )
            lines.append(
                f"{opening} {best} ({percent(summary.mean(best))} %); {ours} is "
                f"{abs(100 * gap.mean):.1f} points {range_} {word} it."
            )
    return Section("In short", [lines])


def _losses(found: Findings) -> Section:
    experiment, summary = found.bench.experiment, found.summary
    parts: list[str | list[str] | Table | Picture] = []
    for method in dict.fromkeys((experiment.ours, "prism_paper")):
        if method in summary.methods:
            truth, classes = found.bench.judged.truth, found.bench.data.classes
            parts += [f"`{method}`:", losses(summary, found.answers, truth, method, classes)]
    return Section("Where PRISM loses", parts)


def _comparison(found: Findings) -> Section:
    experiment, summary = found.bench.experiment, found.summary
    dataset, focus = experiment.dataset, experiment.focus
    parts: list[str | list[str] | Table | Picture] = [
        tables.main_table(summary, experiment.ours, dataset, found.kinds),
        Picture(
            "main", "All methods over all conditions.", figures.main_figure(summary, found.kinds)
        ),
    ]
    if experiment.places:
        parts += [
            tables.place_table(summary, focus, dataset),
            tables.level_table(summary, focus, dataset),
            Picture(
                "levels", "Accuracy against SNR, mean over places.",
                figures.level_figure(summary, focus),
            ),
        ]  # fmt: skip
        gain = figures.gain_figure(summary, focus)
        if gain is not None:
            parts.append(Picture("gain", "Gain over zero-shot in severe and moderate noise.", gain))
    if experiment.fronts:
        truth, answers = found.bench.judged.truth, found.answers
        parts.append(protocol_tables.front_table(answers, truth, focus, experiment.fronts))
    return Section("The comparison", parts)


def _classes(found: Findings) -> Section:
    summary, classes = found.summary, found.bench.data.classes
    ours = found.bench.experiment.ours
    methods = [method for method in _BY_CLASS if method in summary.methods]
    caption = f"Change from zero-shot to {ours}, class by class and place by place, in points."
    return Section(
        "Class by class",
        [
            Picture("classes", caption, maps.class_map(summary, ours, classes)),
            tables.class_table(summary, methods, ours, classes),
        ],
    )


def _protocols(found: Findings) -> Iterator[Section]:
    experiment, truth = found.bench.experiment, found.bench.judged.truth
    focus, answers = experiment.focus, found.answers
    parts: list[str | list[str] | Table | Picture] = []
    present = {answer.case.protocol for answer in answers}
    axes = {
        "few": "classes in the batch",
        "calibration": "clips to calibrate on",
        "batch": "clips in a batch",
    }
    for protocol in ("half", "cross", "few", "skewed", "stream", "calibration", "batch", "groups"):
        if protocol not in present:
            continue
        if protocol == "cross":
            parts += [protocol_tables.cross_table(answers, truth, focus), *_cross_maps(found)]
            continue
        parts.append(protocol_tables.protocol_table(protocol, answers, truth, focus))
        if protocol in axes:
            scores = protocol_tables.scores(protocol, answers, truth)
            half = protocol_tables.scores("half", answers, truth) if protocol == "batch" else {}
            compiled = {m: half[m][""] for m in (experiment.ours, "prism_paper") if m in half}
            figure = figures.axis_figure(scores, focus, axes[protocol], compiled)
            parts.append(Picture(protocol, f"Accuracy against {axes[protocol]}.", figure))
    if parts:
        yield Section("Other ways to use it", parts)


def _cross_maps(found: Findings) -> Iterator[Picture]:
    truth, answers = found.bench.judged.truth, found.answers
    _, base = protocol_tables.cross_matrix(answers, truth, BASELINE)
    for method in dict.fromkeys((found.bench.experiment.ours, "prism_paper")):
        places, matrix = protocol_tables.cross_matrix(answers, truth, method)
        if places and base.shape == matrix.shape:
            caption = f"{method}: calibrated in one place, used in another; points above zero-shot."
            yield Picture(f"cross-{method}", caption, maps.cross_map(places, matrix - base, method))


def _sensitivity(found: Findings) -> Section:
    baseline = found.ablation.mean(BASELINE) if found.ablation else found.summary.mean(BASELINE)
    rows = [
        [name, ", ".join(f"{value:g}" for value in by_value), *_range(by_value)]
        for name, by_value in found.sensitivity.items()
    ]
    header = ["parameter", "values tried", "lowest", "highest", "spread in points"]
    caption = "One parameter at a time, all else as printed; the ring is the paper's value."
    note = "Accuracy in percent, transductive, one condition in every place."
    figure = figures.sensitivity_figure(found.sensitivity, baseline)
    table = Table("Sensitivity of the paper's preset", header, rows, note)
    return Section(
        "How far the parameters matter", [table, Picture("sensitivity", caption, figure)]
    )


def _range(by_value: dict[float, float]) -> list[str]:
    low, high = min(by_value.values()), max(by_value.values())
    return [percent(low), percent(high), f"{100 * (high - low):.1f}"]


def _spectrum(found: Findings) -> Section:
    rows = [
        [energy.name, percent(energy.within_rank), str(energy.rank_for_share)]
        for energy in (*found.shifts, *found.known)
    ]
    header = ["matrix", f"energy in {RANK} directions, %", "directions for 90 %"]
    note = (
        "The paper finds more than 90 % of the energy of the shift in 60 directions of LAION-CLAP. "
        "That the noise is special follows only if the two last rows are much flatter."
    )
    caption = "Singular-value energy of noisy less clean embeddings, and of clean ones."
    return Section(
        "Is the shift of low rank?",
        [
            Table("Singular-value energy", header, rows, note),
            Picture("spectrum", caption, figures.spectrum_figure(found.shifts, found.known)),
        ],
    )


def _cost(found: Findings) -> Section:
    caption = "Accuracy against the time of calibration and of one inference."
    figure = figures.latency_figure(
        found.summary, found.costs, found.kinds, found.bench.experiment.focus
    )
    table = tables.cost_table(found.costs, len(found.bench.data))
    return Section("What it costs", [table, Picture("latency", caption, figure)])
