from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from prism_audio import Adapter
from tests.cli.conftest import Prism


def test_card_for_people_programs_and_pages(prism: Prism, site: Path) -> None:
    shown = prism("inspect", site)
    assert shown.returncode == 0
    assert all(len(line) <= 80 for line in shown.stdout.splitlines())
    for part in ("street", "24 clips", "bands", "sentences-1", "tone 12", "8 -> 8", "CAR is off"):
        assert part in shown.stdout
    page = prism("inspect", site, "--markdown").stdout
    assert page.startswith("# PRISM adapter\n")
    assert "| tone 7 | 8 -> 8 |" in page
    told = json.loads(prism("inspect", site, "--json").stdout)
    assert [row["label"] for row in told["classes"]] == ["tone 2", "tone 7", "tone 12"]
    assert told["classes"][0]["clips_after"] == 8
    assert told["verdict"] in ("adapted", "shrunk", "zero-shot")


def test_classes_in_the_trap_are_named(prism: Prism, site: Path, tmp_path: Path) -> None:
    adapter = Adapter.load(site)
    classes = replace(adapter.facts.classes, trapped=(False, True, False))
    caught = replace(adapter, facts=replace(adapter.facts, classes=classes))
    caught.save(tmp_path / "caught.safetensors")
    shown = prism("inspect", tmp_path / "caught.safetensors").stdout
    assert "in the polyphonic trap: tone 7; " in " ".join(shown.split())
    assert [line.split()[-1] for line in shown.splitlines() if line.startswith("tone 7")] == ["yes"]


def test_adapter_without_evidence_and_with_odd_labels(prism: Prism, tmp_path: Path) -> None:
    labels = ("[red]a | b[/red]", "犬", 'quote " \\')
    Adapter.zero_shot(np.eye(3), labels).save(tmp_path / "bare.safetensors")
    shown = prism("inspect", tmp_path / "bare.safetensors")
    assert shown.returncode == 0
    for label in labels:
        assert label in shown.stdout
    page = prism("inspect", tmp_path / "bare.safetensors", "--markdown").stdout
    assert "[red]a \\| b[/red]" in page


def test_wrong_files(refused: Callable[..., str], sounds: Path, tmp_path: Path) -> None:
    assert "cannot read" in refused("inspect", tmp_path / "absent.safetensors")
    assert "no PRISM adapter" in refused("inspect", sounds / "02-00.wav")
