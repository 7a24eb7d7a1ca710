"""Event formats: the columns other programs document, and round trips of those that are read back."""

from __future__ import annotations

import csv
import io

import pytest

from prism_audio.errors import InputError
from prism_audio.labelling.formats import FORMATS, READABLE, Recording, TimedLabel

FIRST, SECOND = Recording("site/a.wav", 10.0, 48_000), Recording("site/b b.wav", 20.0, 16_000)
EVENTS = [
    TimedLabel("site/a.wav", 0.25, 1.5, "dog bark", 0.9),
    TimedLabel("site/a.wav", 3.0, 4.125, "siren, far", 0.5),
    TimedLabel("site/b b.wav", 2.0, 2.5, "dog bark", 0.25),
]


def of(recording: Recording) -> list[TimedLabel]:
    return [event for event in EVENTS if event.file == recording.file]


def test_audacity_has_three_columns_and_no_header() -> None:
    text = FORMATS["audacity"].write(of(FIRST), [FIRST])
    assert text.splitlines() == ["0.250000\t1.500000\tdog bark", "3.000000\t4.125000\tsiren, far"]


def test_raven_has_its_columns_and_combined_times_run_over_all_files() -> None:
    rows = list(
        csv.DictReader(io.StringIO(FORMATS["raven"].write(EVENTS, [FIRST, SECOND])), delimiter="\t")
    )
    assert list(rows[0]) == [
        "Selection", "View", "Channel", "Begin Time (s)", "End Time (s)", "Low Freq (Hz)",
        "High Freq (Hz)", "Begin Path", "File Offset (s)", "Label", "Confidence",
    ]  # fmt: skip
    last = rows[-1]
    assert (last["Selection"], last["View"], last["Channel"]) == ("3", "Spectrogram 1", "1")
    assert float(last["Begin Time (s)"]) == 12.0
    assert float(last["End Time (s)"]) == 12.5
    assert float(last["File Offset (s)"]) == 2.0
    assert float(last["High Freq (Hz)"]) == 8000.0
    alone = FORMATS["raven"].write(of(SECOND), [SECOND])
    assert float(alone.splitlines()[1].split("\t")[3]) == 2.0


def test_kaleidoscope_and_birdnet_columns() -> None:
    rows = list(csv.DictReader(io.StringIO(FORMATS["kaleidoscope"].write(EVENTS, [FIRST, SECOND]))))
    columns = ["INDIR", "FOLDER", "IN FILE", "OFFSET", "DURATION", "TOP1MATCH", "TOP1DIST"]
    assert list(rows[0]) == columns
    first = [rows[0][name] for name in columns]
    assert first == ["site", "", "a.wav", "0.250", "1.250", "dog bark", "0.1000"]
    rows = list(csv.DictReader(io.StringIO(FORMATS["birdnet"].write(EVENTS, [FIRST, SECOND]))))
    assert list(rows[0]) == [
        "Start (s)", "End (s)", "Scientific name", "Common name", "Confidence", "File",
    ]  # fmt: skip
    assert rows[1]["Common name"] == "siren, far"


@pytest.mark.parametrize("name", READABLE)
def test_round_trip(name: str) -> None:
    form = READABLE[name]
    if form.combined or name == "raven":
        back = form.read(form.write(EVENTS, [FIRST, SECOND]), "x.txt")
        wanted = EVENTS
    else:
        back = form.read(form.write(of(FIRST), [FIRST]), FIRST.file)
        wanted = of(FIRST)
    assert [event[:4] for event in back] == [event[:4] for event in wanted]


@pytest.mark.parametrize("name", READABLE)
def test_a_label_with_tabs_or_line_breaks_stays_one_line(name: str) -> None:
    form = READABLE[name]
    text = form.write(
        [TimedLabel("a.wav", 0.0, 1.0, "dog\tbark\n", 0.5)], [Recording("a.wav", 1, 8000)]
    )
    (event,) = form.read(text, "a.wav")
    assert event.label == "dog bark"


def test_raven_reads_a_table_that_raven_wrote() -> None:
    text = (
        "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tLabel\n"
        "1\tWaveform 1\t1\t1.0\t2.0\tdog\n1\tSpectrogram 1\t1\t1.0\t2.0\tdog\n"
    )
    assert READABLE["raven"].read(text, "a.wav") == [TimedLabel("a.wav", 1.0, 2.0, "dog")]


def test_sed_reads_lists_without_a_header_and_empty_recordings() -> None:
    events = READABLE["sed"].read("a.wav\t0.5\t1.0\tdog\nb.wav\t\t\t\n", "truth.tsv")
    assert events == [TimedLabel("a.wav", 0.5, 1.0, "dog")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("audacity", "0.5 1.0 dog\n"),
        ("audacity", "1\t0.5\tdog\n"),
        ("raven", "Begin Time (s)\tEnd Time (s)\n1\t2\n"),
        ("raven", "Begin Time (s)\tEnd Time (s)\tLabel\none\t2\tdog\n"),
        ("sed", "filename\tonset\toffset\tevent_label\na\t3\t1\tdog\n"),
    ],
)
def test_a_damaged_truth_is_refused_with_its_place(name: str, text: str) -> None:
    with pytest.raises(InputError, match=r"truth\.txt"):
        READABLE[name].read(text, "truth.txt")
