from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from prism_audio.audio.windows import encoder_windows
from prism_audio.encoders import assets, embed_audio, embed_timeline
from prism_audio.encoders.concepts.encoder import ConceptsEncoder, concepts, space
from prism_audio.errors import AssetError, InputError
from prism_audio.io.runtime import import_onnxruntime
from tests.helpers.encoder_contract import CHECKS, sounds


@pytest.fixture(scope="module")
def encoder() -> ConceptsEncoder:
    try:
        return ConceptsEncoder()
    except AssetError as error:
        pytest.skip(f"the model files cannot be had here: {error}")


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """64 files of several lengths, rates and widths: noises, tones, silence."""
    folder = tmp_path_factory.mktemp("clips")
    rng = np.random.default_rng(0)
    paths = []
    for index in range(64):
        rate = (8_000, 16_000, 22_050, 44_100)[index % 4]
        n = int(rate * rng.uniform(0.1, 2.5))
        tone = np.sin(2 * np.pi * rng.uniform(60, 3000) * np.arange(n) / rate)
        sound = 0.2 * tone + 0.1 * rng.uniform() * rng.standard_normal(n)
        sound = np.stack([sound, np.roll(sound, 7)], axis=1) if index % 3 == 0 else sound
        paths.append(folder / f"{index:02d}.wav")
        soundfile.write(paths[-1], sound * (index != 5), rate)
    return paths


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check, encoder: ConceptsEncoder) -> None:
    check(encoder)


def test_scores_do_not_depend_on_the_batch_by_a_bit(encoder: ConceptsEncoder) -> None:
    windows = np.concatenate([sounds(encoder)] * 6)
    alone = np.concatenate([encoder.embed_windows(window[None]) for window in windows])
    np.testing.assert_array_equal(encoder.embed_windows(windows), alone)
    np.testing.assert_array_equal(
        ConceptsEncoder(threads=1).embed_windows(windows), encoder.embed_windows(windows)
    )


@pytest.mark.parametrize("seconds", [1.2, 5.0, 9.0, 21.0])
def test_windows_in_a_row_score_as_they_do_alone(encoder: ConceptsEncoder, seconds: float) -> None:
    """Neighbours share spectra; silence, a cut and a window out of its place must not be shared."""
    rng = np.random.default_rng(1)
    sound = 0.1 * rng.standard_normal(round(seconds * encoder.rate))
    sound[round(0.3 * len(sound)) : round(0.6 * len(sound))] = 0
    windows = np.stack([w.samples for w in encoder_windows(encoder, (sound, encoder.rate))])
    shuffled = windows[rng.permutation(len(windows))]
    for batch in (windows, windows[::-1], shuffled, np.roll(windows, 5, axis=1), windows[1:]):
        alone = np.concatenate([encoder.embed_windows(window[None]) for window in batch])
        np.testing.assert_array_equal(encoder.embed_windows(batch), alone)


def test_same_file_twice_alone_in_64_and_in_another_process(
    encoder: ConceptsEncoder, clips: list[Path], tmp_path: Path
) -> None:
    together = embed_audio(encoder, clips)
    np.testing.assert_allclose(embed_audio(encoder, clips), together, rtol=0, atol=1e-6)
    for index in (0, 5, 17, 63):
        alone = embed_audio(encoder, [clips[index]])[0]
        np.testing.assert_allclose(alone, together[index], rtol=0, atol=1e-6)
    code = (
        "import sys, numpy as np; from prism_audio.encoders import embed_audio, load_encoder; "
        "np.save(sys.argv[1], embed_audio(load_encoder(), sys.argv[2:]))"
    )
    out = tmp_path / "rows.npy"
    done = subprocess.run(
        [sys.executable, "-c", code, out, *clips[:8]], check=True, capture_output=True, text=True
    )
    np.testing.assert_allclose(np.load(out), together[:8], rtol=0, atol=1e-6)
    assert done.stderr == ""


def test_agrees_with_the_formula_written_out(encoder: ConceptsEncoder, clips: list[Path]) -> None:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(assets.resolve(assets.YAMNET)), num_threads=2)
    interpreter.allocate_tensors()
    given = interpreter.get_input_details()[0]["index"]
    wanted = interpreter.get_output_details()[0]["index"]
    rng = np.random.default_rng(2)
    sound = (0.1 * rng.standard_normal(40_000)).astype(np.float32)
    total = np.zeros(521)
    for start in (0, 7680, 15360, 23040, 30720):
        part = sound[start : start + 15_600]
        interpreter.set_tensor(given, np.concatenate([part, np.zeros(15_600 - len(part), "f4")]))
        interpreter.invoke()
        total += len(part) * interpreter.get_tensor(wanted)[0]
    # Windows at 0, 0.48, 0.96, 1.44 and 1.92 s; the last holds 9280 samples of sound.
    mean = total / (4 * 15_600 + 9_280)
    e = np.log(mean + 1e-3) - np.log(space().prior + 1e-3)
    expected = e / np.sqrt((e**2).sum())
    np.testing.assert_allclose(embed_audio(encoder, [(sound, 16_000)])[0], expected, atol=1e-6)


def test_texts_agree_with_the_formula_written_out(encoder: ConceptsEncoder) -> None:
    from tokenizers import Tokenizer

    session = import_onnxruntime().InferenceSession(assets.resolve(assets.MINILM))
    tokenizer = Tokenizer.from_file(str(assets.resolve(assets.TOKENIZER)))
    tokenizer.no_padding()

    def vector(text: str) -> np.ndarray:
        ids = np.array([tokenizer.encode(text).ids])
        feed = {"input_ids": ids, "attention_mask": ids * 0 + 1, "token_type_ids": ids * 0}
        mean = session.run(None, feed)[0][0].mean(axis=0)
        return mean / np.linalg.norm(mean)

    V = space().vectors
    for index in (0, 73, 288, 520):
        concept = concepts()[index]
        own = vector(f"the sound of {concept.name.lower()}: {concept.description}")
        assert own @ V[index] / np.linalg.norm(V[index]) > 0.999
    q, C = vector("a steam train") - V.mean(axis=0), V - V.mean(axis=0)
    cosine = C @ q / np.linalg.norm(C, axis=1) / np.linalg.norm(q)
    p = np.exp(cosine / 0.04) / np.exp(cosine / 0.04).sum()
    np.testing.assert_allclose(
        encoder.embed_text(["a steam train"])[0], p / np.linalg.norm(p), atol=1e-5
    )


def test_concept_names_find_their_concepts(encoder: ConceptsEncoder) -> None:
    names = encoder.names[::10]
    rows = encoder.embed_text([name.lower() for name in names])
    ranks = [
        (row > row[index * 10]).sum() for index, row in zip(range(len(names)), rows, strict=True)
    ]
    assert np.mean(np.array(ranks) < 5) > 0.9


def test_concepts_are_the_521_with_descriptions_of_their_own(encoder: ConceptsEncoder) -> None:
    import zipfile

    with zipfile.ZipFile(assets.resolve(assets.YAMNET)) as inside:  # the model carries its labels
        labels = inside.read("yamnet_label_list.txt").decode().splitlines()
    assert list(encoder.names) == labels
    descriptions = [concept.description for concept in concepts()]
    assert len(set(descriptions)) == 521
    assert all(5 < len(line) < 120 for line in descriptions)


def test_timeline_says_when(encoder: ConceptsEncoder) -> None:
    rng = np.random.default_rng(3)
    noise = (0.3 * rng.standard_normal(48_000)).astype(np.float32)
    silence = np.zeros(48_000, np.float32)
    line = embed_timeline(encoder, (np.concatenate([silence, noise]), 16_000))
    np.testing.assert_allclose(np.diff(line.start), 0.48)
    assert line.end[-1] == pytest.approx(6.0)
    silent = line.embeddings[:, encoder.names.index("Silence")]
    assert silent[line.end <= 3.0].min() > silent[line.start >= 3.0].max()


def test_can_be_pickled(encoder: ConceptsEncoder) -> None:
    windows = np.concatenate([sounds(encoder)] * 4)
    expected = encoder.embed_windows(windows)
    again = pickle.loads(pickle.dumps(encoder))
    assert again.fingerprint == encoder.fingerprint
    np.testing.assert_array_equal(again.embed_windows(windows), expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_survives_a_fork(encoder: ConceptsEncoder) -> None:
    windows = np.concatenate([sounds(encoder)] * 4)
    expected = encoder.embed_windows(windows)
    child = os.fork()
    if child == 0:
        same = np.array_equal(encoder.embed_windows(windows), expected)
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_refuses_weights_and_texts_it_cannot_use(encoder: ConceptsEncoder) -> None:
    features = np.zeros((2, 521), np.float32)
    for weights in ([1.0], [0.0, 0.0], [1.0, -1.0], [np.nan, 1.0]):
        with pytest.raises(InputError, match="weight"):
            encoder.pool(features, np.array(weights, np.float32))
    with pytest.raises(InputError, match="tokens"):
        encoder.embed_text(["word " * 300])


@pytest.mark.shared
@pytest.mark.slow
def test_zero_shot_on_esc50_is_useful(encoder: ConceptsEncoder) -> None:
    import csv

    from prism_audio.encoders.prompts import PromptSet, clean_label, prototypes

    shared = os.environ.get("PRISM_SHARED") or Path(__file__).parents[4] / "shared"
    folder = Path(shared) / "data" / "esc50"
    if not (folder / "esc50.csv").is_file():
        pytest.skip("the recordings are not here")
    with (folder / "esc50.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    labels = sorted({row["category"] for row in rows})
    E = embed_audio(encoder, [folder / "audio" / f"{Path(r['filename']).stem}.ogg" for r in rows])
    T = prototypes(encoder, [clean_label(label) for label in labels], PromptSet.load("sentences"))
    truth = np.array([labels.index(row["category"]) for row in rows])
    assert ((E @ T.T).argmax(axis=1) == truth).mean() >= 0.68
