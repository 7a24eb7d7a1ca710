"""The public interface: from sound to answers in four lines."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

import prism_audio as prism
from prism_audio.errors import AudioError, InputError
from tests.helpers.bands import RATE, BandEncoder, tone

LABELS = ["tone 2", "tone 7", "tone 12"]


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sounds") / "street"
    folder.mkdir()
    for i in range(24):
        sf.write(folder / f"{i:02d}.wav", tone((2, 7, 12)[i % 3], 1.2, i, 0.1), RATE)
    return folder


@pytest.fixture(scope="module")
def site(street: Path) -> prism.Adapter:
    return prism.calibrate(street, LABELS, encoder=BandEncoder(), preset="paper")


def test_four_lines(street: Path, site: prism.Adapter) -> None:
    table = prism.classify(street, site, encoder=BandEncoder())
    assert (site.facts.place, site.facts.N, site.labels) == ("street", 24, tuple(LABELS))
    assert [row.label for row in table] == LABELS * 8
    assert len(table) == 24
    assert table[0].file.endswith("00.wav")
    assert [row.label for row in table[1:3]] == LABELS[1:]
    assert table.summary().after["tone 7"] == 8


def test_adapter_from_a_file_gives_the_same(street, site, tmp_path: Path) -> None:
    saved = site.save(tmp_path / "site.safetensors")
    one, other = (
        prism.classify([street / "00.wav"], each, encoder=BandEncoder(), top=2)
        for each in (site, str(saved))
    )
    assert one.rows == other.rows
    assert one.columns[-4:] == ["top_1", "top_1_score", "top_2", "top_2_score"]


def test_events_of_a_recording_of_blocks_and_of_raw_samples(site, tmp_path: Path) -> None:
    sound = np.concatenate([tone(2, 3.0, 1, 0.05), tone(12, 3.0, 2, 0.05)])
    pcm = np.round(sound * 32767).astype("<i2")
    sf.write(tmp_path / "long.wav", pcm, RATE)
    blocks = np.array_split((pcm / 32768).astype(np.float32), 7)
    named = {"encoder": BandEncoder(), "window": 0.5}
    found = list(prism.listen(tmp_path / "long.wav", site, **named))
    assert [event.label for event in found] == ["tone 2", "tone 12"]
    assert found[0].end == pytest.approx(3.0, abs=0.5)
    assert found[-1].end == pytest.approx(6.0, abs=0.1)
    assert list(prism.listen(blocks, site, **named)) == found
    assert list(prism.listen(io.BytesIO(pcm.tobytes()), site, rate=RATE, **named)) == found


def test_table_is_written_and_shown(street, site, tmp_path: Path) -> None:
    table = prism.classify(street, site, encoder=BandEncoder())
    table.save(tmp_path / "rows.csv")
    with open(tmp_path / "rows.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == LABELS * 8
    assert list(rows[0]) == table.columns
    assert "24 rows" in repr(table)
    assert table._repr_html_().count("<tr>") == 21
    frame = pytest.importorskip("pandas") and table.to_pandas()
    assert list(frame["label"]) == LABELS * 8


def test_bad_recordings_are_told_of(site, street: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.wav").write_bytes(b"RIFF....WAVE")
    with pytest.raises(AudioError, match=r"broken\.wav"):
        prism.classify(tmp_path, site, encoder=BandEncoder())
    with pytest.warns(UserWarning, match=r"1 recording could not be read.*broken\.wav"):
        table = prism.classify(
            [tmp_path / "broken.wav", street / "00.wav"], site, encoder=BandEncoder()
        )
    assert len(table) == len(table.failures) == 1


def test_wrong_use_is_refused_before_anything_is_heard(site, street: Path, tmp_path: Path) -> None:
    for wrong in ({"preset": "magic"}, {"labels": []}, {"prompts": "no such"}):
        with pytest.raises(InputError):
            prism.calibrate(street, **{"labels": LABELS, "encoder": BandEncoder()} | wrong)
    with pytest.raises(InputError, match="no such file"):
        prism.classify(tmp_path / "nowhere", site, encoder=BandEncoder())
    with pytest.raises(InputError, match="no such recording"):
        list(prism.listen(tmp_path / "nowhere.wav", site, encoder=BandEncoder()))
    with pytest.raises(InputError, match="rate"):
        list(prism.listen(io.BytesIO(b""), site, encoder=BandEncoder()))


def test_names_are_offered_without_importing_what_is_behind_them() -> None:
    code = (
        "import sys, prism_audio; names = dir(prism_audio); "
        "assert {'calibrate', 'classify', 'listen', 'PRISM', 'Adapter'} <= set(names); "
        "assert 'sklearn' not in sys.modules; assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert all(getattr(prism, name) is not None for name in prism.__all__)
