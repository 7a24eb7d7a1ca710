"""How often the intervals of ``prism check`` hold the true accuracy, and how narrow they are.

    python benchmarks/check.py CLAP CONDITIONS ESC50 [--campaigns 2000] [--series 0]

CLAP holds the array files esc50_*.npz, CONDITIONS is the folder ``conditions`` of a cache that
``prism bench experiments/esc50.toml`` has filled, ESC50 the folder of the dataset. A place is calibrated
without labels; then campaigns of 30 and of 100 clips are picked with one seed each, "listened to" with
the true labels, and judged as ``prism check`` does. Beside them stand simple random samples of as many
clips with Wilson's interval. Coverage and widths are in percent; "narrower" is how often the interval is
narrower than Wilson's.

The first table is of seven conditions with all 50 labels and 2000 clips. The second sums up all
conditions, each with all labels, with ten drawn at random, and with all labels in uneven shares, from
a fifth of the campaigns each.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "study"))

from spaces import load_condition, load_sounds

from prism_audio import PRISM
from prism_audio.evaluation.check import Campaign
from prism_audio.evaluation.clip_scores import Z
from prism_audio.evaluation.picking import pick
from prism_audio.evaluation.population import Population, survey

CONDITIONS = (
    "near:park_mixed", "near:street_traffic_-6dB", "moved:airport_mixed", "moved:park_mixed",
    "concepts:metro_0dB", "concepts:street_traffic_-6dB", "laion:clean",
)  # fmt: skip
SIZES = (30, 100)
# Seeds of one series.
SERIES = 10_000
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("clap", "conditions", "esc50"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--campaigns", type=int, default=2000)
    parser.add_argument("--series", type=int, default=0, help="another number is other draws")
    given = parser.parse_args()
    seeds = range(given.series * SERIES, given.series * SERIES + given.campaigns)
    sounds = load_sounds(given.clap, given.conditions, given.esc50)
    print("| condition | clips | of | true | held | width | Wilson held | width | narrower |")
    print("|---|---|---|---|---|---|---|---|---|")
    for condition in CONDITIONS:
        place = calibrate(*load_condition(sounds, condition))
        for n in SIZES:
            for name, row in simulate(*place, n, seeds).items():
                cells = " | ".join("" if v != v else f"{100 * v:.1f}" for v in row)
                print(f"| {condition} | {n} | {name} | {cells} |", flush=True)
    held: dict[tuple[str, int, str], list[float]] = {}
    for i, condition in enumerate(sorted(sounds.files)):
        for kind, draw in DRAWS.items():
            E, T, y = load_condition(sounds, condition)
            place = calibrate(*draw(E, T, y, np.random.default_rng(i)))
            for n in SIZES:
                for name, row in simulate(*place, n, seeds[: given.campaigns // 5]).items():
                    held.setdefault((kind, n, name), []).append(100 * row[1])
    print(
        "\n| labels | clips | of | places | held, mean | 5th lowest % | 5th highest % | 93 to 97 |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for (kind, n, name), values in sorted(held.items()):
        low, high = np.percentile(values, (5, 95))
        inside = 100 * np.mean([93 <= value <= 97 for value in values])
        numbers = f"{np.mean(values):.1f} | {low:.1f} | {high:.1f} | {inside:.0f}"
        print(f"| {kind} | {n} | {name} | {len(values)} | {numbers} |")


def calibrate(E: np.ndarray, T: np.ndarray, y: np.ndarray) -> tuple[Population, np.ndarray]:
    """What an adapter without labels says of a place, and the truth."""
    adapter = PRISM().fit(E, prototypes=T, labels=[str(c) for c in range(len(T))]).adapter_
    return survey([E], adapter), y


def everything(E: np.ndarray, T: np.ndarray, y: np.ndarray, _rng: np.random.Generator) -> Arrays:
    """All clips and labels."""
    return E, T, y


def ten_labels(E: np.ndarray, T: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Arrays:
    """Ten labels drawn at random, and their clips."""
    chosen = rng.permutation(len(T))[:10]
    rows = np.flatnonzero(np.isin(y, chosen))
    number = np.full(len(T), -1)
    number[chosen] = np.arange(10)
    return E[rows], T[chosen], number[y[rows]]


def uneven_shares(E: np.ndarray, T: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Arrays:
    """All labels in shares of half of the clips by Dirichlet's distribution, as far as clips go."""
    wanted = np.round(rng.dirichlet(np.full(len(T), 0.7)) * len(y) / 2).astype(int)
    rows = np.concatenate(
        [rng.permutation(np.flatnonzero(y == c))[: wanted[c]] for c in range(len(T))]
    )
    return E[rows], T, y[rows]


DRAWS = {"50": everything, "10": ten_labels, "50, uneven": uneven_shares}


def simulate(
    population: Population, y: np.ndarray, n: int, seeds: range
) -> dict[str, tuple[float, ...]]:
    """True value, coverage, width; the same of simple random samples; how often ours is narrower."""
    right, first = population.answer == y, population.zero_shot == y
    truth = {"adapted": right.mean(), "zero-shot": first.mean()}
    truth["difference"] = (right.astype(float) - first).mean()
    records: dict[str, list[list[float]]] = {name: [] for name in truth}
    for seed in seeds:
        picks = pick(population, n, seed)
        judged = Campaign(population, picks.rows, y[picks.rows], picks.probability)
        plain = np.random.default_rng([seed, n]).choice(len(y), n, replace=False)
        ours = (judged.adapted, judged.zero_shot, judged.difference.interval)
        for name, interval, outcome in zip(truth, ours, (right, first, None), strict=True):
            low, high = (np.nan, np.nan) if outcome is None else wilson(outcome[plain], len(y))
            records[name].append(
                [
                    interval.low <= truth[name] <= interval.high,
                    interval.high - interval.low,
                    np.nan if outcome is None else low <= truth[name] <= high,
                    high - low,
                    np.nan if outcome is None else interval.high - interval.low < high - low,
                ]
            )
    return {name: (truth[name], *np.mean(rows, axis=0)) for name, rows in records.items()}


def wilson(right: np.ndarray, N: int) -> tuple[float, float]:
    """Wilson's interval of a simple random sample from ``N`` clips."""
    n, share = len(right), right.mean()
    z2 = Z**2 * (1 - n / N)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n)))
    centre = share + z2 / (2 * n)
    return (centre - half) / (1 + z2 / n), (centre + half) / (1 + z2 / n)


if __name__ == "__main__":
    main()
