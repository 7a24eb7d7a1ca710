"""How many recordings a calibration needs: accuracy on unseen clips against the size of the batch.

    python examples/how_many_clips.py

Uses the embeddings that ship for the demo (ESC-50 in street noise at 0 dB, the encoder ``concepts``).
Half of the clips calibrate, the other half judge; means over ten draws.
"""

from __future__ import annotations

from collections import Counter
from importlib.resources import files

import numpy as np
from safetensors import safe_open

from prism_audio import PRISM

SIZES, DRAWS = (20, 100, 400), 10
TEN = (
    "dog,rooster,rain,sea waves,crackling fire,crying baby,sneezing,clock tick,helicopter,chainsaw"
)


def main() -> None:
    with safe_open(
        str(files("prism_audio.demo") / "data" / "esc50_street.safetensors"), "np"
    ) as data:
        labels = data.metadata()["labels"].split("\n")
        E = data.get_tensor("embeddings").astype(np.float32)
        T, truth = data.get_tensor("prototypes"), data.get_tensor("truth")
    print("labels  clips  zero-shot  after PRISM  verdicts")
    for names in (TEN.split(","), labels):
        classes = np.array([labels.index(name) for name in names])
        rows = np.flatnonzero(np.isin(truth, classes))
        target = np.searchsorted(np.sort(classes), truth[rows])
        for size in SIZES:
            show(E[rows], T[np.sort(classes)], target, size)


def show(E: np.ndarray, T: np.ndarray, truth: np.ndarray, size: int) -> None:
    """One line of the table; nothing where half of the clips are fewer than ``size``."""
    before, after, verdicts = [], [], Counter[str]()
    for seed in range(DRAWS):
        order = np.random.default_rng(seed).permutation(len(E))
        learn, judge = order[: len(E) // 2][:size], order[len(E) // 2 :]
        if len(learn) < size:
            return
        model = PRISM().fit(E[learn], prototypes=T)
        before.append(np.mean(np.argmax(E[judge] @ T.T, axis=1) == truth[judge]))
        after.append(np.mean(model.predict(E[judge]) == truth[judge]))
        verdicts[str(model.verdict_)] += 1
    print(
        f"{len(T):6} {size:6} {100 * np.mean(before):8.1f} % {100 * np.mean(after):10.1f} %  "
        + ", ".join(f"{name} {count}" for name, count in verdicts.most_common())
    )


if __name__ == "__main__":
    main()
