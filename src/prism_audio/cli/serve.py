"""``prism serve``: the HTTP service and its page."""

from __future__ import annotations

import json
import secrets
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from prism_audio.cli import options
from prism_audio.cli.console import note, say
from prism_audio.errors import InputError, PrismError

PORT = 8765


class LogLevel(StrEnum):
    """How much the log shows."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


class LogFormat(StrEnum):
    """How a line of the log looks."""

    human = "human"
    json = "json"


def command(
    adapter: Annotated[
        list[Path] | None,
        typer.Option(
            "--adapter", "-a", help="A saved place; give several for several sites, default first."
        ),
    ] = None,
    labels: options.Labels = None,
    encoder: options.Encoder = None,
    prompts: options.Prompts = "sentences",
    store: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps calibrated sites; otherwise they end with the service."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen at; 0 takes a free one.")
    ] = PORT,
    token: Annotated[
        str | None,
        typer.Option(envvar="PRISM_TOKEN", help="What clients must show; better in PRISM_TOKEN."),
    ] = None,
    max_files: Annotated[int, typer.Option(min=1, help="Recordings in a request.")] = 1000,
    max_mb: Annotated[int, typer.Option(min=1, help="Megabytes in a request.")] = 1024,
    max_seconds: Annotated[
        float, typer.Option(min=1, help="Longest recording, in seconds.")
    ] = 21600,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds a request may take.")] = 120,
    queue: Annotated[
        int, typer.Option(min=1, help="Requests at a time; more are told to come again (429).")
    ] = 128,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A further name that clients may call it by; '*' allows all."),
    ] = None,
    root_path: Annotated[
        str, typer.Option(help="The path below which a proxy shows it, such as /prism.")
    ] = "",
    behind_proxy: Annotated[
        bool, typer.Option(help="Believe the X-Forwarded headers of a proxy on this machine.")
    ] = False,
    log_level: Annotated[
        LogLevel, typer.Option(help="Least important lines of the log; 'info' shows requests.")
    ] = LogLevel.warning,
    log_format: Annotated[
        LogFormat, typer.Option(help="Lines of the log, for people or as JSON.")
    ] = LogFormat.human,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print where it listens as one JSON line.")
    ] = False,
) -> None:
    """Label and calibrate over HTTP, with a page for people at the address it prints.

    Without an adapter the labels are zero-shot, those of --labels or a dozen
    everyday sounds; calibrate from the page, or by POST /v1/calibrate. Reachable
    from this machine alone unless --host says otherwise. Ctrl-C or SIGTERM ends
    it after all accepted work is done; a second one ends it at once.

    Example: [bold]prism serve --adapter site.safetensors --store sites[/bold]
    """
    try:
        from prism_audio.serve.app import create_app
        from prism_audio.serve.server import open_port, run
    except ImportError as error:
        raise PrismError(
            f"the service needs the package {error.name}: pip install 'prism-audio[serve]'"
        ) from None
    from prism_audio.serve.logs import start_log
    from prism_audio.serve.settings import Limits, ServiceSettings, is_loopback

    if adapter and labels:
        raise InputError("an adapter brings its own labels; leave out --labels")
    if token is not None and not token.strip():
        raise InputError("the token is empty; leave it out, or give one of some length")
    made = token is None and not is_loopback(host)
    if made:
        token = secrets.token_urlsafe(16)
    start_log(log_level, log_format)
    settings = ServiceSettings(
        adapters=tuple(adapter or ()),
        labels=labels,
        encoder=encoder,
        prompts=prompts,
        store=store,
        token=token,
        host=host,
        hosts=tuple(allow_host or ()),
        root_path=root_path.rstrip("/"),
        proxy=behind_proxy,
        limits=Limits(
            files=max_files,
            bytes=max_mb * 2**20,
            seconds=max_seconds,
            request_seconds=timeout,
            requests=queue,
        ),
    )
    with open_port(host, port) as listener:
        app = create_app(settings)
        sites = app.state.service.sites
        for line in sites.notes:
            note(line)
        if store is None:
            note("calibrated sites end with the service; --store FOLDER keeps them")
        name = f"[{host}]" if ":" in host else host
        url = f"http://{name}:{listener.getsockname()[1]}/"
        if made:
            note(f"clients must show this token: {token} (set PRISM_TOKEN for one of your own)")
            url += f"#token={token}"
        if as_json:
            typer.echo(json.dumps({"url": url, "default": sites.default, "sites": list(sites)}))
        else:
            say(f"{url}  sites: {', '.join(sites)}  (Ctrl-C stops)")
        run(app, listener)
    note("stopped; all accepted work is done")
