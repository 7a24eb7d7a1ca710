from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from prism_audio import Adapter
from prism_audio.encoders.prompts import PromptSet, prototypes, read_labels
from prism_audio.store.store import Store
from tests.cli.conftest import Prism, left_over
from tests.helpers.bands import LABELS, BandEncoder, tone, write

BANDS = ("--encoder", "bands")


@pytest.fixture(scope="module")
def arrays(
    prism: Prism, sounds: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, np.ndarray, np.ndarray]:
    """A store of the recordings, its rows, and the text vectors of the labels."""
    store = tmp_path_factory.mktemp("arrays") / "store"
    assert prism("embed", sounds, "-o", store, *BANDS).returncode == 0
    T = prototypes(BandEncoder(), read_labels(LABELS), PromptSet.load("sentences"))
    return store, Store.open(store).embeddings(), T


def test_card_of_a_folder(prism: Prism, sounds: Path, tmp_path: Path) -> None:
    out = tmp_path / "site.safetensors"
    # So clean a batch needs no correction, and the guard would say so.
    done = prism("calibrate", sounds, "-l", LABELS, *BANDS, "-o", out, "--preset", "paper")
    assert done.returncode == 0
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    adapter = Adapter.load(out)
    assert adapter.labels == ("tone 2", "tone 7", "tone 12")
    assert (adapter.encoder, adapter.encoder_fingerprint) == ("bands", "bands-fingerprint-1")
    assert adapter.prompts.startswith("sentences")
    facts = adapter.facts
    assert (facts.place, facts.N, facts.row, facts.seconds) == ("street", 24, "clip", 1.2)
    classes = facts.classes
    assert classes.clips_before == classes.clips_after == (8, 8, 8)
    for column in (classes.confidence_before, classes.confidence_after, classes.trapped):
        assert len(column) == 3
    assert len(classes.rank) == 3
    assert all(0 < fraction < 1 for fraction in classes.removed)
    assert left_over(tmp_path) == ["site.safetensors"]


def write_all(
    folder: Path, name: str, what: str, rows: np.ndarray, labels: list[str]
) -> list[Path]:
    """The same matrix in every form that can be read."""
    forms = [folder / f"{name}{suffix}" for suffix in (".npy", ".npz", ".safetensors")]
    np.save(forms[0], rows)
    np.savez(forms[1], **{what: rows, "labels": np.array(labels), "other": rows[:2]})
    save_file({what: rows}, forms[2], {"labels": json.dumps(labels)})
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        pass
    else:
        table = pyarrow.table({what: list(rows), "label": labels})
        parquet.write_table(table, folder / f"{name}.parquet")
        forms.append(folder / f"{name}.parquet")
        columns = {f"x{i}": rows[:, i] for i in range(rows.shape[1])}
        parquet.write_table(pyarrow.table(columns), folder / f"{name}-wide.parquet")
        forms.append(folder / f"{name}-wide.parquet")
    try:
        import torch
    except ImportError:
        pass
    else:
        torch.save(torch.from_numpy(rows), folder / f"{name}.pt")
        forms.append(folder / f"{name}.pt")
    return forms


def test_every_kind_of_array_gives_the_same_adapter(
    prism: Prism, arrays: tuple[Path, np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    store, E, T = arrays
    rows = write_all(tmp_path, "rows", "embeddings", E, [f"clip {i}" for i in range(len(E))])
    text = write_all(tmp_path, "text", "prototypes", T, read_labels(LABELS))
    wanted = tmp_path / "store.safetensors"
    done = prism("calibrate", store, "-l", LABELS, "-o", wanted)  # the store names its encoder
    assert done.returncode == 0
    assert Adapter.load(wanted).encoder == "bands"
    for number, (embeddings, prototype) in enumerate(zip(rows, text, strict=True)):
        out = tmp_path / f"{number}.safetensors"
        done = prism("calibrate", embeddings, "--prototypes", prototype, "-l", LABELS, "-o", out)
        assert done.returncode == 0, done.stderr
        np.testing.assert_array_equal(Adapter.load(out).W, Adapter.load(wanted).W)
    named = tmp_path / "named.safetensors"
    done = prism("calibrate", rows[0], "--prototypes", text[1], "-o", named, "--place", "roof")
    assert Adapter.load(named).labels == ("tone 2", "tone 7", "tone 12")
    assert Adapter.load(named).facts.place == "roof"


class Danger:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (exec, ("import pathlib; pathlib.Path('danger').touch()",))


def test_objects_in_files_are_never_run(
    refused: Callable[..., str],
    arrays: tuple[Path, np.ndarray, np.ndarray],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    T = arrays[2]
    np.save("text.npy", T)
    np.save("bad.npy", np.array([Danger()], dtype=object), allow_pickle=True)
    np.savez("bad.npz", embeddings=np.array([Danger()], dtype=object), allow_pickle=True)
    bad = ["bad.npy", "bad.npz"]
    try:
        import torch
    except ImportError:
        pass
    else:
        torch.save({"embeddings": Danger()}, "bad.pt")
        bad.append("bad.pt")
    for name in bad:
        message = refused(
            "calibrate", name, "--prototypes", "text.npy", "-l", LABELS, "-o", "x.safetensors"
        )
        assert name in message
    assert not Path("danger").exists()
    assert not Path("x.safetensors").exists()


def test_wrong_usage(
    refused: Callable[..., str],
    sounds: Path,
    arrays: tuple[Path, np.ndarray, np.ndarray],
    tmp_path: Path,
) -> None:
    store, E, T = arrays
    out = ("-o", tmp_path / "x.safetensors")
    np.save(tmp_path / "rows.npy", E)
    np.save(tmp_path / "text.npy", T)
    np.save(tmp_path / "narrow.npy", T[:, :5])
    np.savez(tmp_path / "two.npz", a=E, b=E)
    bad = E.copy()
    bad[3, 2] = np.nan
    np.save(tmp_path / "nan.npy", bad)
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY nothing")
    rows, text = tmp_path / "rows.npy", ("--prototypes", tmp_path / "text.npy", "-l", LABELS)
    for words, arguments in {
        "one of them is needed": (sounds, *BANDS, *out),
        "names no classes": (rows, "--prototypes", tmp_path / "text.npy", *out),
        "2 labels for the 3 prototypes": (rows, *text[:2], "-l", "a, b", *out),
        "5 dimensions, wanted 16": (
            rows,
            "--prototypes",
            tmp_path / "narrow.npy",
            "-l",
            LABELS,
            *out,
        ),
        "call the matrix": (tmp_path / "two.npz", *text, *out),
        "NaN or infinity in 1 row: 3": (tmp_path / "nan.npy", *text, *out),
        "cannot read": (tmp_path / "broken.npy", *text, *out),
        "comes alone": (rows, sounds, *text, *out),
        "end in .safetensors": (rows, *text, "-o", tmp_path / "x.onnx"),
        "another space": (store, "-l", LABELS, "--encoder", "bands-other", *out),
    }.items():
        assert words in refused("calibrate", *arguments), words
    assert not (tmp_path / "x.safetensors").exists()


def test_few_recordings_give_a_verdict_not_an_error(prism: Prism, tmp_path: Path) -> None:
    write(tmp_path / "in" / "02.wav", tone(2, 1.0, 0))
    out = tmp_path / "site.safetensors"
    done = prism("calibrate", tmp_path / "in", "-l", LABELS, *BANDS, "-o", out, "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told["verdict"] == "zero-shot"
    assert told["reasons"]
    adapter = Adapter.load(out)
    np.testing.assert_array_equal(adapter.W, np.eye(17, 16, dtype=adapter.W.dtype))


def test_windows_car_and_failures(prism: Prism, sounds: Path, tmp_path: Path) -> None:
    out = tmp_path / "site.safetensors"
    (tmp_path / "bad.wav").write_text("no sound")
    done = prism(
        *("calibrate", sounds, tmp_path / "bad.wav", "-l", LABELS, *BANDS, "-o", out, "--json"),
        *("--windows", "--car"),
    )
    assert done.returncode == 1
    assert "bad.wav" in done.stderr
    told = json.loads(done.stdout)
    assert (told["row"], told["N"], told["parameters"]["car"]) == ("window", 24 * 4, True)
    assert "CAR is on" in told["trap"] or "nothing was deflated" in told["trap"]


def test_full_disk(prism: Prism, sounds: Path, tmp_path: Path) -> None:
    out = tmp_path / "site.safetensors"
    done = prism.process("calibrate", sounds, "-l", LABELS, *BANDS, "-o", out, largest=300)
    assert done.returncode == 2
    assert f"cannot write {out}" in done.stderr
    assert left_over(tmp_path) == []


def test_a_store_in_chunks_gives_the_same_adapter(
    prism: Prism, sounds: Path, tmp_path: Path
) -> None:
    store, whole, parts = tmp_path / "store", tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    assert prism("embed", sounds, "-o", store, *BANDS, "--shard", 5).returncode == 0
    call = ("calibrate", store, "-l", LABELS, *BANDS, "--preset", "paper")
    assert prism(*call, "-o", whole).returncode == 0
    done = prism(*call, "-o", parts, "--chunk-rows", 7, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["verdict"] == "adapted"
    a, b = Adapter.load(whole), Adapter.load(parts)
    np.testing.assert_allclose(a.W, b.W, atol=1e-6)
    assert (a.encoder, a.encoder_fingerprint) == (b.encoder, b.encoder_fingerprint)
    assert a.facts.classes == b.facts.classes


def test_recordings_are_no_chunks(
    refused: Callable[..., str], sounds: Path, tmp_path: Path
) -> None:
    call = ("calibrate", sounds, "-l", LABELS, *BANDS, "-o", tmp_path / "a.safetensors")
    assert "embed them first" in refused(*call, "--chunk-rows", 10)


def write_sheet(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("file,start,end,label\n" + "".join(f"{f},,,{name}\n" for f, name in rows))
    return path


def test_labelled_clips_go_into_the_adapter_and_its_card(
    prism: Prism, sounds: Path, arrays: tuple[Path, np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    """From recordings by their names, from a store in memory and in chunks: the same adapter."""
    store = arrays[0]
    files = Store.open(store).paths
    guess = Adapter.zero_shot(arrays[2]).predict(arrays[1])
    names = read_labels(LABELS)
    lines = [(Path(f).name, names[c]) for f, c in zip(files, guess, strict=True)]
    sheet = write_sheet(
        tmp_path / "sheet.csv", [*lines[:9], (lines[9][0], "other"), (lines[10][0], "")]
    )
    made = []
    for number, options in enumerate(
        ((sounds, *BANDS), (store,), (store, "--chunk-rows", "7")),
    ):
        out = tmp_path / f"{number}.safetensors"
        call = ("calibrate", *options, "-l", LABELS, "--labelled", sheet, "-o", out)
        done = prism(*call)
        assert done.returncode == 0, done.stderr
        assert "9 labels of" in " ".join(done.stdout.split())
        made.append(Adapter.load(out))
    for adapter in made:
        assert adapter.facts.numbers["labels"] == 9
        # Three tones, each again and again: the guard uses neither clips nor labels, and says so.
        assert adapter.facts.labels == 0
        np.testing.assert_allclose(adapter.W, made[0].W, atol=1e-6)


def test_a_sheet_that_does_not_fit_is_refused_before_a_recording_is_heard(
    refused: Callable[..., str], sounds: Path, tmp_path: Path
) -> None:
    sheet = write_sheet(tmp_path / "sheet.csv", [("a.wav", "cow")])
    empty = write_sheet(tmp_path / "empty.csv", [("a.wav", "")])
    other = write_sheet(tmp_path / "other.csv", [("absent.wav", "tone 2")])
    call = (
        "calibrate",
        sounds,
        "-l",
        LABELS,
        *BANDS,
        "-o",
        tmp_path / "x.safetensors",
        "--labelled",
    )
    assert "'cow', which is not one of the labels" in refused(*call, sheet)
    assert "has no label yet" in refused(*call, empty)
    assert "absent.wav, which is not among the recordings" in refused(*call, other)
    assert "No such file" in refused(*call, tmp_path / "none.csv")
    assert "used by the preset 'default'" in refused(*call, other, "--preset", "paper")
    assert not (tmp_path / "x.safetensors").exists()
