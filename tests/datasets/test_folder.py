from __future__ import annotations

import os
import socket
from contextlib import closing
from pathlib import Path

import pytest

from prism_audio.datasets.folder import audio_files, class_folders
from prism_audio.errors import InputError


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def names(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in audio_files(folder)]


def test_finds_recordings_at_any_depth_in_order(tmp_path: Path) -> None:
    for name in ("b.wav", "a/z.FLAC", "a/b/c.ogg", "a.mp3", "notes.txt", "wav", "a/.hidden.wav"):
        touch(tmp_path / name)
    touch(tmp_path / ".trash" / "old.wav")
    assert names(tmp_path) == ["a.mp3", "a/b/c.ogg", "a/z.FLAC", "b.wav"]


def test_a_folder_named_like_a_recording_is_a_folder(tmp_path: Path) -> None:
    touch(tmp_path / "take.wav" / "1.wav")
    assert names(tmp_path) == ["take.wav/1.wav"]


def test_links_that_lead_back_end(tmp_path: Path) -> None:
    touch(tmp_path / "a" / "1.wav", tmp_path / "b" / "2.wav")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "across").symlink_to(tmp_path / "b")
    (tmp_path / "b" / "across").symlink_to(tmp_path / "a")
    assert names(tmp_path) == ["a/1.wav", "b/2.wav"]


def test_linked_folder_outside_is_followed_once(tmp_path: Path) -> None:
    touch(tmp_path / "outside" / "deep" / "1.wav")
    inside = tmp_path / "inside"
    inside.mkdir()
    for name in ("first", "second"):
        (inside / name).symlink_to(tmp_path / "outside")
    (found,) = names(inside)
    assert found.endswith("/deep/1.wav")
    assert names(inside) == [found]


def test_linked_files_count_and_broken_links_are_left_to_the_reader(tmp_path: Path) -> None:
    touch(tmp_path / "1.wav")
    (tmp_path / "2.wav").symlink_to(tmp_path / "1.wav")
    (tmp_path / "3.wav").symlink_to(tmp_path / "nothing.wav")
    assert names(tmp_path) == ["1.wav", "2.wav", "3.wav"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_a_recording(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.wav")
    assert names(tmp_path) == []


def test_links_to_themselves_and_sockets(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "loop.wav").symlink_to(tmp_path / "loop.wav")
    (tmp_path / "a.wav").symlink_to(tmp_path / "b.wav")
    (tmp_path / "b.wav").symlink_to(tmp_path / "a.wav")
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(os.path.relpath(tmp_path / "socket.wav"))
        assert names(tmp_path) == ["a.wav", "b.wav", "loop.wav"]


def test_unreadable_folder_is_told_and_the_rest_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(tmp_path / "closed" / "1.wav", tmp_path / "open" / "2.wav")
    scan = os.scandir

    def scandir(path: Path) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    told: list[Path] = []
    found = audio_files(tmp_path, lambda path, error: told.append(path))
    assert found == [tmp_path / "open" / "2.wav"]
    assert told == [tmp_path / "closed"]
    with pytest.raises(InputError, match=r"closed: Permission denied"):
        audio_files(tmp_path)


def test_no_folder_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent"):
        audio_files(tmp_path / "absent")


def test_sub_folders_are_classes(tmp_path: Path) -> None:
    touch(tmp_path / "siren" / "1.wav", tmp_path / "dog" / "puppy" / "2.wav")
    touch(tmp_path / "dog" / "1.wav")
    (tmp_path / "empty").mkdir()
    found = class_folders(tmp_path)
    assert found.classes == ["dog", "siren"]
    assert [found.classes[label] for label in found.labels] == ["dog", "dog", "siren"]
    assert [file.name for file in found.files] == ["1.wav", "2.wav", "1.wav"]


def test_recording_without_class_is_refused(tmp_path: Path) -> None:
    touch(tmp_path / "dog" / "1.wav", tmp_path / "stray.wav")
    with pytest.raises(InputError, match=r"stray\.wav .*no class"):
        class_folders(tmp_path)


def test_classes_without_recordings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no recording below .*\.wav"):
        class_folders(tmp_path)
