"""The first sentences of the report: what was compared, and where the method under test stands."""

from __future__ import annotations

from pathlib import Path

from prism_audio._version import __version__
from prism_audio.bench.experiment.conditions import CLEAN
from prism_audio.bench.experiment.experiment import QUICK, Experiment
from prism_audio.bench.report.protocol_tables import lead, scores
from prism_audio.bench.report.table import interval, percent
from prism_audio.bench.trials.study import Findings
from prism_audio.bench.trials.summary import BASELINE, TransductiveSummary

# Datasets that were in view when our own preset was chosen.
_DEVELOPED_ON = ("esc50",)
_DEVELOPED_IN = "clap_esc50"
_GROUPS = {
    "blind": "blind methods of the paper's comparison and claims",
    "oracle": "methods that know the place",
    "rival": "rivals that the paper leaves out",
    "control": "simple controls",
    "ours": "other forms of PRISM",
}
_KINDS = {
    "overlay": "background over the whole clip",
    "scene": "the clip as an event in a scene of 10 s",
}


def setting(findings: Findings) -> list[str]:
    """Clips, encoder, noise and rules of the experiment."""
    bench, experiment = findings.bench, findings.bench.experiment
    recipe = experiment.recipe
    lines = [
        f"Clips: {experiment.dataset}, {len(bench.clips)} in {len(bench.classes)} classes.",
        bench.studio.about,
    ]
    if experiment.arrays:
        lines.append(f"Conditions: {'; '.join(experiment.places)}.")
    else:
        lines.append(f"Prompts: {experiment.prompts}.")
    if experiment.places and not experiment.arrays:
        snrs = ", ".join(f"{snr:g}" for snr in recipe.snrs)
        lines.append(
            f"Noise: {', '.join(experiment.places)}; SNR {snrs} dB ({recipe.level}); "
            f"{_KINDS[recipe.kind]}; seed {recipe.seed}. 'mixed' draws one of the SNRs for every "
            "clip. A clip meets the same stretch of background at every SNR."
        )
    lines.append(
        "Every method sees the same embeddings and prototypes and has one fixed set of parameters; "
        "docs/methods.md describes each, and which constants were chosen with these clips in view."
    )
    if experiment.dataset in _DEVELOPED_ON or experiment.name.startswith(_DEVELOPED_IN):
        lines.append(
            "These are development numbers: the preset `default`, which is `prism` here, was chosen "
            "with these clips in view. Other sounds in other places judge it."
        )
    return lines


def made_by(experiment: Experiment, folder: Path) -> str:
    """The version and the command that made the report; folders of the machine are left out."""
    command = f"prism bench experiments/{experiment.name.removesuffix(QUICK)}.toml --data DATA"
    command += " --backgrounds BACKGROUNDS" if experiment.places and not experiment.arrays else ""
    command += f" -o {'RESULTS' if folder.is_absolute() else folder.as_posix()}"
    command += " --quick" if experiment.name.endswith(QUICK) else ""
    return f"Made by prism-audio {__version__} with `{command}`."


def headline(findings: Findings) -> list[str]:
    """Ours against zero-shot, against each group of methods, on clean and on unseen clips."""
    bench, summary, ours = findings.bench, findings.summary, findings.bench.experiment.ours
    lines = [
        f"Over all conditions {ours} has {percent(summary.mean(ours))} %, zero-shot "
        f"{percent(summary.mean(BASELINE))} %: {interval(summary.difference(ours, BASELINE))} points."
    ]
    for kind, group in _GROUPS.items():
        members = [
            method
            for method in summary.methods
            if findings.kinds.get(method) == kind and method not in (ours, BASELINE)
        ]
        if members:
            lines.append(_standing(summary, ours, members, group))
    if CLEAN in summary.levels and summary.levels != [CLEAN]:
        clean = [summary.mean(method, levels=[CLEAN]) for method in (ours, BASELINE)]
        gain = summary.difference(ours, BASELINE, cells=[(CLEAN, CLEAN)])
        lines.append(
            f"On clean clips {ours} has {percent(clean[0])} %, zero-shot {percent(clean[1])} %: "
            f"{interval(gain)} points."
        )
    half = scores("half", findings.answers)
    if ours in half and BASELINE in half:
        gain = lead(findings.answers, bench.sources, ours, BASELINE)
        lines.append(
            f"On clips that were not there at calibration {ours} has {percent(half[ours][''])} %, "
            f"zero-shot {percent(half[BASELINE][''])} %: {interval(gain)} points."
        )
    return lines


def _standing(summary: TransductiveSummary, ours: str, members: list[str], group: str) -> str:
    """How many of a group ours is ahead of, and its distance from the best of them."""
    best = max(members, key=summary.mean)
    behind = sum(summary.mean(ours) > summary.mean(method) for method in members)
    ahead = summary.mean(ours) > summary.mean(best)
    gap = summary.difference(*((ours, best) if ahead else (best, ours)))
    doubt = "" if gap.low > 0 else "; the interval includes zero"
    return (
        f"It is ahead of {behind} of the {len(members)} {group}. The best of them is {best}, "
        f"{percent(summary.mean(best))} %: {ours} is {'ahead' if ahead else 'behind'} by "
        f"{interval(gap)} points{doubt}."
    )
