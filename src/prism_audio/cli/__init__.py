"""The command ``prism``: one command a file in this folder.

Exit codes: 0 done; 1 some inputs failed (they are listed, the rest is done); 2 wrong usage;
130 interrupted (Ctrl-C), 143 terminated (SIGTERM).
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

import typer

from prism_audio._version import __version__
from prism_audio.cli.console import on_signals, printable
from prism_audio.errors import PrismError, PrismWarning

# Each name is a module beside this one with a function ``command``; its docstring is the help text.
# The modules import what is heavy inside that function, so that ``prism --help`` answers at once.
COMMANDS: tuple[str, ...] = (
    "demo",
    "classify",
    "calibrate",
    "inspect",
    "verify",
    "listen",
    "history",
    "evaluate",
    "pick",
    "check",
    "search",
    "export",
    "export-encoder",
    "diagnose",
    "embed",
    "mix",
    "bench",
    "serve",
    "assets",
)

app = typer.Typer(
    name="prism",
    help="Zero-shot sound classification that works in noisy places.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"prism {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", help="Print the version and stop.", callback=_version, is_eager=True
    ),
) -> None:
    pass


for _name in COMMANDS:
    app.command(_name)(import_module(f"{__name__}.{_name.replace('-', '_')}").command)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
    if issubclass(category, PrismWarning):
        typer.echo(f"note: {message}", err=True)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    word = "interrupted" if number == signal.SIGINT else "terminated"
    os.write(2, f"{word}\n".encode())  # a print could have been cut off in the middle of another
    raise SystemExit(128 + number)


def main() -> None:
    """Run ``prism``; a :class:`PrismError` becomes one message and exit code 2, never a traceback."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    try:
        # Ctrl-C and SIGTERM end the command with a word and their exit code, at any moment.
        with on_signals(_stop):
            app()
    except PrismError as error:
        # A name of a file may hold control characters; the lines of a message are its own.
        message = "\n".join(map(printable, str(error).split("\n")))
        typer.echo(f"error: {message}", err=True)
        sys.exit(2)
    except OSError as error:
        # Standard output cannot be written, and must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        typer.echo(f"error: cannot write the output: {error.strerror or error}", err=True)
        sys.exit(2)
