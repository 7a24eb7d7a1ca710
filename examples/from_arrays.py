"""PRISM on embeddings you already have, from any audio-text model.

    python examples/from_arrays.py

Stands in for your own arrays with a small synthetic place: ten classes whose embeddings a "noise" has
turned, shifted and spread.
"""

from __future__ import annotations

import numpy as np

from prism_audio import PRISM, Adapter

rng = np.random.default_rng(0)
C, d, N = 10, 128, 1500


def unit(X: np.ndarray) -> np.ndarray:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


# Text embeddings of the labels, and what a clean recording of each class would give.
T = unit(rng.standard_normal((C, d)) + rng.standard_normal(d))
truth = rng.integers(C, size=N)
# The place: one direction that everything is pushed along, twenty that every clip scatters along.
noise = unit(rng.standard_normal((20, d)))
E = T[truth] + 1.2 * noise[0] + 0.35 * rng.standard_normal((N, 20)) @ noise
E = unit(E + 0.5 * rng.standard_normal((N, d)) / np.sqrt(d)).astype(np.float32)

zero_shot = np.argmax(E @ T.T, axis=1)
model = PRISM().fit(E, prototypes=T, labels=[f"class {c}" for c in range(C)])
print(f"zero-shot    {100 * np.mean(zero_shot == truth):.1f} % right")
print(f"after PRISM  {100 * np.mean(model.predict(E) == truth):.1f} % right")
print(f"verdict: {model.verdict_} ({'; '.join(model.verdict_.reasons)})")

# From now on: one small file, one product a clip.
model.adapter_.save("place.safetensors")
place = Adapter.load("place.safetensors")
print(f"the first clip is {place.labels[place.predict_one(E[0])]}")
