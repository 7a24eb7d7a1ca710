"""How often the intervals of ``prism check`` hold the true accuracy, and how narrow they are.

    python benchmarks/check.py CLAP CONDITIONS ESC50 [--campaigns 2000]

CLAP holds the array files esc50_*.npz, CONDITIONS is the folder ``conditions`` of a cache that
``prism bench experiments/esc50.toml`` has filled, ESC50 the folder of the dataset. In every condition a
place is calibrated without labels on 2000 clips; then campaigns of 30 and of 100 clips are picked with
one seed each, "listened to" with the true labels, and judged as ``prism check`` does. Beside them
stand simple random samples of as many clips with Wilson's interval. Coverage and widths are in
percent; "narrower" is how often the interval is narrower than Wilson's.
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
from prism_audio.evaluation.picking import pick
from prism_audio.evaluation.population import Population, survey
from prism_audio.evaluation.sampling import Z

CONDITIONS = (
    "near:park_mixed", "near:street_traffic_-6dB", "moved:airport_mixed", "moved:park_mixed",
    "concepts:metro_0dB", "concepts:street_traffic_-6dB", "laion:clean",
)  # fmt: skip
SIZES = (30, 100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("clap", "conditions", "esc50"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--campaigns", type=int, default=2000)
    given = parser.parse_args()
    sounds = load_sounds(given.clap, given.conditions, given.esc50)
    print("| condition | clips | of | true | held | width | Wilson held | width | narrower |")
    print("|---|---|---|---|---|---|---|---|---|")
    for condition in CONDITIONS:
        E, T, y = load_condition(sounds, condition)
        adapter = PRISM().fit(E, prototypes=T, labels=[str(c) for c in range(len(T))]).adapter_
        population = survey([E], adapter)
        for n in SIZES:
            for name, row in simulate(population, y, n, given.campaigns).items():
                cells = " | ".join("" if v != v else f"{100 * v:.1f}" for v in row)
                print(f"| {condition} | {n} | {name} | {cells} |", flush=True)


def simulate(
    population: Population, y: np.ndarray, n: int, campaigns: int
) -> dict[str, tuple[float, ...]]:
    """True value, coverage, width; the same of simple random samples; how often ours is narrower."""
    right, first = population.answer == y, population.zero_shot == y
    truth = {"adapted": right.mean(), "zero-shot": first.mean()}
    truth["difference"] = truth["adapted"] - truth["zero-shot"]
    records: dict[str, list[list[float]]] = {name: [] for name in truth}
    for seed in range(campaigns):
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
