"""``prism calibrate``: unlabelled recordings from one place to an adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prism_audio.cli import options
from prism_audio.cli.console import end, note, orderly_stop, printable, say_json
from prism_audio.cli.options import Engine
from prism_audio.io.table_files import check_output


def command(
    recordings: Annotated[
        list[Path],
        typer.Argument(
            help="A folder or files; a store of 'prism embed'; or .npy .npz .parquet .safetensors "
            ".pt embeddings."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The adapter: a .safetensors file.")],
    labels: options.Labels = None,
    background: options.Background = None,
    prototypes: options.Prototypes = None,
    labelled: Annotated[
        Path | None,
        typer.Option(
            help="Clips that a person has labelled: a .csv with columns file, label and perhaps "
            "start, end, as 'prism pick' writes it."
        ),
    ] = None,
    place: options.Place = None,
    windows: Annotated[
        bool, typer.Option("--windows", help="Calibrate on windows: for streams and timelines.")
    ] = False,
    car: Annotated[
        bool, typer.Option("--car", help="Correct classes of low confidence less (CAR).")
    ] = False,
    encoder: options.Encoder = None,
    prompts: options.Prompts = "sentences",
    preset: options.Preset = "default",
    chunk_rows: Annotated[
        int | None,
        typer.Option(min=1, help="Read N rows at a time: for files larger than memory."),
    ] = None,
    engine: options.Who = Engine.local,
    address: options.Address = None,
    as_json: options.Json = False,
) -> None:
    """Look at unlabelled recordings once and keep the correction of their place in a file.

    The file then works for every new clip: prism classify --adapter, prism listen
    --adapter, prism export. Where the recordings do not suffice for a correction,
    the verdict says so and the file holds plain zero-shot. No clip needs a
    label; a few labelled clips make it better (--labelled).

    Example: [bold]prism calibrate recordings -l "dog bark, siren" -o site.safetensors[/bold]
    """
    from prism_audio.cli.gather import gather_batch, gather_chunks, place_of
    from prism_audio.cli.inspect import document, show
    from prism_audio.labelling.batch import read_places
    from prism_audio.labelling.calibration import (
        calibrate_place,
        calibrate_rows,
        estimator,
        read_labelled,
    )
    from prism_audio.labelling.sheet import classes_of_rows
    from prism_audio.labelling.sources import find_classes

    check_output(out, (".safetensors",))
    with orderly_stop(f"stopped; {printable(out)} was not written"):
        classes = find_classes(
            recordings,
            labels=labels,
            background=background,
            prototypes=prototypes,
            encoder=encoder,
            prompts=prompts,
        )
        estimator(preset, car)
        words = classes.vocabulary
        sheet = read_labelled(labelled, words, preset, car)
        named = place_of(recordings, place)
        if chunk_rows is None and engine is Engine.local:
            batch = gather_batch(recordings, classes, windows=windows)
            failures = batch.failures
            y = classes_of_rows(sheet, words.labels, batch.files, batch.start, batch.end)
            adapter = calibrate_place(batch, words, place=named, preset=preset, car=car, y=y)
        else:
            rows = gather_chunks(recordings, chunk_rows, engine is Engine.ray, address)
            failures = []
            places = read_places(recordings[0], len(rows.source.heard)) if sheet else None
            adapter = calibrate_rows(
                rows.source,
                words,
                place=named,
                preset=preset,
                car=car,
                encoder=rows.encoder,
                fingerprint=rows.fingerprint,
                y=classes_of_rows(sheet, words.labels, *places) if places else None,
            )
    adapter.save(out)
    if as_json:
        say_json({"adapter": printable(out), **document(adapter)})
    else:
        show(adapter)
    note(f"wrote {printable(out)}")
    end(failures)
