"""What pyproject.toml declares is what the code imports."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Packages whose distribution has another name.
DISTRIBUTIONS = {
    "ai_edge_litert": "ai-edge-litert",
    "huggingface_hub": "huggingface-hub",
    "paho": "paho-mqtt",
    "prometheus_client": "prometheus-client",
    "python_multipart": "python-multipart",
    "sklearn": "scikit-learn",
}
# Used where the caller has it (``to_pandas``); nothing else needs it.
CALLERS_OWN = {"pandas"}
# Extras that no line of src imports: they are tools.
TOOLS = {"dev", "docs", "release"}


def imported() -> set[str]:
    """Distributions that src imports, at the top of a file or inside a function."""
    names: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(str(node.module).split(".")[0])
            elif isinstance(node, ast.Call) and _is_import(node):
                names |= {
                    a.value.split(".")[0] for a in node.args[:1] if isinstance(a, ast.Constant)
                }
    names -= {"prism_audio"} | CALLERS_OWN | sys.stdlib_module_names
    return {DISTRIBUTIONS.get(name, name) for name in names}


def _is_import(node: ast.Call) -> bool:
    function = ast.unparse(node.func)
    return "import_module" in function or "import_extra" in function


def declared() -> set[str]:
    """Distributions that an install of the package, with every extra for users, brings directly."""
    extras = PROJECT["optional-dependencies"]
    lines = [*PROJECT["dependencies"]]
    lines += [line for name, extra in extras.items() if name not in TOOLS for line in extra]
    return {re.match(r"[\w-]+", line)[0] for line in lines}


def test_declared_dependencies_are_those_imported():
    assert declared() == imported()


def test_every_dependency_has_a_lower_bound():
    extras = PROJECT["optional-dependencies"].values()
    for line in [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]:
        assert ">=" in line or line.startswith("prism-audio["), line
