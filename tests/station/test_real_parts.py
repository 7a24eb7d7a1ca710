"""A station against the real world: a broker and a camera that die, a full disk."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Prism
from tests.helpers.bands import RATE
from tests.helpers.running_station import Feed, RunningStation
from tests.helpers.station import Broker, Subscriber, free_port, rows, wait_for

RAW = ("yard=-", "--rate", RATE)


def test_the_broker_is_killed_and_started_again(prism: Prism, tmp_path: Path) -> None:
    pytest.importorskip("paho.mqtt")
    broker, db = Broker(tmp_path), tmp_path / "events.db"
    broker.start()
    subscriber = Subscriber(broker.port)
    url = f"mqtt://127.0.0.1:{broker.port}/home/prism"
    call = (*RAW, "--db", db, "--clips", tmp_path / "clips", "--mqtt", url)
    station = RunningStation(prism, tmp_path, *call)
    feed = Feed(station)
    try:
        wait_for(lambda: len(subscriber.of("home/prism/yard/event")) >= 4)
        # Events that waited for the connection may come first.
        wait_for(lambda: subscriber.of("home/prism/status") == ["online"])
        (config,) = subscriber.of("homeassistant/event/home-prism_yard/config")
        entity = json.loads(config)
        assert entity["state_topic"] == "home/prism/yard/event"
        assert entity["event_types"] == ["tone 2", "tone 7", "tone 12"]
        assert entity["availability_topic"] == "home/prism/status"
        broker.kill()
        wait_for(lambda: "cannot be reached" in station.warnings)
        before = len(station.lines("end"))
        station.wait_for_events(3)
        meanwhile = {line["id"] for line in station.lines("end")[before:]}
        # The subscriber is there first: what waited for the broker comes at once when it is back.
        station.process.send_signal(signal.SIGSTOP)
        broker.start()
        subscriber.close()
        subscriber = Subscriber(broker.port)
        station.process.send_signal(signal.SIGCONT)
        wait_for(lambda: "is back" in station.warnings)
        wait_for(lambda: len(subscriber.of("home/prism/yard/event")) >= 4)
        told = [json.loads(text) for text in subscriber.of("home/prism/yard/event")]
        assert meanwhile & {message["id"] for message in told}  # they waited for the broker
        assert subscriber.of("homeassistant/event/home-prism_yard/config") == [config]
        ended = next(message for message in told if message["phase"] == "end")
        assert ended["clip"] == f"{ended['id']}.flac"
        station.kill()
        wait_for(lambda: subscriber.of("home/prism/status")[-1] == "offline")  # the last will
    finally:
        station.kill()
        feed.end()
        subscriber.close()
        broker.kill()
    assert station.warnings.count("cannot be reached") == 1
    assert station.warnings.count("is back") == 1
    recorded = {row[0] for row in rows(db)}
    assert {line["id"] for line in station.lines("end")} <= recorded


CAMERA = """
import sys, gi
gi.require_version("Gst", "1.0"); gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer
Gst.init(None)
server = GstRtspServer.RTSPServer(address="127.0.0.1", service=sys.argv[1])
factory = GstRtspServer.RTSPMediaFactory(shared=True)
factory.set_launch(
    "( audiotestsrc name=tone is-live=true wave=sine freq=3625 volume=0.5 "
    "! audio/x-raw,rate=8000,channels=1 ! mulawenc ! rtppcmupay name=pay0 )"
)
def change(tone, frequencies):
    tone.set_property("freq", frequencies.pop(0))
    frequencies.append(tone.get_property("freq"))
    GLib.timeout_add(2000 if tone.get_property("freq") < 3000 else 6000, change, tone, frequencies)
    return False
def configure(factory, media):
    change(media.get_element().get_by_name("tone"), [3625.0, 625.0, 3625.0, 1875.0])
factory.connect("media-configure", configure)
server.get_mount_points().add_factory("/camera", factory)
server.attach(None)
print("ready", flush=True)
GLib.MainLoop().run()
"""


def camera(folder: Path, port: int) -> subprocess.Popen[str]:
    """A camera that hears a hum, in which tone 2 and tone 7 sound in turn."""
    if not Path("/usr/bin/python3").exists():
        pytest.skip("no Python of the system")
    (folder / "camera.py").write_text(CAMERA)
    server = subprocess.Popen(
        ["/usr/bin/python3", str(folder / "camera.py"), str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    if server.stdout.readline() != "ready\n":
        server.wait()
        pytest.skip("no RTSP server: apt install gir1.2-gst-rtsp-server-1.0 python3-gi")
    return server


@pytest.mark.slow
def test_the_camera_is_killed_and_started_again(prism: Prism, tmp_path: Path) -> None:
    pytest.importorskip("av")
    port, db = free_port(), tmp_path / "events.db"
    server = camera(tmp_path, port)
    source = f"gate=rtsp://127.0.0.1:{port}/camera"
    call = (source, "--hop", 0.1, "--db", db)
    station = RunningStation(prism, tmp_path, *call)
    try:
        # A place that was heard for a minute or two is known too little to tell all of it.
        wait_for(lambda: len({line["label"] for line in station.lines("end")}) == 2, 240)
        server.kill()
        server.wait()
        wait_for(lambda: "trying again" in station.warnings)
        server = camera(tmp_path, port)
        station.wait_for_events(1)
        assert station.stop() == 143
    finally:
        station.kill()
        server.kill()
        server.wait()
    ended = station.lines("end")
    assert {line["label"] for line in ended} >= {"tone 2", "tone 7"}
    assert [row[0] for row in rows(db)] == [line["id"] for line in ended]
    states = [line["state"] for line in station.lines("state")]
    assert states[:3] == ["connecting", "live", "lost"]
    assert states[-1] == "live"
    # The gap is in the times: the sound itself knows nothing of it.
    lost = next(line["at"] for line in station.lines("state") if line["state"] == "lost")
    assert ended[0]["started"] < lost < ended[-1]["started"]


def test_a_full_disk_stops_nothing_and_loses_no_event(prism: Prism, tmp_path: Path) -> None:
    db, clips = tmp_path / "events.db", tmp_path / "clips"
    station = RunningStation(prism, tmp_path, *RAW, "--db", db, "--clips", clips)
    feed = Feed(station)
    try:
        station.wait_for_events(2)
        # No file may grow beyond what the largest has now; the station's own output is longer.
        limit = max(path.stat().st_size for path in tmp_path.glob("events.db*"))
        _limit_files(station, max(limit, 100_000))
        wait_for(lambda: "database" in station.warnings)
        station.wait_for_events(3)
        _limit_files(station, resource.RLIM_INFINITY)
        wait_for(lambda: "works again" in station.warnings)
        station.wait_for_events(1)
        feed.end()
        assert station.process.wait(60) == 0
    finally:
        station.kill()
        feed.end()
    assert station.warnings.count(f"database {db}:") == 1, station.warnings
    assert "Traceback" not in station.warnings
    assert [row[0] for row in rows(db)] == [line["id"] for line in station.lines("end")]


def _limit_files(station: RunningStation, size: int) -> None:
    resource.prlimit(station.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
