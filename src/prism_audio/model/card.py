"""The card of an adapter: what it is, where it comes from, what it is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prism_audio.model.adapter import Adapter


def rows(adapter: Adapter) -> list[tuple[str, str]]:
    """Name and value of every line of the card."""
    facts = adapter.facts
    C, d = adapter.prototypes.shape
    shown = ", ".join(adapter.labels[:8]) + (f", ... ({C} in all)" if C > 8 else "")
    lines = [
        ("place", facts.get("place", "")),
        ("verdict", facts.get("verdict", "")),
        ("because", "; ".join(facts.get("reasons", []))),
        ("calibrated on", f"{facts['N']} clips" if "N" in facts else ""),
        ("date", facts.get("date", "")),
        ("encoder", _named(adapter.encoder, adapter.encoder_fingerprint)),
        ("prompts", _named(adapter.prompts, adapter.prompts_fingerprint)),
        ("classes", shown),
        ("size", f"W {d + 1} x {d}, head {d + 1} x {C}"),
        ("parameters", ", ".join(f"{k}={_short(v)}" for k, v in adapter.parameters.items())),
    ]
    return [(name, str(value)) for name, value in lines if value]


def text(adapter: Adapter) -> str:
    """The card in plain text."""
    width = max(len(name) for name, _ in rows(adapter))
    return "\n".join(["PRISM adapter", *(f"  {n:<{width}}  {v}" for n, v in rows(adapter))])


def markdown(adapter: Adapter) -> str:
    """The card as a Markdown page."""
    lines = ["# PRISM adapter", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {_escape(value)} |" for name, value in rows(adapter)]
    lines += [
        "",
        "Use it: `prism classify FOLDER --adapter THIS_FILE`, or in Python:",
        "",
        "```python",
        "from prism_audio import Adapter",
        'adapter = Adapter.load("site.safetensors")',
        "index = adapter.predict(embeddings)   # (N, d) from the same encoder",
        "```",
        "",
    ]
    return "\n".join(lines)


def _named(name: str, fingerprint: str) -> str:
    return f"{name} ({fingerprint[:12]})" if name and fingerprint else name or fingerprint[:12]


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("|", "\\|")
