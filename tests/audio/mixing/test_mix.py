"""Mixtures: the SNR asked is there, the story told is true, the same seed gives the same bytes."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from prism_audio.audio.decode import decode
from prism_audio.audio.mixing.draws import asked_snr, draws
from prism_audio.audio.mixing.excerpt import excerpt
from prism_audio.audio.mixing.loudness import level
from prism_audio.audio.mixing.mix import EventTime, Mix, MixedSound, load, overlay, save, scene
from prism_audio.errors import InputError
from tests.helpers.sounds import encoded, noise, tone

RATE = 16000


def sound(samples: np.ndarray, name: str = "a.wav") -> MixedSound:
    return MixedSound(samples.astype(np.float32), RATE, {"file": name})


# Silent at both ends, so that the fades of a scene leave it as it is.
DOG = sound(np.pad(tone(1.9, RATE, 700) * np.hanning(round(1.9 * RATE)), 800), "dog.wav")
STREET = sound(noise(30.0, RATE, 1, 0.02), "street.wav")


def parts_told(
    mix: Mix, foreground: MixedSound, background: MixedSound
) -> tuple[np.ndarray, np.ndarray]:
    """Foreground and background in the mixture, from the provenance alone."""
    told = json.loads(json.dumps(mix.provenance))
    start = round(told["foreground"]["begins_in_mix"] * RATE)
    count = round(told["foreground"]["seconds"] * RATE)
    event = np.zeros(len(mix.samples))
    event[start : start + count] = foreground.samples[:count]
    offset = round(told["background"]["excerpt_from"] * RATE)
    excerpt_used = background.samples[offset : offset + len(mix.samples)].astype(np.float64)
    gains = [10 ** (told[part]["gain_db"] / 20) for part in ("foreground", "background")]
    return event * gains[0], excerpt_used * gains[1]


@pytest.mark.parametrize("make", [overlay, scene])
@pytest.mark.parametrize("definition", ["rms", "lufs"])
@pytest.mark.parametrize("snr", [-6.0, 0.0, 15.0])
def test_the_snr_asked_is_in_the_mixture(make, definition, snr):
    mix = make(DOG, STREET, snr=snr, seed=3, definition=definition)
    event, background = parts_told(mix, DOG, STREET)
    np.testing.assert_allclose(mix.samples, event + background, atol=1e-6)
    start = round(mix.provenance["foreground"]["begins_in_mix"] * RATE)
    heard = event[start : start + len(DOG.samples)]
    measured = level(heard, RATE, definition) - level(background, RATE, definition)
    assert measured == pytest.approx(snr, abs=1e-3)
    assert mix.provenance["snr_db_measured"] == pytest.approx(snr, abs=1e-6)
    assert mix.provenance["snr_db_asked"] == snr


def test_overlay_keeps_length_and_level_of_the_clip():
    mix = overlay(DOG, STREET, snr=20, seed=0)
    assert len(mix.samples) == len(DOG.samples)
    assert mix.provenance["foreground"]["gain_db"] == 0
    assert mix.provenance["clip_safety_gain_db"] == 0


def test_scene_has_the_length_and_the_level_of_the_protocol():
    mix = scene(DOG, STREET, snr=0, seed=0)
    _, background = parts_told(mix, DOG, STREET)
    assert len(mix.samples) == 10 * RATE
    assert level(background, RATE, "lufs") == pytest.approx(-36, abs=0.01)


def test_an_event_begins_when_the_law_says():
    begins = [scene(DOG, STREET, snr=0, seed=s).provenance["foreground"] for s in range(40)]
    times = np.array([fact["begins_in_mix"] for fact in begins])
    expected = [EventTime().at(draws(s).time) for s in range(40)]
    np.testing.assert_allclose(times, expected, atol=1 / RATE)


def test_event_times_are_a_truncated_normal():
    law = stats.truncnorm(-2, 2, loc=3.0, scale=1.5)
    quantiles = np.linspace(0, 1, 101)
    np.testing.assert_allclose(
        [EventTime().at(u) for u in quantiles], law.ppf(quantiles), atol=1e-9
    )
    times = [EventTime().at(draws((7, index)).time) for index in range(2000)]
    assert stats.kstest(times, law.cdf).pvalue > 1e-3


def test_an_event_that_would_outlast_the_scene_begins_earlier():
    long = sound(noise(8.0, RATE, 5), "long.wav")
    for seed in range(10):
        fact = scene(long, STREET, snr=0, seed=seed).provenance["foreground"]
        assert fact["begins_in_mix"] <= 2.0
        assert fact["seconds"] == 8.0
    longer = sound(noise(12.0, RATE, 5), "longer.wav")
    fact = scene(longer, STREET, snr=0, seed=0).provenance["foreground"]
    assert (fact["begins_in_mix"], fact["seconds"]) == (0.0, 10.0)


def test_a_scene_does_not_begin_or_end_an_event_with_a_click():
    square = sound(np.full(RATE, 0.5), "square.wav")
    still = sound(np.full(10 * RATE, 1e-3) * np.sign(noise(10.0, RATE)), "still.wav")
    mix = scene(square, still, snr=30, seed=0, definition="rms")
    jump = np.abs(np.diff(mix.samples)).max()
    assert jump < 0.1 * np.abs(mix.samples).max()


def test_clipping_is_prevented_and_the_gain_is_told():
    loud = sound(tone(1.0, RATE, peak=0.9), "loud.wav")
    mix = overlay(loud, STREET, snr=-10, seed=0)
    assert np.abs(mix.samples).max() == pytest.approx(1.0, abs=1e-4)
    assert np.abs(mix.samples).max() < 1.0
    assert mix.provenance["clip_safety_gain_db"] < -1
    assert mix.provenance["snr_db_measured"] == pytest.approx(-10)
    event, background = parts_told(mix, loud, STREET)
    np.testing.assert_allclose(mix.samples, event + background, atol=1e-6)


@pytest.mark.parametrize("make", [overlay, scene])
def test_same_seed_same_samples_other_seed_other_excerpt(make):
    one, again, other = (make(DOG, STREET, snr=0, seed=s) for s in (1, 1, 2))
    assert one.samples.tobytes() == again.samples.tobytes()
    assert one.provenance == again.provenance
    begins = [mix.provenance["background"]["excerpt_from"] for mix in (one, other)]
    assert begins[0] != begins[1]


@pytest.mark.parametrize("make", [overlay, scene])
def test_a_seed_takes_the_same_excerpt_at_every_snr(make):
    mixes = [make(DOG, STREET, snr=snr, seed=(4, 9)) for snr in (-6, 0, (5, 10))]
    assert len({mix.provenance["background"]["excerpt_from"] for mix in mixes}) == 1
    assert len({mix.provenance["foreground"]["begins_in_mix"] for mix in mixes}) == 1


def test_the_callers_sounds_are_not_touched():
    before = DOG.samples.copy(), STREET.samples.copy()
    overlay(DOG, STREET, snr=0, seed=0)
    scene(DOG, STREET, snr=0, seed=0)
    assert np.array_equal(DOG.samples, before[0])
    assert np.array_equal(STREET.samples, before[1])


def test_sampled_snrs_fill_their_range_evenly():
    drawn = [asked_snr((-6, 15), draws((0, index)).snr) for index in range(2000)]
    assert stats.kstest(drawn, stats.uniform(-6, 21).cdf).pvalue > 1e-3
    mix = overlay(DOG, STREET, snr=(-6, 15), seed=(0, 5))
    assert mix.provenance["snr_db_measured"] == pytest.approx(drawn[5])
    assert mix.provenance["snr_db"] == [-6, 15]


@given(
    length=st.integers(1, 400),
    have=st.integers(1, 300),
    u=st.floats(0, 1, exclude_max=True),
)
def test_excerpts_have_the_length_and_lie_inside(length, have, u):
    recording = np.arange(have, dtype=np.float32)
    part, start = excerpt(recording, 1000, length, u)
    assert len(part) == length
    assert 0 <= start < have
    if have >= length:
        np.testing.assert_array_equal(part, recording[start : start + length])


def test_every_beginning_of_an_excerpt_can_be_drawn():
    starts = [excerpt(np.arange(5.0), 1000, 3, u)[1] for u in (0, 0.34, 0.67, 0.999)]
    assert starts == [0, 1, 2, 2]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), u=st.floats(0, 1, exclude_max=True))
def test_a_loop_keeps_the_level_and_has_no_clicks(seed, u):
    short = noise(1.0, RATE, seed)
    looped, _ = excerpt(short, RATE, 5 * RATE, u)
    assert level(looped, RATE, "rms") == pytest.approx(level(short, RATE, "rms"), abs=0.3)
    hum = 0.3 * np.sin(2 * np.pi * 61.3 * np.arange(RATE) / RATE)  # its end is not its beginning
    steps = np.abs(np.diff(excerpt(hum, RATE, 5 * RATE, u)[0]))
    assert steps.max() < 3 * np.abs(np.diff(hum)).max()


def test_short_backgrounds_are_looped_and_that_is_told():
    short = sound(noise(1.0, RATE, 3), "short.wav")
    mix = overlay(DOG, short, snr=3, seed=0)
    assert mix.provenance["background"]["looped"] is True
    assert mix.provenance["snr_db_measured"] == pytest.approx(3)
    assert overlay(DOG, STREET, snr=3, seed=0).provenance["background"]["looped"] is False


@pytest.mark.parametrize("make", [overlay, scene])
def test_silence_has_no_snr(make):
    silent = sound(np.zeros(RATE), "silent.wav")
    with pytest.raises(InputError, match=r"silent\.wav has no level"):
        make(silent, STREET, snr=0, seed=0)
    with pytest.raises(InputError, match=r"silent\.wav has no level"):
        make(DOG, silent, snr=0, seed=0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"snr": float("nan")},
        {"snr": 1000},
        {"snr": (1, 2, 3)},
        {"seed": -1},
        {"seed": "one"},
        {"definition": "peak"},
        {"seconds": 0},
        {"event_time": EventTime(deviation=0)},
        {"event_time": EventTime(earliest=-1)},
    ],
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(InputError):
        scene(DOG, STREET, **{"snr": 0, "seed": 0, **wrong})


def test_two_rates_are_refused():
    with pytest.raises(InputError, match="load both at one rate"):
        overlay(DOG, STREET._replace(rate=48000), snr=0, seed=0)


def test_stereo_is_refused():
    with pytest.raises(InputError, match="mono"):
        overlay(sound(np.zeros((10, 2))), STREET, snr=0, seed=0)


def test_an_event_below_the_gate_is_told_as_unmeasured():
    mix = scene(DOG, STREET, snr=-60, seed=0)
    assert mix.provenance["snr_db_measured"] is None
    json.dumps(mix.provenance, allow_nan=False)


def test_numpy_numbers_are_told_as_plain_ones():
    mix = overlay(DOG, STREET, snr=np.float32(3), seed=(np.int64(1), np.int32(2)))
    assert json.loads(json.dumps(mix.provenance))["seed"] == [1, 2]


@pytest.mark.parametrize("suffix", [".wav", ".flac"])
def test_saved_twice_the_bytes_are_the_same(tmp_path, suffix):
    (tmp_path / "dog.wav").write_bytes(encoded(DOG.samples, RATE))
    (tmp_path / "street.flac").write_bytes(encoded(STREET.samples, RATE, "flac"))
    written = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        dog, street = load(tmp_path / "dog.wav", RATE), load(tmp_path / "street.flac", RATE)
        mix = scene(dog, street, snr=(-6, 15), seed=11)
        save(mix, tmp_path / folder / f"mix{suffix}")
        written.append({p.name: p.read_bytes() for p in (tmp_path / folder).iterdir()})
    assert written[0] == written[1]
    assert set(written[0]) == {f"mix{suffix}", "mix.json"}
    read = decode(tmp_path / "one" / f"mix{suffix}", RATE)
    np.testing.assert_allclose(read, mix.samples, atol=2**-22)
    told = json.loads(written[0]["mix.json"])
    for part, name in (("foreground", "dog.wav"), ("background", "street.flac")):
        content = (tmp_path / name).read_bytes()
        assert told[part]["sha256"] == hashlib.sha256(content).hexdigest()
        assert told[part]["file"].endswith(name)


def test_what_cannot_be_written_is_refused_and_leaves_nothing(tmp_path):
    mix = overlay(DOG, STREET, snr=0, seed=0)
    with pytest.raises(InputError, match=r"\.wav or \.flac"):
        save(mix, tmp_path / "mix.mp3")
    with pytest.raises(InputError, match="cannot be written"):
        save(mix, tmp_path / "no" / "folder" / "mix.wav")
    assert not list(tmp_path.iterdir())
