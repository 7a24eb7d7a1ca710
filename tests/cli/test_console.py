from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
import typer

from prism_audio.cli.console import ProgressBar, end, note, orderly_stop, printable, say, say_json
from tests.cli.conftest import Prism


def test_bar_shows_files_rate_and_what_it_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    with ProgressBar("looking", "embedding") as bar:
        bar.begin(3, 300)
        bar.audio(7.0)
        bar.file(100)
        bar.file(100)
    shown = capsys.readouterr()
    assert shown.out == ""
    for part in ("embedding", "2/3 files", "x real time", "left"):
        assert part in shown.err


def test_bar_is_silent_where_nobody_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("TTY_COMPATIBLE", raising=False)
    with ProgressBar("looking", "embedding") as bar:
        bar.begin(1, 1)
        bar.file(1)
    assert capsys.readouterr() == ("", "")


def test_results_and_notes_part_ways_unbroken_and_without_markup(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = "[bold]a name[/bold]" + " that is long" * 20
    say(text)
    note(text)
    assert capsys.readouterr() == (text + "\n", text + "\n")


def test_end_lists_failures_and_sets_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as good:
        end([])
    with pytest.raises(typer.Exit) as bad:
        end([("a.wav", "empty"), (os.fsdecode(b"\xff.wav"), "no sound")])
    assert (good.value.exit_code, bad.value.exit_code) == (0, 1)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[0] == "2 failed:"
    assert "a.wav: empty" in shown.err
    assert "�.wav: no sound" in shown.err


def test_any_name_can_be_printed_and_written_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"caf\xe9 \xc3\xa9")
    assert printable(name) == "caf� é"
    say_json({"file": printable(name)})
    assert json.loads(capsys.readouterr().out) == {"file": "caf� é"}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_a_block_in_order(
    capsys: pytest.CaptureFixture[str], number: signal.Signals, code: int
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(typer.Exit) as stopped, orderly_stop("it is safe"):
        signal.raise_signal(number)
    assert stopped.value.exit_code == code
    assert capsys.readouterr().err == "it is safe\n"
    assert signal.getsignal(signal.SIGTERM) is before


def test_shortened_names_stay_distinct() -> None:
    from prism_audio.cli.text_tables import _cut_apart

    same_ends = [f"{'a' * 30}_{number}_{'z' * 30}.wav" for number in range(5)]
    same_begin = [f"{'a' * 60}_{number}.wav" for number in range(5)]
    for names in (same_ends, same_begin):
        cut = _cut_apart(names, 24)
        assert len(set(cut)) == 5
        assert all(len(name) <= 24 for name in cut)
    assert _cut_apart(["a.wav", "b.wav"], 24) == ["a.wav", "b.wav"]


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted\n"), (signal.SIGTERM, 143, "terminated\n")],
)
def test_signals_end_any_command_with_its_code(
    prism: Prism, tmp_path: Path, number: signal.Signals, code: int, word: str
) -> None:
    pipe = tmp_path / "site.safetensors"
    os.mkfifo(pipe)
    process = prism.start("inspect", pipe)
    with pipe.open("wb"):  # opens when the command reads, and so is at work
        process.send_signal(number)
        done = prism.finish(process)
    assert (done.returncode, done.stderr) == (code, word)
