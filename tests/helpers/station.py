"""Parts of a station for tests: events, a database read back, a broker."""

from __future__ import annotations

import shutil
import socket
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_audio.model.adapter import Adapter
from prism_audio.station.messages import StationEvent

START = datetime(2026, 5, 4, 9, 30, tzinfo=UTC)


def zero_shot(labels: tuple[str, ...] = ("dog", "siren"), d: int = 4) -> Adapter:
    return Adapter.zero_shot(np.eye(d, dtype=np.float32)[: len(labels)], labels)


def event(label: str = "dog", started: datetime = START, **about: Any) -> StationEvent:
    """An event of two seconds."""
    given = {
        "source": "yard",
        "ended": started + timedelta(seconds=2),
        "over": True,
        "start": 10.0,
        "end": 12.0,
        "score": 0.5,
        "windows": 4,
        "adapter": zero_shot(),
    }
    return StationEvent(label=label, started=started, **{**given, **about})


def rows(path: Path, query: str = "SELECT id, label, started FROM events ORDER BY started") -> list:
    """What a database holds; it must be whole."""
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        return database.execute(query).fetchall()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Broker:
    """Mosquitto on a port of this machine; without memory, so a restart forgets everything."""

    def __init__(self, folder: Path) -> None:
        self.port, self._folder = free_port(), folder
        self._process: subprocess.Popen[bytes] | None = None
        self._program = shutil.which("mosquitto") or shutil.which(
            "mosquitto", path="/usr/sbin:/usr/local/sbin"
        )
        if self._program is None:
            pytest.skip("no MQTT broker: apt install mosquitto")

    def start(self) -> None:
        settings = self._folder / "mosquitto.conf"
        settings.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\n")
        self._process = subprocess.Popen(
            [str(self._program), "-c", str(settings)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(self._answers)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _answers(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0


class Subscriber:
    """Everything that a broker sends, by topic."""

    def __init__(self, port: int) -> None:
        mqtt = pytest.importorskip("paho.mqtt.client")
        self.messages: list[tuple[str, str]] = []
        self._client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        self._client.reconnect_delay_set(1, 1)
        self._client.on_connect = lambda client, *_: client.subscribe("#", qos=1)
        self._client.on_message = lambda client, data, message: self.messages.append(
            (message.topic, message.payload.decode())
        )
        subscribed = threading.Event()
        self._client.on_subscribe = lambda *_: subscribed.set()
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        assert subscribed.wait(20), "the broker did not answer"

    def of(self, topic: str) -> list[str]:
        return [payload for where, payload in list(self.messages) if where == topic]

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def wait_for(condition: Any, seconds: float = 60.0) -> Any:
    """Wait until a condition holds, and give what it gave."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return result
