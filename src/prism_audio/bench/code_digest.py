"""Hash of the source code of a module and of all modules of the package that it imports."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

_PACKAGE = "prism_audio"
_HOME = Path(__file__).parents[2]


@cache
def code_digest(module: str) -> str:
    """Hash of a module's source and of the modules of this package that it imports, at any depth.

    A cached result is valid as long as this hash stays the same; changes elsewhere do not matter.
    """
    sources: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _source(name)
        if name in sources or path is None:
            continue
        sources[name] = path.read_bytes()
        waiting += _imports(name, sources[name])
    state = hashlib.sha256()
    for name in sorted(sources):
        state.update(f"{name}\0{hashlib.sha256(sources[name]).hexdigest()}\n".encode())
    return state.hexdigest()


def _imports(module: str, source: bytes) -> list[str]:
    """Names after ``import`` and ``from`` that belong to the package, at any depth of the code."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    # The root of the package imports everything and computes nothing.
    inside = {name for name in names if name.startswith(f"{_PACKAGE}.")}
    return sorted(inside - {module})


def _source(module: str) -> Path | None:
    """The file of a module, without importing it; nothing for a function or a class."""
    path = _HOME.joinpath(*module.split("."))
    candidates = (path.with_name(f"{path.name}.py"), path / "__init__.py")
    return next((candidate for candidate in candidates if candidate.is_file()), None)
