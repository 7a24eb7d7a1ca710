"""The presets: named sets of parameters, and nothing else."""

from __future__ import annotations

from prism_audio.geometry.parameters import Parameters

PRESETS: dict[str, Parameters] = {
    # Algorithm 1 as printed.
    "paper": Parameters(),
    # What the authors' public script does; see geometry/released.py for how it differs.
    "released": Parameters(),
    # What we recommend: a gain instead of a cut, composition instead of regression, and the guard.
    "default": Parameters(
        rounds=8,
        deflation="soft",
        ridge_centre="identity",
        compilation="composition",
        prior_clips=1.0,
        guard=True,
    ),
}
