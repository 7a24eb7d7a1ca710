"""Print the lowest versions that pyproject.toml declares, as requirements for pip.

python .ci/lowest.py

"numpy>=1.26" becomes "numpy==1.26": direct dependencies, and those of the extras that the tests use,
at their lowest; indirect ones as pip chooses.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def lowest() -> list[str]:
    """Requirements with every lower bound made exact; those without one are an error."""
    extras = PROJECT["optional-dependencies"]
    named = re.search(r"prism-audio\[(.+?)\]", " ".join(extras["dev"]))
    if named is None:
        sys.exit("pyproject.toml: the extra 'dev' names no other extras")
    listed = [*PROJECT["dependencies"]]
    for extra in named[1].split(","):
        listed += extras[extra]
    exact = {re.sub(r">=([^,;\s]+)[^;]*", r"==\1", line) for line in listed}
    if unbounded := sorted(line for line in exact if "==" not in line):
        sys.exit(f"pyproject.toml: give a lower bound to {', '.join(unbounded)}")
    return sorted(exact)


if __name__ == "__main__":
    print("\n".join(lowest()))
