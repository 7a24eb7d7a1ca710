from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_audio import Adapter
from tests.cli.conftest import Prism, left_over
from tests.helpers.bands import LABELS, RATE, recordings, tone, write

BANDS = ("--encoder", "bands")


def lines(done: subprocess.CompletedProcess[str], kind: str) -> list[dict[str, Any]]:
    told = [json.loads(line) for line in done.stdout.splitlines()]
    return [line for line in told if line["type"] == kind]


@pytest.fixture(scope="module")
def three() -> np.ndarray:
    """Two seconds each of three classes."""
    return np.concatenate([tone(band, 2.0, band) for band in (2, 12, 7)])


@pytest.fixture(scope="module")
def heard(
    prism: Prism, site: Path, three: np.ndarray, tmp_path_factory: pytest.TempPathFactory
) -> subprocess.CompletedProcess[str]:
    """The events of these six seconds, heard from a file."""
    file = write(tmp_path_factory.mktemp("three") / "three.wav", three)
    return prism("listen", file, "-a", site, "--window", 0.5, "--json", "--every")


def test_file_as_a_stream(heard: subprocess.CompletedProcess[str]) -> None:
    assert (heard.returncode, heard.stderr) == (0, "")
    (settings,) = lines(heard, "settings")
    assert (settings["window"], settings["hop"], settings["confirm"]) == (0.5, 0.25, 2)
    begun, ended = lines(heard, "begin"), lines(heard, "end")
    assert [event["label"] for event in begun] == ["tone 2", "tone 12", "tone 7"]
    assert [event["start"] for event in ended] == pytest.approx([0, 2, 4], abs=0.3)
    assert [event["end"] for event in ended] == pytest.approx([2, 4, 6], abs=0.3)
    assert len(lines(heard, "window")) == 23
    (summary,) = lines(heard, "summary")
    assert summary["audio_seconds"] == 6.0
    assert summary["events"] == {"tone 2": 1, "tone 12": 1, "tone 7": 1}
    assert summary["times_real_time"] > 0


@pytest.mark.parametrize(
    ("form", "kind", "scale", "channels"),
    [("s16le", "<i2", 2**15, 1), ("f32le", "<f4", 1, 2), ("s32le", "<i4", 2**31, 1)],
)
def test_raw_samples_are_heard_as_the_file_is(
    prism: Prism,
    site: Path,
    three: np.ndarray,
    heard: subprocess.CompletedProcess[str],
    form: str,
    kind: str,
    scale: int,
    channels: int,
) -> None:
    samples = np.repeat((three * scale).astype(kind)[:, None], channels, axis=1)
    done = prism.process(
        *("listen", "-", "-a", site, "--window", 0.5, "--json"),
        *("--rate", RATE, "--format", form, "--channels", channels),
        stdin=samples.tobytes() + b"\x00",  # half a sample at the end is no reason to fail
    )
    assert done.returncode == 0, done.stderr
    for kind_of_line in ("begin", "end"):
        mine, theirs = lines(done, kind_of_line), lines(heard, kind_of_line)
        assert [event["label"] for event in mine] == [event["label"] for event in theirs]
        assert [event["start"] for event in mine] == [event["start"] for event in theirs]


def test_lines_for_people(prism: Prism, site: Path, three: np.ndarray, tmp_path: Path) -> None:
    file = write(tmp_path / "three.wav", three)
    done = prism("listen", file, "-a", site, "--window", 0.5, "--hop", 0.125, "--confirm", 3)
    assert done.returncode == 0
    assert "window 0.5 s, hop 0.125 s, confirm 3" in done.stdout
    assert done.stdout.count("tone 12  ") == 1
    assert "x real time" in done.stdout
    # The clips of the calibration were 1.2 s long, and so is the window unless it is given.
    assert "window 1.25 s" in prism("listen", file, "-a", site).stdout


def test_warmup_switches_over_by_itself(prism: Prism, tmp_path: Path) -> None:
    folder = recordings(tmp_path / "in", each=12, seconds=0.5)
    order = np.random.default_rng(0).permutation(sorted(folder.iterdir()))
    import soundfile

    sound = np.concatenate([soundfile.read(path)[0] for path in order])
    file, saved = write(tmp_path / "stream.wav", sound), tmp_path / "site.safetensors"
    call = (
        "listen",
        file,
        "-l",
        LABELS,
        *BANDS,
        "--warmup",
        60,
        "--json",
        "--every",
        "--preset",
        "paper",
    )
    done = prism(*call, "--save-adapter", saved)
    assert done.returncode == 0
    (switch,) = lines(done, "switch")
    assert switch["windows"] == 60
    kinds = [json.loads(line)["type"] for line in done.stdout.splitlines()]
    assert kinds[: kinds.index("switch")].count("window") == 60
    adapter = Adapter.load(saved)
    assert adapter.facts.N == 60
    assert adapter.facts.place == "stream.wav"
    # What it says after the switch is what the saved adapter says from the beginning.
    again = prism("listen", file, "-a", saved, "--window", 0.5, "--json", "--every")
    assert lines(again, "window")[60:] == lines(done, "window")[60:]
    assert lines(again, "window")[0]["score"] != lines(done, "window")[0]["score"]


def test_drift_is_noticed(prism: Prism, site: Path, tmp_path: Path) -> None:
    usual = [tone((2, 7, 12)[i % 3], 0.5, i) for i in range(150)]
    hiss = 0.3 * np.random.default_rng(0).standard_normal(120 * RATE)
    hiss[1:] -= 0.9 * hiss[:-1]
    call = ("-a", site, "--window", 0.5, "--hop", 0.5, "--json")
    file = write(tmp_path / "moved.wav", np.concatenate([*usual, hiss]))
    notices = lines(prism("listen", file, *call), "drift")
    assert [notice["away"] for notice in notices] == [True]
    assert notices[0]["at"] > 75
    file = write(tmp_path / "same.wav", np.concatenate([*usual, *usual]))
    assert lines(prism("listen", file, *call), "drift") == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopping_prints_the_summary(
    prism: Prism, site: Path, tmp_path: Path, number: int, code: int
) -> None:
    file = write(tmp_path / "long.wav", tone(2, 60.0, 0))
    call = ("listen", file, "-a", site, "--json")
    done = prism.interrupted(tmp_path / "mark", number, *call, pause=0.05)
    assert done.returncode == code
    (summary,) = lines(done, "summary")
    assert summary["audio_seconds"] < 60
    assert "stopped" in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopping_in_the_middle_of_an_event_closes_it(
    prism: Prism, site: Path, tmp_path: Path, number: int, code: int
) -> None:
    # An event stands out from what was ordinary before it: a tone after another one.
    sound = np.concatenate([tone(7, 40.0, 1), tone(2, 5.0, 0)])
    process = prism.start(
        "listen", "-", "-a", site, "--json", "--rate", RATE, stdin=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write((sound * 2**15).astype("<i2").tobytes())
    process.stdin.flush()  # and it waits for more
    told = []
    while not told or told[-1]["type"] != "begin":
        told.append(json.loads(process.stdout.readline()))
    time.sleep(1)  # now it has read all that came
    process.send_signal(number)
    stopped = time.monotonic()
    # Its standard input is still open. What came with the last line lies in the buffer of this pipe.
    rest = process.stdout.read().decode()
    assert time.monotonic() - stopped < 8, "it waits for sound that does not come"
    done = prism.finish(process)
    assert done.returncode == code
    done.stdout = rest
    (end,) = lines(done, "end")
    (summary,) = lines(done, "summary")
    assert end["label"] == told[-1]["label"] == "tone 2"
    assert end["end"] <= summary["audio_seconds"] <= 45
    assert summary["events"] == {"tone 2": 1}


def test_damaged_recording_ends_with_what_was_heard(
    prism: Prism, site: Path, tmp_path: Path
) -> None:
    sound = tone(2, 30.0, 0)
    sound[25 * RATE] = np.nan
    import soundfile

    soundfile.write(tmp_path / "bad.wav", sound, RATE, subtype="FLOAT")
    done = prism("listen", tmp_path / "bad.wav", "-a", site, "--json")
    assert done.returncode == 1
    assert "no number" in done.stderr
    (summary,) = lines(done, "summary")
    assert summary["events"] == {"tone 2": 1}
    noise = np.array([0.1, np.nan], "<f4").tobytes()
    done = prism.process(
        "listen", "-", "-a", site, "--rate", RATE, "--format", "f32le", stdin=noise
    )
    assert done.returncode == 1
    assert "--format" in done.stderr


def test_a_recording_from_the_network(
    prism: Prism,
    site: Path,
    three: np.ndarray,
    heard: subprocess.CompletedProcess[str],
    tmp_path: Path,
) -> None:
    pytest.importorskip("av")
    write(tmp_path / "three.wav", three)
    handler = partial(QuietHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://user:secret@127.0.0.1:{server.server_port}/three.wav"
        done = prism("listen", url, "-a", site, "--window", 0.5, "--json")
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert "secret" not in done.stdout + done.stderr
    what = ("label", "start", "end", "score")
    mine, theirs = (
        [[line[key] for key in what] for line in lines(run, "begin")] for run in (done, heard)
    )
    assert mine == theirs


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


def test_wrong_usage(refused: Callable[..., str], site: Path, sounds: Path, tmp_path: Path) -> None:
    file = sounds / "02-00.wav"
    for words, arguments in {
        "--rate 16000": ("-", "-a", site),
        "not the address of a stream": ("ftp://127.0.0.1/x.wav", "-a", site),
        "no such recording": (tmp_path / "absent.wav", "-a", site),
        "one of them is needed": (file,),
        "at least 0.5 s": (file, "-a", site, "--window", 0.1),
        "hop is 0": (file, "-a", site, "--hop", 0),
        "give both": (file, "-a", site, "--save-adapter", tmp_path / "x.safetensors"),
        "another space": (file, "-a", site, "--encoder", "bands-other"),
    }.items():
        assert words in refused("listen", *arguments), words
    assert left_over(tmp_path) == []


def test_microphone(prism: Prism, site: Path, tmp_path: Path) -> None:
    """With a sounddevice that plays a tone; and what is said where there is none."""
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "sounddevice.py").write_text(
        "import numpy as np\n"
        "class PortAudioError(Exception): pass\n"
        "def query_devices(device, kind):\n"
        "    if device == 'broken': raise ValueError('No input device matching')\n"
        "    return {'default_samplerate': 8000.0}\n"
        "class InputStream:\n"
        "    def __init__(self, **options): self.callback = options['callback']\n"
        "    def __enter__(self):\n"
        "        times = np.arange(8000 * 3) / 8000\n"
        "        sound = 0.3 * np.sin(2 * np.pi * 625 * times).astype('f')[:, None]\n"
        "        for part in np.array_split(sound, 30): self.callback(part, len(part), None, None)\n"
        "        return self\n"
        "    def __exit__(self, *error): pass\n"
    )
    search = f"{fake}:{prism.environment['PYTHONPATH']}"
    with_fake = Prism({**prism.environment, "PYTHONPATH": search})
    process = with_fake.start("listen", "-a", site, "--window", 0.5, "--json", "--every")
    assert process.stdout is not None
    while b'"type": "window"' not in (line := process.stdout.readline()):
        assert line
    assert json.loads(line)["label"] == "tone 2"
    process.send_signal(signal.SIGINT)
    done = with_fake.finish(process)
    assert (done.returncode, len(lines(done, "summary"))) == (130, 1)
    broken = with_fake.process("listen", "-a", site, "--device", "broken")
    assert (broken.returncode, "python -m sounddevice" in broken.stderr) == (2, True)
    (fake / "sounddevice.py").write_text("raise ImportError('none')\n")
    absent = with_fake.process("listen", "-a", site)
    assert (absent.returncode, "prism-audio[mic]" in absent.stderr) == (2, True)
    (fake / "sounddevice.py").write_text("raise OSError('PortAudio library not found')\n")
    lacking = with_fake.process("listen", "-a", site)
    assert (lacking.returncode, "PortAudio" in lacking.stderr) == (2, True)
