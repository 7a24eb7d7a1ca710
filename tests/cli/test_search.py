"""``prism search``: by words and by sound, against all cosines at once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from prism_audio.labelling.search import nearest
from prism_audio.model.adapter import Adapter
from tests.cli.conftest import Prism
from tests.helpers.bands import tone, write


@pytest.fixture(scope="module")
def store(prism: Prism, sounds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("search") / "store"
    assert prism("embed", sounds, "-o", path, "--encoder", "bands").returncode == 0
    return path


def test_words_and_sounds_find_their_like(
    prism: Prism, store: Path, site: Path, tmp_path: Path
) -> None:
    clip = write(tmp_path / "query.wav", tone(12, 1.0, seed=1))
    for query, band in (("tone 7", "07"), (clip, "12")):
        for more in ((), ("-a", site)):
            done = prism("search", store, query, "-n", 5, "--json", *more)
            assert done.returncode == 0, done.stderr
            hits = json.loads(done.stdout)
            assert {hit["file"][:2] for hit in hits} == {band}
            assert [hit["score"] for hit in hits] == sorted(
                (h["score"] for h in hits), reverse=True
            )
    table = tmp_path / "hits.csv"
    done = prism("search", store, "tone 2", "-o", table)
    assert table.read_text().count("\n") == 21
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_blocks_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    E = rng.standard_normal((700, 12)).astype(np.float32)
    E[400] = E[3]
    query = E[3] / np.linalg.norm(E[3])
    T = np.eye(3, 12, dtype=np.float32)
    W = np.vstack([np.eye(12) + 0.1 * rng.standard_normal((12, 12)), rng.standard_normal(12)])
    adapter = Adapter(W.astype(np.float32), T, ("a", "b", "c"))
    for site in (None, adapter):
        X = E / np.linalg.norm(E, axis=1, keepdims=True)
        S = (X if site is None else site.transform(X)) @ query
        wanted = np.argsort(-S, kind="stable")[:30].tolist()
        for parts in (1, 7):
            hits = nearest(np.array_split(E, parts), query, 30, site)
            assert [hit.row for hit in hits] == wanted
            np.testing.assert_allclose([hit.score for hit in hits], S[wanted], atol=1e-6)
    assert [hit.row for hit in nearest([E], query, 2)] == [3, 400]
    assert len(nearest([E[:4]], query, 20)) == 4


def test_refusals(prism: Prism, store: Path, sounds: Path) -> None:
    assert "no such recording" in prism("search", store, "no/clip.wav").stderr
    assert "say what to search for" in prism("search", store, " ").stderr
    done = prism("search", sounds, "tone 2")
    assert done.returncode == 2
    assert "prism embed" in done.stderr
