"""What the commands share: where they write, how they show progress, how they end.

Results go to standard output, as a table for people or as one JSON document for programs; all that
accompanies them (progress, warnings, failures) goes to standard error.
"""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, Self

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

# Characters that a terminal would obey instead of show, and those that turn text around.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def printable(path: str | Path) -> str:
    """A file's name as a terminal can show it: bytes that are no text replaced, controls escaped."""
    text = str(path).encode(errors="surrogateescape").decode(errors="replace")
    return _CONTROL.sub(lambda control: control[0].encode("unicode_escape").decode(), text)


def say(text: str) -> None:
    """A line for people on standard output; never read as markup, never broken."""
    Console(highlight=False).print(Text(text), soft_wrap=True)


def note(text: str) -> None:
    """The same on standard error."""
    Console(stderr=True, highlight=False).print(Text(text), soft_wrap=True)


def say_json(document: Any) -> None:
    """A result for programs: one JSON document on standard output."""
    typer.echo(json.dumps(document, indent=2))


def failure_list(failures: Sequence[tuple[str | Path, str]]) -> list[dict[str, str]]:
    """Inputs that failed, with reasons, for a JSON document."""
    return [{"file": printable(file), "reason": printable(why)} for file, why in failures]


def end(failures: Sequence[tuple[str | Path, str]]) -> NoReturn:
    """Finish a command: list the inputs that failed, with reasons, and set the exit code."""
    if failures:
        note(f"{len(failures)} failed:" if len(failures) > 1 else "1 failed:")
        for path, reason in failures:
            note(f"  {printable(path)}: {printable(reason)}")
    raise typer.Exit(1 if failures else 0)


def progress_bar(*columns: ProgressColumn, **options: Any) -> Progress:
    """A bar on standard error with these columns; it shows nothing where nobody looks (a pipe)."""
    console = Console(stderr=True)
    return Progress(
        SpinnerColumn(),
        *columns,
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
        console=console,
        disable=not console.is_terminal,
        **options,
    )


class ProgressBar:
    """Files done, seconds of sound a second, time left; for a ``with`` statement."""

    def __init__(self, waiting: str, working: str) -> None:
        self._bar = progress_bar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[files]}"),
            TextColumn("{task.fields[rate]}"),
            transient=True,
        )
        self._working = working
        self._task = self._bar.add_task(waiting, total=None, files="", rate="")
        self._files = self._of = 0
        self._seconds, self._began = 0.0, time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._bar.disable:  # rich before 14.2 ends even a bar that it never showed
            self._bar.stop()

    def begin(self, files: int, size: int) -> None:
        """So many files of so many bytes are to be done; the bar follows the bytes."""
        self._of, self._began = files, time.monotonic()
        self._bar.reset(self._task, total=size, description=self._working)
        self._bar.update(self._task, files=f"0/{files} files")

    def audio(self, seconds: float) -> None:
        """So many more seconds of sound are done."""
        self._seconds += seconds
        rate = self._seconds / max(time.monotonic() - self._began, 1e-3)
        self._bar.update(self._task, rate=f"{rate:.0f}x real time")

    def file(self, size: int) -> None:
        """One more file, of so many bytes, is done."""
        self._files += 1
        self._bar.update(self._task, advance=size, files=f"{self._files}/{self._of} files")


@contextmanager
def on_signals(stop: Callable[[int, FrameType | None], NoReturn]) -> Iterator[None]:
    """Let ``stop`` answer Ctrl-C and SIGTERM within the block, unless they are ignored."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    chosen = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in chosen:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in chosen:
            signal.signal(number, before[number])


@contextmanager
def orderly_stop(message: str) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the block as an exception would, and then say ``message``."""

    def stop(number: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt(number)

    try:
        with on_signals(stop):
            yield
    except KeyboardInterrupt as stopped:
        note(message)
        raise typer.Exit(128 + (stopped.args or (signal.SIGINT,))[0]) from stopped
