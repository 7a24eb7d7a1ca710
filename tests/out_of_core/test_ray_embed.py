from __future__ import annotations

import builtins
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_audio.errors import PrismError
from prism_audio.out_of_core.cluster import connect, import_ray, start_private
from prism_audio.out_of_core.ray_embed import embed_on_ray
from prism_audio.store.store import Store
from prism_audio.store.update import Report, update_store
from tests.helpers.clusters import workers_at
from tests.helpers.tiny_datasets import RATE, OtherEncoder, TinyEncoder, recording, recordings

ROOT = Path(__file__).parents[2]
FILES, SHARD = 40, 8


def test_missing_ray_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    find = builtins.__import__

    def without_ray(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "ray":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return find(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_ray)
    with pytest.raises(PrismError, match=r"pip install 'prism-audio\[ray\]'"):
        connect()
    with pytest.raises(PrismError, match=r"pip install 'prism-audio\[ray\]'"):
        list(embed_on_ray([Path("a.wav")], TinyEncoder()))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two cores of this machine; the workers know the tiny encoder as an installed package."""
    try:
        ray = import_ray()
    except PrismError:
        pytest.skip("Ray is not installed")
    about = tmp_path_factory.mktemp("site") / "tiny-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[prism_audio.encoders]\ntiny = tests.helpers.tiny_datasets:TinyEncoder\n"
    )
    search = [str(ROOT), str(about.parent), os.environ.get("PYTHONPATH", "")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, search)))
        patch.setenv("TINY_PAUSE", "0.2")  # time to be killed in
        # The smallest that Ray accepts: what does not fit is written to the disk.
        start_private(num_cpus=2, object_store_memory=78_643_200, log_to_driver=False)
        yield ray
        ray.shutdown()


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings, one of which is none; not to be written to."""
    folder = tmp_path_factory.mktemp("sounds")
    recordings(folder, FILES)
    (folder / "a" / "0005x.wav").write_text("no sound")
    return folder


@pytest.fixture(scope="module")
def expected(sounds: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The store that threads of one process make."""
    out = tmp_path_factory.mktemp("local") / "out"
    update_store(sounds, out, TinyEncoder(), shard=SHARD)
    return content(out)


def content(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.iterdir() if path.name[0] != "."}


def by_ray(folder: Path, out: Path, **options: Any) -> Report:
    return update_store(folder, out, TinyEncoder(), embed=embed_on_ray, **options)


class Watch:
    """Counts what it is told."""

    def __init__(self) -> None:
        self.files, self.seconds = 0, 0.0

    def begin(self, files: int, size: int) -> None: ...

    def audio(self, seconds: float) -> None:
        self.seconds += seconds

    def file(self, size: int) -> None:
        self.files += 1


def test_same_bytes_as_one_process_and_nothing_twice(
    cluster: Any, sounds: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    watch = Watch()
    report = by_ray(sounds, tmp_path / "out", shard=SHARD, progress=watch)
    assert content(tmp_path / "out") == expected
    assert len(expected) > FILES / SHARD
    assert [failure.path.name for failure in report.failures] == ["0005x.wav"]
    assert (report.embedded, watch.files) == (FILES, FILES + 1)
    assert watch.seconds == pytest.approx(report.seconds)

    again = by_ray(sounds, tmp_path / "out", shard=SHARD)
    assert (again.embedded, again.skipped, len(again.failures)) == (0, FILES, 1)
    assert content(tmp_path / "out") == expected


@pytest.mark.slow
def test_what_an_unfinished_run_left_is_completed(
    cluster: Any, sounds: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    class Cut(Watch):
        def file(self, size: int) -> None:
            super().file(size)
            if self.files == 2 * SHARD + 1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        by_ray(sounds, tmp_path / "out", shard=SHARD, progress=Cut())
    assert len(list((tmp_path / "out").glob("shard-*"))) == 2
    by_ray(sounds, tmp_path / "out", shard=SHARD)
    assert content(tmp_path / "out") == expected


def test_rows_of_windows(cluster: Any, sounds: Path, tmp_path: Path) -> None:
    by_ray(sounds, tmp_path / "ray", row="window", shard=FILES + 1)
    update_store(sounds, tmp_path / "local", TinyEncoder(), row="window", shard=FILES + 1)
    assert content(tmp_path / "ray") == content(tmp_path / "local")


def test_groups_end_at_their_seconds_too(cluster: Any, sounds: Path) -> None:
    files = sorted(sounds.rglob("*.wav"))
    results = list(embed_on_ray(files, TinyEncoder(), group_files=15, group_seconds=12))
    assert [result.path for result in results] == files
    lengths: dict[int, list[float]] = {}
    for result in results:
        lengths.setdefault(result.group, []).append(getattr(result, "seconds", 0.0))
    assert list(lengths) == sorted(lengths)
    assert all(sum(group[:-1]) < 12 for group in lengths.values())
    assert len(lengths) > len(files) / 15 + 1


def test_a_short_recording_is_filled_up_as_the_encoder_wants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prism_audio.encoders.embedding.engine import embed_files
    from prism_audio.out_of_core.ray_embed import _embed

    class Padding(TinyEncoder):
        def pad(self, sound: np.ndarray) -> np.ndarray:
            return np.resize(sound, RATE)

    monkeypatch.setattr("prism_audio.out_of_core.ray_embed.load_encoder", lambda name: Padding())
    path = recording(tmp_path / "short.wav", 0.3)
    (wanted,) = embed_files([path], Padding())
    (plain,) = embed_files([path], TinyEncoder())
    (result,) = _embed("padding", Padding.fingerprint, False, 1800.0, [path])
    np.testing.assert_array_equal(result.features, wanted.features)
    assert not np.array_equal(result.features, plain.features)


def test_workers_with_another_encoder_are_refused(
    cluster: Any, sounds: Path, tmp_path: Path
) -> None:
    with pytest.raises(PrismError, match="not the one of this machine"):
        update_store(sounds, tmp_path / "out", OtherEncoder(), embed=embed_on_ray)
    assert len(Store.open(tmp_path / "out")) == 0


@pytest.mark.slow
def test_more_sound_than_the_object_store_holds(cluster: Any, tmp_path: Path) -> None:
    """100 MB of samples in 75 MB."""
    for number in range(6):
        recording(tmp_path / "long" / f"{number}.wav", 260.0, number)
    report = by_ray(tmp_path / "long", tmp_path / "out", shard=3)
    assert (report.embedded, report.failures) == (6, [])
    update_store(tmp_path / "long", tmp_path / "local", TinyEncoder(), shard=3)
    assert content(tmp_path / "out") == content(tmp_path / "local")


@pytest.mark.slow
@pytest.mark.parametrize("latest", [0.02, 0.5, 1.5])
def test_a_killed_worker_changes_nothing(
    cluster: Any,
    sounds: Path,
    expected: dict[str, bytes],
    tmp_path: Path,
    latest: float,
) -> None:
    killed: list[int] = []
    done = threading.Event()

    def kill() -> None:
        while not workers_at("_embed") and not done.is_set():
            pass
        time.sleep(random.uniform(0, latest))
        while not killed and not done.is_set():
            for victim in workers_at("_embed")[:1]:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        report = by_ray(sounds, tmp_path / "out", shard=SHARD)
    finally:
        done.set()
        killer.join()
    assert killed
    assert report.embedded == FILES
    assert content(tmp_path / "out") == expected
