"""Network streams against real servers: HTTP of our own, RTSP by GStreamer where it is installed."""

from __future__ import annotations

import io
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import soundfile

from prism_audio.audio.capture import sound_blocks
from prism_audio.audio.network import NetworkStream
from prism_audio.audio.watchdog import StreamState
from prism_audio.errors import InputError
from tests.helpers.sounds import noise

pytest.importorskip("av")

RATE = 44_100


def mp3(sound: np.ndarray) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, sound, RATE, format="MP3")
    return file.getvalue()


class Radio(BaseHTTPRequestHandler):
    """Serves by path: a stream that breaks off, one that hangs, a recording, silence, noise."""

    visits: dict[str, int]
    sounds: dict[str, bytes]
    leave: threading.Event

    def do_GET(self) -> None:
        self.visits[self.path] = self.visits.get(self.path, 0) + 1
        if self.path not in self.sounds:
            self.send_error(404)
            return
        data = self.sounds[self.path]
        self.send_response(200)
        self.send_header("Content-Type", "audio/mpeg")
        if self.path == "/recording":
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        try:
            self.wfile.write(data)
            if self.path == "/hanging":
                self.leave.wait(30)
        except OSError:  # the listener has left
            pass

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def radio() -> Iterator[ThreadingHTTPServer]:
    Radio.visits, Radio.leave = {}, threading.Event()
    sound = mp3(noise(2.0, RATE))
    Radio.sounds = {
        "/breaking": sound,
        "/hanging": sound,
        "/recording": sound,
        "/silent": mp3(np.zeros(5 * RATE, np.float32)),
        "/text": b"this is no sound " * 10_000,
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), Radio)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    Radio.leave.set()
    server.shutdown()
    server.server_close()


class Watcher:
    """Notes the states of a stream, and stops it at the n-th time of one of them."""

    def __init__(self, url: str, state: StreamState, times: int = 1, **limits: float) -> None:
        self.states: list[StreamState] = []
        self.messages: list[str] = []
        self._last, self._times = state, times
        limits = {"timeout": 5.0, "first_pause": 0.05, "longest_pause": 0.1} | limits
        self.stream = NetworkStream(url, on_state=self.note, **limits)  # type: ignore[arg-type]

    def note(self, state: StreamState, message: str) -> None:
        self.states.append(state)
        self.messages.append(message)
        if self.states.count(self._last) == self._times:
            self.stream.stop.set()

    def listen(self) -> np.ndarray:
        return np.concatenate([np.zeros(0, np.float32), *self.stream.blocks(16_000)])


def address(server: ThreadingHTTPServer, path: str) -> str:
    return f"http://listener:secret@127.0.0.1:{server.server_port}{path}"


def test_a_stream_that_breaks_off_is_connected_again(radio: ThreadingHTTPServer) -> None:
    watcher = Watcher(address(radio, "/breaking"), StreamState.lost, times=3)
    sound = watcher.listen()
    turn = [StreamState.connecting, StreamState.live, StreamState.lost]
    assert watcher.states == turn * 3
    assert Radio.visits["/breaking"] == 3
    assert sound.dtype == np.float32
    assert len(sound) == pytest.approx(3 * 2.0 * 16_000, rel=0.1)
    assert np.sqrt(np.mean(sound**2)) == pytest.approx(0.1 * np.sqrt(16 / 44.1), rel=0.2)
    assert not any("secret" in message for message in watcher.messages)


def test_a_recording_of_known_length_ends(radio: ThreadingHTTPServer) -> None:
    watcher = Watcher(address(radio, "/recording"), StreamState.lost)
    assert len(watcher.listen()) == pytest.approx(2.0 * 16_000, rel=0.1)
    assert watcher.states == [StreamState.connecting, StreamState.live, StreamState.ended]


def test_a_server_that_hangs_is_lost_after_the_time_limit(radio: ThreadingHTTPServer) -> None:
    watcher = Watcher(address(radio, "/hanging"), StreamState.lost, timeout=1.0)
    began = time.monotonic()
    watcher.listen()
    assert watcher.states[-1] is StreamState.lost
    assert 0.9 <= time.monotonic() - began < 20


def test_silence_is_noticed(radio: ThreadingHTTPServer) -> None:
    watcher = Watcher(address(radio, "/silent"), StreamState.lost, silence=2.0)
    watcher.listen()
    wanted = [StreamState.connecting, StreamState.live, StreamState.silent, StreamState.lost]
    assert watcher.states == wanted


@pytest.mark.parametrize("path", ["/missing", "/text"])
def test_what_is_no_stream_is_tried_again_with_longer_pauses(
    radio: ThreadingHTTPServer, path: str
) -> None:
    watcher = Watcher(address(radio, path), StreamState.lost, times=3)
    assert len(watcher.listen()) == 0
    assert watcher.states == [StreamState.connecting, StreamState.lost] * 3
    pauses = [message.rpartition("trying again in ")[2] for message in watcher.messages[1::2]]
    assert pauses == ["0.05 s", "0.1 s", "0.1 s"]


def test_a_host_that_is_off_comes_back(radio: ThreadingHTTPServer) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    watcher = Watcher(f"http://127.0.0.1:{port}/breaking", StreamState.live)
    later: list[ThreadingHTTPServer] = []

    def come_back() -> None:
        later.append(ThreadingHTTPServer(("127.0.0.1", port), Radio))
        later[0].serve_forever()

    timer = threading.Timer(1.0, come_back)
    timer.start()
    watcher.listen()
    assert watcher.states[:2] == [StreamState.connecting, StreamState.lost]
    assert watcher.states[-1] is StreamState.live
    later[0].shutdown()
    later[0].server_close()


@pytest.mark.parametrize("url", ["street.wav", "file:///etc/passwd", "rtsp://", "concat:a|b"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(InputError, match="rtsp://"):
        NetworkStream(url)


RTSP_SERVER = """
import sys, gi
gi.require_version("Gst", "1.0"); gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer
Gst.init(None)
server = GstRtspServer.RTSPServer(address="127.0.0.1", service=sys.argv[1])
factory = GstRtspServer.RTSPMediaFactory(shared=True)
factory.set_launch(
    "( audiotestsrc is-live=true wave=sine freq=1000 volume=0.5 ! audio/x-raw,rate=8000,channels=1 "
    "! mulawenc ! rtppcmupay name=pay0 videotestsrc is-live=true ! video/x-raw,format=I420,width=64,"
    "height=64,framerate=5/1 ! jpegenc ! rtpjpegpay name=pay1 pt=26 )"
)
server.get_mount_points().add_factory("/camera", factory)
server.attach(None)
print("ready", flush=True)
GLib.MainLoop().run()
"""


def rtsp_server(script: Path, port: int) -> subprocess.Popen[str]:
    """An RTSP camera; Debian's packages are for the Python of the system."""
    script.write_text(RTSP_SERVER)
    server = subprocess.Popen(
        ["/usr/bin/python3", str(script), str(port)], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    if server.stdout.readline() != "ready\n":
        server.wait()
        pytest.skip(
            "no RTSP server: apt install gir1.2-gst-rtsp-server-1.0 python3-gi "
            "gstreamer1.0-plugins-base gstreamer1.0-plugins-good"
        )
    return server


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no Python of the system")
def test_a_camera_that_is_killed_and_started_again(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = rtsp_server(tmp_path / "camera.py", port)
    states: list[StreamState] = []
    stream = NetworkStream(
        f"rtsp://127.0.0.1:{port}/camera",
        timeout=10.0,
        first_pause=0.2,
        longest_pause=0.5,
        on_state=lambda state, message: states.append(state),
    )
    limit = threading.Timer(60.0, stream.stop.set)
    limit.start()
    lengths = [0, 0]
    parts: list[np.ndarray] = []
    try:
        for block in stream.blocks(16_000):
            restarted = StreamState.lost in states
            lengths[restarted] += len(block)
            parts.append(block)
            if lengths[0] > 16_000 and not restarted and server.poll() is None:
                server.kill()
                server.wait()
                server = rtsp_server(tmp_path / "camera.py", port)
            if lengths[1] > 16_000:
                stream.stop.set()
    finally:
        limit.cancel()
        server.kill()
        server.wait()
    first, again = [StreamState.connecting, StreamState.live], StreamState.lost
    assert states[:3] == [*first, again]
    assert states[-1] is StreamState.live
    sound = parts[3][:1_600] if len(parts[3]) >= 1_600 else np.concatenate(parts[3:12])
    spectrum = np.abs(np.fft.rfft(sound * np.hanning(len(sound))))
    assert spectrum.argmax() * 16_000 / len(sound) == pytest.approx(1000, abs=30)


def test_an_address_is_a_source_of_sound_like_any_other(
    radio: ThreadingHTTPServer, caplog: pytest.LogCaptureFixture
) -> None:
    blocks = sound_blocks(address(radio, "/recording"), 16_000)
    assert sum(len(block) for block in blocks) == pytest.approx(2.0 * 16_000, rel=0.1)
    assert not caplog.records
    with pytest.raises(InputError, match="not the address of a stream"):
        sound_blocks("ftp://127.0.0.1/street.wav", 16_000)
