"""The log of the service on standard error: lines for people, or JSON."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

# Members of a record that the access log adds.
EXTRA = ("status", "milliseconds", "client", "request")


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in EXTRA if hasattr(record, name)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


class PlainLines(logging.Formatter):
    """A line that people read, with what the access log adds at its end."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        more = [f"{name}={getattr(record, name)}" for name in EXTRA if hasattr(record, name)]
        return " ".join([super().format(record), *more])


def start_log(level: str, form: str) -> None:
    """Write the log to standard error; ``form`` is ``human`` or ``json``."""
    handler = logging.StreamHandler()
    plain = PlainLines("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S")
    handler.setFormatter(JsonLines() if form == "json" else plain)
    for name in ("prism_audio", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
