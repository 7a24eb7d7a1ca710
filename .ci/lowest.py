"""Print the lowest versions that pyproject.toml declares, as requirements for pip.

python .ci/lowest.py [EXTRA ...]

"numpy>=1.26" becomes "numpy==1.26": direct dependencies at their lowest, indirect ones as pip chooses.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def lowest(extras: list[str]) -> list[str]:
    """Requirements with every lower bound made exact; those without one are an error."""
    listed = [*PROJECT["dependencies"]]
    for extra in extras:
        listed += PROJECT["optional-dependencies"][extra]
    exact = [re.sub(r">=([^,;\s]+)[^;]*", r"==\1", line) for line in listed]
    if unbounded := [line for line in exact if "==" not in line and "prism-audio" not in line]:
        sys.exit(f"pyproject.toml: give a lower bound to {', '.join(unbounded)}")
    return exact


if __name__ == "__main__":
    print("\n".join(lowest(sys.argv[1:])))
