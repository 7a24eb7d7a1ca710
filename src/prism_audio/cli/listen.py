"""``prism listen``: label sound while it comes."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from prism_audio.cli import options


def command(
    source: Annotated[
        str,
        typer.Argument(
            help="A recording; rtsp:// or http(s)://; '-' for raw samples on standard input; 'mic'."
        ),
    ] = "mic",
    labels: options.Labels = None,
    background: options.Background = None,
    adapter: options.AdapterFile = None,
    warmup: Annotated[
        int, typer.Option(min=0, help="Calibrate on the first N windows, then use the result.")
    ] = 0,
    window: Annotated[
        float | None, typer.Option(help="Seconds of sound behind an answer; see above.")
    ] = None,
    hop: Annotated[
        float | None, typer.Option(help="Seconds between answers; the encoder's own by default.")
    ] = None,
    confirm: Annotated[
        int, typer.Option(min=1, help="Answers in a row that must agree to make an event.")
    ] = 2,
    every: Annotated[
        bool, typer.Option("--every", help="Print every answer, not events alone.")
    ] = False,
    threshold: options.Threshold = None,
    rate: Annotated[
        int | None, typer.Option(help="Hz of the samples on standard input; needed with '-'.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="Samples on standard input: s16le, s32le or f32le.")
    ] = "s16le",
    channels: Annotated[
        int, typer.Option(min=1, help="Channels on standard input, interleaved.")
    ] = 1,
    device: Annotated[
        str | None, typer.Option(help="Microphone, by name or number; see python -m sounddevice.")
    ] = None,
    save_adapter: options.SaveAdapter = None,
    place: options.Place = None,
    encoder: options.Encoder = None,
    prompts: options.Prompts = "sentences",
    preset: options.Preset = "default",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document per line.")
    ] = False,
) -> None:
    """Label a stream: the microphone, a recording, or raw samples on standard input.

    Every window is labelled on its own; an event is printed when enough windows
    in a row agree. The window is as long as the clips of the adapter's
    calibration, or the encoder's own where there was none. --warmup begins with
    zero-shot, calibrates on what it hears, and says when it switches. A notice
    comes when the stream no longer sounds like the calibration. Ctrl-C ends it.

    Example: [bold]prism listen street.wav -a site.safetensors[/bold]
    Example: [bold]arecord -f S16_LE -r 16000 | prism listen - --rate 16000 -l x.txt[/bold]
    """
    from prism_audio.audio.capture import sound_blocks
    from prism_audio.cli.console import end, orderly_stop
    from prism_audio.cli.notices import JsonTeller, Teller
    from prism_audio.errors import AudioError, InputError
    from prism_audio.io.table_files import check_output
    from prism_audio.labelling.calibration import estimator
    from prism_audio.labelling.listener import Listener, Pace, Switched
    from prism_audio.labelling.sources import find_classes

    if save_adapter and not warmup:
        raise InputError("--save-adapter keeps what a --warmup N has found; give both")
    if save_adapter:
        check_output(save_adapter, (".safetensors",))
    if source == "-" and rate is None:
        raise InputError("raw samples do not tell their rate; say it, for example --rate 16000")
    name = source
    if "://" in source:
        from prism_audio.audio.network import NetworkStream

        name = NetworkStream(source).name  # without the password
    elif source not in ("-", "mic") and not Path(source).is_file():
        raise InputError(f"{source}: there is no such recording")
    failures: list[tuple[str | Path, str]] = []
    with orderly_stop("stopped"):
        classes = find_classes(
            None,
            labels=labels,
            background=background,
            adapter=adapter,
            encoder=encoder,
            prompts=prompts,
        )
        if warmup:
            estimator(preset)
        tower = classes.encoder
        assert tower is not None
        used = classes.adapter or classes.vocabulary.adapter()
        pace = Pace.for_adapter(tower, used, window, hop, confirm)
        listener = Listener(
            tower,
            used,
            pace,
            threshold=threshold,
            warmup=warmup,
            preset=preset,
            place=place or ("" if source in ("-", "mic") else Path(name).name),
        )
        teller = (JsonTeller if as_json else Teller)(listener, every)
        teller.settings(name, warmup)
        blocks = sound_blocks(
            sys.stdin.buffer if source == "-" else source,
            tower.rate,
            rate=rate,
            form=form,
            channels=channels,
            device=device,
        )
        began = time.process_time()
        try:
            for notice in listener.hear(blocks):
                teller.take(notice)
                if save_adapter and isinstance(notice, Switched):
                    teller.wrote(notice.adapter.save(save_adapter))
        except AudioError as error:
            failures.append((source, str(error).removeprefix(f"{source}: ")))
        finally:
            # Processor time, of all threads: waiting for a microphone costs none.
            teller.summary(time.process_time() - began)
    end(failures)
