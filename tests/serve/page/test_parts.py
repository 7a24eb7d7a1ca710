"""Parts of the page that compute, against another way to the same answer."""

from __future__ import annotations

import base64
import csv
import io
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright", reason="needs the package playwright")

import soundfile as sf
from playwright.sync_api import Page

from prism_audio.labelling.events import LabelledWindow, events


def run(page: Page, module: str, body: str, value: Any = None) -> Any:
    """Run a function body with one of the page's modules as ``m`` and a value as ``x``."""
    script = f"async (x) => {{ const m = await import('/page/{module}.js'); {body} }}"
    return page.evaluate(script, value)


def test_fourier_transform(page: Page) -> None:
    x = np.random.default_rng(0).standard_normal((2, 64))
    got = run(
        page,
        "sound",
        "const [re, im] = x.map((row) => Float64Array.from(row)); m.fft(re, im);"
        "return [[...re], [...im]]",
        x.tolist(),
    )
    wanted = np.fft.fft(x[0] + 1j * x[1])
    np.testing.assert_allclose(np.array(got), [wanted.real, wanted.imag], atol=1e-12)


def test_spectrogram_finds_the_tone(page: Page) -> None:
    """A tone is loudest in the band that holds its pitch, bands being equal steps on the mel scale."""
    hertz, rate = 1234.0, 16000
    samples = np.sin(2 * np.pi * hertz * np.arange(rate) / rate)
    found = run(
        page,
        "sound",
        "const { levels, bands } = m.spectrogram(Float32Array.from(x), 16000, 10);"
        "const column = [...levels.slice(5 * bands, 6 * bands)];"
        "return [column.indexOf(Math.max(...column)), bands]",
        samples.tolist(),
    )
    mel = 2595 * np.log10(1 + np.array([hertz, rate / 2]) / 700)
    assert found[0] == pytest.approx(found[1] * mel[0] / mel[1], abs=1.5)


def test_stretches_are_the_events_of_the_command_line(page: Page) -> None:
    rng = np.random.default_rng(4)
    windows = [
        {"start": 0.5 * i, "end": 0.5 * i + 1, "label": label, "score": float(score)}
        for i, (label, score) in enumerate(
            zip(rng.choice(list("ab"), 40), rng.random(40), strict=True)
        )
    ]
    windows = [{**window, "label": str(window["label"])} for window in windows]
    got = run(page, "timeline", "return m.stretches(x, 'label')", windows)
    wanted = list(events(LabelledWindow(**window) for window in windows))
    assert [(one["label"], one["windows"]) for one in got] == [(e.label, e.windows) for e in wanted]
    for one, event in zip(got, wanted, strict=True):
        assert (one["start"], one["end"], one["score"]) == pytest.approx(
            (event.start, event.end, event.score)
        )


def test_microphone_clips_are_wav_files(page: Page) -> None:
    samples = np.random.default_rng(1).uniform(-1, 1, 1000)
    text = run(
        page,
        "wav",
        "const file = m.wavFile('a.wav', Float32Array.from(x), 12345);"
        "return btoa(String.fromCharCode(...new Uint8Array(await file.arrayBuffer())))",
        samples.tolist(),
    )
    got, rate = sf.read(io.BytesIO(base64.b64decode(text)))
    assert rate == 12345
    np.testing.assert_allclose(got, samples, atol=1e-4)


def test_csv_survives_odd_names(page: Page) -> None:
    names = ['a "quoted", name.wav', "two\nlines.wav", "=SUM(A1).wav", "Ünïcode 語.wav"]
    clips = [
        {"state": "failed", "name": name, "error": {"message": 'bad, "very" bad'}} for name in names
    ]
    text = run(page, "download", "return m.csv(x)", clips)
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["file"].lstrip("'") for row in rows] == names
    assert not any(row["file"].startswith("=") for row in rows)
    assert {row["error"] for row in rows} == {'bad, "very" bad'}


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("dog bark,  siren ,siren\nrain;", ["dog bark", "siren", "rain"]),
        (" , ,\n", []),
        ('"door, shut", say ""no""; rain', ["door, shut", 'say ""no""', "rain"]),
        ('"a ""b"""', ['a "b"']),
    ],
)
def test_labels_are_read(page: Page, text: str, labels: list[str]) -> None:
    assert run(page, "label_text", "return m.parseLabels(x)", text) == labels
