"""The second decoder: what it adds where it is installed, and what is said where it is not."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest

from prism_audio.audio.decode import decode, probe, stream
from prism_audio.errors import AudioError
from tests.helpers.sounds import encoded, named, noise, tone


def m4a(sound: np.ndarray, rate: int, container: str = "mp4", codec: str = "aac") -> bytes:
    """The bytes of a film's kind of file; sound is (channels, n)."""
    av = pytest.importorskip("av")
    layout = {1: "mono", 2: "stereo"}[len(sound)]
    file = io.BytesIO()
    with av.open(file, "w", format=container) as target:
        track = target.add_stream(codec, rate=rate, layout=layout)
        frame = av.AudioFrame.from_ndarray(sound, format="fltp", layout=layout)
        frame.sample_rate, frame.pts = rate, 0
        queue = av.AudioFifo()
        queue.write(frame)
        while (part := queue.read(1024, partial=True)) is not None:
            target.mux(track.encode(part))
        target.mux(track.encode(None))
    return file.getvalue()


@pytest.mark.parametrize("container", ["mp4", "adts", "matroska"])
def test_aac_is_decoded(container):
    sound = np.stack([tone(1.0, 44100, 500), tone(1.0, 44100, 500)])
    data = m4a(sound, 44100, container)
    out = decode(named(data, "phone.m4a"), 16000)
    assert out.dtype == np.float32
    assert len(out) == pytest.approx(16000, abs=2000), "the encoder pads"
    spectrum = np.abs(np.fft.rfft(out[:16000] * np.hanning(16000)))
    assert int(spectrum.argmax()) == pytest.approx(500, abs=1)
    assert np.abs(out).max() == pytest.approx(0.3, abs=0.05)
    info = probe(named(data, "phone.m4a"))
    assert (info.rate, info.channels) == (44100, 2)
    assert info.format.endswith("aac")
    assert info.duration == pytest.approx(1.0, abs=0.2)


def test_blocks_do_not_change_the_samples():
    data = m4a(noise(2.0, 44100)[None], 44100)
    whole = decode(named(data), 16000)
    assert np.array_equal(
        np.concatenate(list(stream(named(data), 16000, block_seconds=0.1))), whole
    )


def test_a_damaged_film_is_refused():
    data = m4a(noise(1.0, 44100)[None], 44100)
    with pytest.raises(AudioError, match=r"film\.mp4: "):
        decode(named(data[: len(data) // 2], "film.mp4"), 16000)


def test_a_film_without_sound_is_refused():
    av = pytest.importorskip("av")
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as target:
        track = target.add_stream("mpeg4", rate=10)
        track.width, track.height, track.pix_fmt = 32, 32, "yuv420p"
        for _ in range(3):
            target.mux(track.encode(av.VideoFrame(32, 32, "yuv420p")))
        target.mux(track.encode(None))
    with pytest.raises(AudioError, match="no sound track"):
        decode(named(file.getvalue(), "mute.mkv"), 16000)


@pytest.mark.parametrize("name", ["list.m3u8", "list.ffconcat", "list.m4a"])
def test_a_playlist_is_not_followed(tmp_path, monkeypatch, name):
    """A file must not make the decoder open another one, or an address."""
    pytest.importorskip("av")
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "other.wav"
    other.write_bytes(encoded(noise(1.0, 16000), 16000))
    text = {
        "list.m3u8": f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:1,\n{other}\n#EXT-X-ENDLIST\n",
        "list.ffconcat": f"ffconcat version 1.0\nfile {other}\n",
        "list.m4a": f"ffconcat version 1.0\nfile {other.name}\n",
    }[name]
    playlist = tmp_path / name
    playlist.write_text(text)
    with pytest.raises(AudioError, match="PyAV cannot open it either"):
        decode(playlist, 16000)


def test_without_pyav_the_message_says_how_to_get_it(monkeypatch):
    data = b"\0\0\0\x1cftypM4A " + bytes(500)
    monkeypatch.setitem(sys.modules, "av", None)
    monkeypatch.delitem(sys.modules, "prism_audio.audio.av_reader", raising=False)
    with pytest.raises(AudioError, match=r"phone\.m4a: .*pip install 'prism-audio\[av\]'"):
        decode(named(data, "phone.m4a"), 16000)


def test_without_pyav_the_first_decoder_works(monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    monkeypatch.delitem(sys.modules, "prism_audio.audio.av_reader", raising=False)
    assert decode(named(encoded(noise(0.1, 16000), 16000)), 16000).size == 1600
