"""The report: sections of sentences, tables and pictures, made from findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prism_audio._version import __version__
from prism_audio.bench import figures, main_tables, maps, protocol_tables
from prism_audio.bench.ablation import USUAL
from prism_audio.bench.conditions import CLEAN
from prism_audio.bench.config import QUICK
from prism_audio.bench.losses import losses
from prism_audio.bench.report_table import ReportTable, interval, percent
from prism_audio.bench.spectrum import RANK
from prism_audio.bench.summary import BASELINE, TransductiveSummary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from prism_audio.bench.study import Findings

PRINTED = "OPCA + CCVD + PCT + ABR (as printed)"
_BY_CLASS = ("prism_paper", "prism_car")
# Datasets that the choice of our own preset has seen.
_DEVELOPED_ON = ("esc50",)
_GROUPS = {
    "blind": "blind methods of the paper's comparison and claims",
    "oracle": "methods that are told the place",
    "rival": "rivals that the paper leaves out",
    "control": "simple controls",
    "ours": "other forms of PRISM",
}


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
    parts: list[str | list[str] | ReportTable | Picture] = field(default_factory=list)


def sections(found: Findings) -> Iterator[Section]:
    """The whole report."""
    yield _setting(found)
    yield _headline(found)
    yield _losses(found)
    yield _comparison(found)
    yield _classes(found)
    yield from _protocols(found)
    if found.ablation is not None:
        table = main_tables.ablation_table(found.ablation, PRINTED)
        told = main_tables.claims(found.ablation, PRINTED)
        yield Section("Which part does it", [table, "What the paper claims:", told])
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
        "Every method sees the same embeddings and prototypes and has one fixed set of parameters; "
        "docs/methods.md says what each is, and which constants were picked with these clips in view."
    )
    if experiment.dataset in _DEVELOPED_ON:
        lines.append(
            "These are development numbers: the preset `default`, which is `prism` here, was chosen "
            "with these clips in view. Other sounds in other places judge it."
        )
    command = f"prism bench experiments/{experiment.name.removesuffix(QUICK)}.toml --data DATA"
    command += " --backgrounds BACKGROUNDS" if experiment.places else ""
    command += " -o docs/results" + (" --quick" if experiment.name.endswith(QUICK) else "")
    return Section("Setting", [lines, f"Made by prism-audio {__version__} with `{command}`."])


def _headline(found: Findings) -> Section:
    summary, ours = found.summary, found.bench.experiment.ours
    lines = [
        f"Over all conditions {ours} has {percent(summary.mean(ours))} %, zero-shot "
        f"{percent(summary.mean(BASELINE))} %: {interval(summary.difference(ours, BASELINE))} points."
    ]
    for kind, group in _GROUPS.items():
        members = [
            method
            for method in summary.methods
            if found.kinds.get(method) == kind and method not in (ours, BASELINE)
        ]
        if members:
            lines.append(_standing(summary, ours, members, group))
    if CLEAN in summary.levels and summary.levels != [CLEAN]:
        clean = [summary.mean(method, levels=[CLEAN]) for method in (ours, BASELINE)]
        gain = summary.difference(ours, BASELINE, levels=[CLEAN])
        lines.append(
            f"On clean clips {ours} has {percent(clean[0])} %, zero-shot {percent(clean[1])} %: "
            f"{interval(gain)} points."
        )
    truth, sources = found.bench.judged.truth, found.bench.sources
    half = protocol_tables.scores("half", found.answers, truth)
    if ours in half and BASELINE in half:
        gain = protocol_tables.ahead(found.answers, truth, sources, ours, BASELINE)
        lines.append(
            f"On clips that were not there at calibration {ours} has {percent(half[ours][''])} %, "
            f"zero-shot {percent(half[BASELINE][''])} %: {interval(gain)} points."
        )
    return Section("In short", [lines, "In brackets are 95 % intervals of the paired differences."])


def _standing(summary: TransductiveSummary, ours: str, members: list[str], group: str) -> str:
    """How many of a group ours is ahead of, and how far it is from the best of them."""
    best = max(members, key=summary.mean)
    won = sum(summary.mean(ours) > summary.mean(method) for method in members)
    ahead = summary.mean(ours) > summary.mean(best)
    gap = summary.difference(*((ours, best) if ahead else (best, ours)))
    sure = "" if gap.low > 0 else "; the interval includes zero"
    return (
        f"It is ahead of {won} of the {len(members)} {group}. The best of them is {best}, "
        f"{percent(summary.mean(best))} %: {ours} is {'ahead' if ahead else 'behind'} by "
        f"{interval(gap)} points{sure}."
    )


def _losses(found: Findings) -> Section:
    experiment, summary = found.bench.experiment, found.summary
    parts: list[str | list[str] | ReportTable | Picture] = []
    for method in dict.fromkeys((experiment.ours, "prism_paper")):
        if method in summary.methods:
            truth, classes = found.bench.judged.truth, found.bench.data.classes
            parts += [f"`{method}`:", losses(summary, found.answers, truth, method, classes)]
    return Section("Where PRISM loses", parts)


def _comparison(found: Findings) -> Section:
    experiment, summary = found.bench.experiment, found.summary
    dataset, focus = experiment.dataset, experiment.focus
    parts: list[str | list[str] | ReportTable | Picture] = [
        main_tables.main_table(summary, experiment.ours, dataset, found.kinds),
        Picture(
            "main", "All methods over all conditions.", figures.main_figure(summary, found.kinds)
        ),
    ]
    if experiment.places:
        parts += [
            main_tables.place_table(summary, focus, dataset),
            main_tables.level_table(summary, focus, dataset),
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
            main_tables.class_table(summary, methods, ours, classes),
        ],
    )


def _protocols(found: Findings) -> Iterator[Section]:
    experiment, truth = found.bench.experiment, found.bench.judged.truth
    focus, answers = experiment.focus, found.answers
    parts: list[str | list[str] | ReportTable | Picture] = []
    present = {answer.case.protocol for answer in answers}
    axes = {
        "few": "classes in the batch",
        "calibration": "clips to calibrate on",
        "batch": "clips in a batch",
    }
    for protocol in ("half", "cross", "few", "skewed", "stream", "calibration", "batch", "groups"):
        if protocol not in present:
            continue
        if protocol == "half":
            sources = found.bench.sources
            parts.append(
                protocol_tables.half_table(answers, truth, sources, focus, experiment.ours)
            )
            continue
        if protocol == "cross":
            parts += [protocol_tables.cross_table(answers, truth, focus), *_cross_maps(found)]
            continue
        parts.append(protocol_tables.protocol_table(protocol, answers, truth, focus))
        if protocol in axes:
            scores = protocol_tables.scores(protocol, answers, truth)
            compiled = _compiled(found) if protocol == "batch" else {}
            figure = figures.axis_figure(scores, focus, axes[protocol], compiled)
            caption = f"Accuracy against {axes[protocol]}."
            if compiled:
                caption += " Dotted: a map compiled from half of the clips, on the other half."
            parts.append(Picture(protocol, caption, figure))
    if parts:
        yield Section("Other ways to use it", parts)


def _compiled(found: Findings) -> dict[str, float]:
    """Accuracy of compiled maps on unseen noisy clips, to be compared with batches of such clips."""
    noisy = [answer for answer in found.answers if answer.tested.background != CLEAN]
    half = protocol_tables.scores("half", noisy, found.bench.judged.truth)
    return {m: half[m][""] for m in (found.bench.experiment.ours, "prism_paper") if m in half}


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
        [
            figures.parameter_name(name),
            ", ".join(f"{value:g}: {percent(got)}" for value, got in by_value.items()),
            f"{USUAL[name]:g}",
            _spread(by_value),
        ]
        for name, by_value in found.sensitivity.items()
    ]
    header = ["parameter", "value: accuracy", "usual value", "spread in points"]
    caption = (
        "One parameter at a time, all else as printed; the ring is its usual value, the dotted line "
        "zero-shot."
    )
    note = (
        "Accuracy in percent, transductive, one condition in every place, of the algorithm as "
        "printed; gamma with CAR on, rho with soft deflation in place of CCVD. Usual values are the "
        "paper's, but for rho, which it does not have."
    )
    figure = figures.sensitivity_figure(found.sensitivity, baseline)
    table = ReportTable("Sensitivity of the algorithm as printed", header, rows, note)
    return Section(
        "How far the parameters matter", [table, Picture("sensitivity", caption, figure)]
    )


def _spread(by_value: dict[float, float]) -> str:
    return f"{100 * (max(by_value.values()) - min(by_value.values())):.1f}"


def _spectrum(found: Findings) -> Section:
    rows = [
        [energy.name, percent(energy.within_rank), str(energy.rank_for_share)]
        for energy in (*found.shifts, *found.known)
    ]
    header = ["matrix", f"energy in {RANK} directions, %", "directions for 90 %"]
    ranks = [shift.rank_for_share for shift in found.shifts]
    clean = min(energy.rank_for_share for energy in found.known)
    verdict = (
        "is not" if min(ranks) >= clean else "is" if max(ranks) < clean else "is not everywhere"
    )
    note = (
        "Rows named after a place are noisy less clean embeddings there. The paper finds more than "
        "90 % of the energy of the shift in 60 directions of LAION-CLAP. That the noise is special "
        f"follows only if clean embeddings are flatter. Here the shift {verdict} of lower rank than "
        f"they are: 90 % of it takes {min(ranks)} to {max(ranks)} directions, of theirs {clean}."
    )
    caption = "Singular-value energy of noisy less clean embeddings, and of clean ones."
    return Section(
        "Is the shift of low rank?",
        [
            ReportTable("Singular-value energy", header, rows, note),
            Picture("spectrum", caption, figures.spectrum_figure(found.shifts, found.known)),
        ],
    )


def _cost(found: Findings) -> Section:
    caption = "Accuracy against the time of calibration and of one inference."
    figure = figures.latency_figure(
        found.summary, found.costs, found.kinds, found.bench.experiment.focus
    )
    table = main_tables.cost_table(found.costs, len(found.bench.data))
    return Section("What it costs", [table, Picture("latency", caption, figure)])
