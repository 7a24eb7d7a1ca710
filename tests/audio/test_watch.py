"""A folder being written to: files come once they have stopped growing."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from prism_audio.audio.watch import finished_files
from prism_audio.datasets.folder import audio_files


def touch(path: Path, size: int, age: float = 0.0) -> Path:
    path.write_bytes(bytes(size))
    os.utime(path, (time.time() - age,) * 2)
    return path


class Writing(threading.Thread):
    """A recorder that writes for a while into a file."""

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__(daemon=True)
        self.path, self.seconds, self.ended = path, seconds, 0.0
        self.start()

    def run(self) -> None:
        end = time.monotonic() + self.seconds
        with self.path.open("wb", buffering=0) as file:
            while time.monotonic() < end:
                file.write(bytes(100))
                time.sleep(0.02)
        self.ended = time.monotonic()


def test_old_files_come_first_and_growing_ones_when_they_are_finished(tmp_path: Path) -> None:
    stop = threading.Event()
    newer, older = touch(tmp_path / "a.wav", 9, age=100), touch(tmp_path / "b.wav", 9, age=200)
    touch(tmp_path / "empty.wav", 0, age=100)
    touch(tmp_path / "notes.txt", 9, age=100)
    recorder = Writing(tmp_path / "c.wav", seconds=1.5)
    files = finished_files(lambda: audio_files(tmp_path), settle=0.5, poll=0.05, stop=stop)
    assert [next(files), next(files)] == [older, newer]
    assert next(files) == recorder.path
    assert recorder.ended
    assert time.monotonic() - recorder.ended >= 0.4
    assert recorder.path.stat().st_size > 1000
    touch(tmp_path / "d.wav", 9, age=100)
    assert next(files) == tmp_path / "d.wav"
    threading.Timer(0.3, stop.set).start()
    assert list(files) == []


def test_a_file_that_is_written_again_comes_again(tmp_path: Path) -> None:
    stop = threading.Event()
    path = touch(tmp_path / "a.wav", 9, age=100)
    looks: list[list[Path]] = []

    def listed() -> list[Path]:
        looks.append(audio_files(tmp_path))
        if len(looks) == 3:
            path.unlink()
        if len(looks) == 6:
            touch(path, 10, age=100)
        if len(looks) == 10:
            stop.set()
        return [each for each in looks[-1] if each.exists()]

    assert list(finished_files(listed, settle=0.2, poll=0.01, stop=stop)) == [path, path]
