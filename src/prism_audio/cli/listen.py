"""``prism listen``: label sound while it comes."""

from __future__ import annotations

from typing import Annotated

import typer

from prism_audio.cli import options, station_options
from prism_audio.cli.console import end, note, orderly_stop, printable
from prism_audio.errors import InputError
from prism_audio.io.table_files import check_output


def command(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            help="Recordings; folders being written to; rtsp:// or http(s)://; '-' for raw samples "
            "on standard input; 'mic' (the default). NAME=SOURCE gives it a name."
        ),
    ] = None,
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
    multi: Annotated[
        bool, typer.Option("--multi", help="Events of several labels may overlap.")
    ] = False,
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
    db: station_options.Database = None,
    clips: station_options.Clips = None,
    clip_format: station_options.ClipFormat = "flac",
    keep: station_options.Keep = None,
    max_gb: station_options.MaxGb = None,
    pre_roll: station_options.PreRoll = 2.0,
    post_roll: station_options.PostRoll = 2.0,
    mqtt: station_options.Mqtt = None,
    cooldown: station_options.Cooldown = 0.0,
    quiet: station_options.Quiet = None,
    adapters: station_options.Adapters = None,
    recalibrate: station_options.Recalibrate = None,
    watchdog: station_options.Patience = 60.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document per line.")
    ] = False,
) -> None:
    """Label sound as it comes: microphones, streams, recordings, folders, raw samples.

    Every window is labelled on its own; an event is what stands out from how the
    source ordinarily sounds, which takes a minute to learn. The window is as long
    as the clips of the adapter's calibration, or the encoder's own. --warmup
    begins with zero-shot, calibrates on what it hears and then switches. A notice
    comes when the stream no longer sounds like the calibration. Ctrl-C ends it.
    Options of a station record events, keep their sound and tell others.

    Example: [bold]prism listen street.wav -a site.safetensors[/bold]
    Example: [bold]arecord -f S16_LE -r 16000 | prism listen - --rate 16000 -l x.txt[/bold]
    Example: [bold]prism listen yard=rtsp://cam/1 mic -a x.safetensors --db events.db[/bold]
    """
    from prism_audio.cli.gather import warn_of_labels
    from prism_audio.cli.notices import JsonTeller, Teller
    from prism_audio.cli.station_setup import AdapterSink, ListenerSettings, SinkSettings
    from prism_audio.labelling.calibration import estimator
    from prism_audio.labelling.sources import find_classes
    from prism_audio.station.announcing import Announcements, QuietHours
    from prism_audio.station.hearing import Rolls
    from prism_audio.station.parse import InputSettings, parse_sources
    from prism_audio.station.station import Station

    if save_adapter and not warmup:
        raise InputError("--save-adapter keeps what a --warmup N has found; give both")
    if save_adapter:
        check_output(save_adapter, (".safetensors",))
    if recalibrate and adapters is None:
        raise InputError("--recalibrate keeps versions of adapters; say where: --adapters FOLDER")
    # Unbuffered: a thread that waits for it must not hold a lock when the process ends.
    stdin = lambda: open(0, "rb", buffering=0, closefd=False)  # noqa: E731, SIM115
    settings = InputSettings(stdin, rate, form, channels, device)
    heard = parse_sources(sources or ["mic"], settings)
    if save_adapter and len(heard) > 1:
        raise InputError("--save-adapter keeps one adapter; for several sources: --adapters FOLDER")
    outputs = SinkSettings(db, clips, clip_format, keep, max_gb, mqtt)
    announcements = Announcements(QuietHours.parse(quiet) if quiet else None, cooldown)
    failures: list[tuple[str, str]] = []
    with orderly_stop("stopped"):
        classes = find_classes(
            None,
            labels=labels,
            background=background,
            adapter=adapter,
            encoder=encoder,
            prompts=prompts,
        )
        warn_of_labels(classes)
        if warmup or recalibrate:
            estimator(preset)
        tower = classes.encoder
        assert tower is not None
        used = classes.adapter or classes.vocabulary.adapter()
        rolls = Rolls(pre_roll, post_roll) if clips else None
        manner = ListenerSettings(
            window, hop, confirm, threshold, warmup, preset, place, every, rolls, adapters, recalibrate,
            multi,
        )  # fmt: skip
        hearings = [manner.hearing(source, tower, used) for source in heard]
        warn = lambda text: note(printable(text))  # noqa: E731
        database = outputs.database(heard)
        sinks = outputs.sinks(heard, used.labels, database, warn)
        if save_adapter:
            sinks.append(AdapterSink(save_adapter))
        station = Station(
            hearings,
            [*sinks, (JsonTeller if as_json else Teller)(hearings, warmup)],
            warn=warn,
            announcements=announcements,
            patience=watchdog,
            memory=database,
        )
        failures = station.run()
    end(failures)
