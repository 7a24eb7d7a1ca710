"""Events to an MQTT broker: one topic a source, a last will, discovery by Home Assistant.

prism/status                   online or offline, retained; the broker says offline when we are gone
prism/garden/event             JSON of every event, when it begins and when it is over
prism/garden/state             live, silent or lost, retained
homeassistant/event/...        what Home Assistant needs to show the source, retained
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

from prism_audio._version import __version__
from prism_audio.errors import InputError, PrismError
from prism_audio.io.text import slug
from prism_audio.station.messages import Message, SourceState, StationEvent, iso
from prism_audio.station.sources import Source

# Messages that wait while the broker is gone; later ones are dropped.
MOST_WAITING = 1000
PORTS = {"mqtt": 1883, "mqtts": 8883}
# Seconds between two attempts to connect, the first time and at most.
FIRST_PAUSE, LONGEST_PAUSE = 1, 60


class Mqtt:
    """A sink that publishes events.

    Parameters
    ----------
    url : str
        ``mqtt://user:password@host:1883/prism``; ``mqtts://`` for TLS; the path is the first part of
        all topics.
    sources : sequence of Source
        Those of the station.
    labels : sequence of str
        What may be heard, for Home Assistant.
    warn : callable
        Told once when the broker is gone, and when it is back.
    """

    announces = True

    def __init__(
        self,
        url: str,
        sources: Sequence[Source],
        labels: Sequence[str],
        warn: Callable[[str], None],
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in PORTS or not parts.hostname:
            raise InputError(
                "--mqtt is not the address of a broker; write for example mqtt://localhost/prism"
            )
        try:
            port = parts.port or PORTS[parts.scheme]
        except ValueError:
            raise InputError("--mqtt has a port that is no number up to 65535") from None
        self.name = f"MQTT broker {parts.hostname}:{port}"
        self._host, self._port, self._tls = parts.hostname, port, parts.scheme == "mqtts"
        self._user, self._password = parts.username, parts.password
        self._base = parts.path.strip("/") or "prism"
        self._sources, self._labels, self._warn = sources, list(labels), warn
        self._states: dict[str, str] = {}
        self._gone = False
        self._client: Any = None

    def start(self) -> None:
        paho = _import_paho()
        client = paho.Client(paho.CallbackAPIVersion.VERSION2)
        if self._user is not None:
            password = None if self._password is None else unquote(self._password)
            client.username_pw_set(unquote(self._user), password)
        if self._tls:
            client.tls_set_context(ssl.create_default_context())
        client.max_queued_messages_set(MOST_WAITING)
        client.reconnect_delay_set(FIRST_PAUSE, LONGEST_PAUSE)
        client.will_set(self._topic("status"), "offline", qos=1, retain=True)
        client.on_connect = self._connected
        client.on_disconnect = lambda client, data, flags, code, properties: self._lost(str(code))
        client.on_connect_fail = lambda client, data: self._lost("no connection")
        client.connect_async(self._host, self._port, keepalive=30)
        client.loop_start()
        self._client = client

    def write(self, message: Message) -> bool:
        if isinstance(message, StationEvent):
            self._publish(f"{message.source}/event", json.dumps(describe(message)))
            return True
        if isinstance(message, SourceState):
            self._states[message.source] = message.state.value
            self._publish(f"{message.source}/state", message.state.value, retain=True)
            return True
        return False

    def close(self) -> None:
        if self._client is None:
            return
        if self._client.is_connected():
            farewell = self._publish("status", "offline", retain=True)
            with suppress(RuntimeError, ValueError):
                farewell.wait_for_publish(2.0)
        self._client.on_disconnect = None
        self._client.disconnect()
        self._client.loop_stop()

    def _publish(self, topic: str, payload: str, retain: bool = False) -> Any:
        return self._client.publish(self._topic(topic), payload, qos=1, retain=retain)

    def _topic(self, rest: str) -> str:
        return f"{self._base}/{rest}"

    def _connected(self, client: Any, data: Any, flags: Any, code: Any, properties: Any) -> None:
        """Tell the broker who is here: it may have forgotten everything."""
        if code.is_failure:
            self._lost(str(code))
            return
        for source in self._sources:
            topic = f"homeassistant/event/{slug(self._base)}_{source.name}/config"
            client.publish(topic, json.dumps(self._discovery(source)), qos=1, retain=True)
        for name, state in self._states.items():
            self._publish(f"{name}/state", state, retain=True)
        self._publish("status", "online", retain=True)
        if self._gone:
            self._gone = False
            self._warn(f"{self.name} is back")

    def _lost(self, reason: str) -> None:
        if not self._gone:
            self._gone = True
            self._warn(
                f"{self.name} cannot be reached ({reason}); listening goes on, up to "
                f"{MOST_WAITING} messages wait for it"
            )

    def _discovery(self, source: Source) -> dict[str, Any]:
        """An entity of Home Assistant: an event for every sound, when it begins."""
        unique = f"{slug(self._base)}_{source.name}"
        return {
            "name": "sound",
            "unique_id": unique,
            "state_topic": self._topic(f"{source.name}/event"),
            "event_types": self._labels,
            # An empty result is ignored, so the end of an event is no second one.
            "value_template": "{{ value if value_json.phase == 'begin' else '' }}",
            "availability_topic": self._topic("status"),
            "icon": "mdi:ear-hearing",
            "device": {
                "identifiers": [unique],
                "name": f"PRISM {source.name}",
                "manufacturer": "PRISM",
                "sw_version": __version__,
            },
            "origin": {"name": "prism-audio", "sw": __version__},
        }


def describe(event: StationEvent) -> dict[str, Any]:
    """An event for other programs."""
    return {
        "id": event.id,
        "phase": "end" if event.over else "begin",
        "event_type": event.label,
        "source": event.source,
        "label": event.label,
        "started": iso(event.started),
        "ended": iso(event.ended) if event.over else None,
        "score": round(event.score, 6),
        "confidence": event.confidence,
        "recording": event.recording,
        "clip": None if event.clip is None else event.clip.name,
    }


def _import_paho() -> Any:
    try:
        from paho.mqtt import client
    except ImportError:
        raise PrismError(
            "MQTT needs the package paho-mqtt: pip install 'prism-audio[mqtt]'"
        ) from None
    return client
