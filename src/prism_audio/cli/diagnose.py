"""``prism diagnose``: what a place does to embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from prism_audio.cli import options
from prism_audio.cli.console import ProgressBar, end, note, orderly_stop, printable, say_json
from prism_audio.cli.pictures import check_picture, draw_shift
from prism_audio.errors import InputError
from prism_audio.io.text import counted

if TYPE_CHECKING:
    from prism_audio.encoders.protocol import Encoder
    from prism_audio.labelling.batch import Batch


def command(
    noisy: Annotated[
        Path, typer.Argument(help="Noisy recordings: a folder, a store, or an array file.")
    ],
    clean: Annotated[
        Path | None,
        typer.Option(help="Clean versions of the same clips, under the same names."),
    ] = None,
    labels: options.Labels = None,
    prototypes: options.Prototypes = None,
    picture: Annotated[
        Path | None, typer.Option("--out", "-o", help="Draw the energy to a .png, .svg or .pdf.")
    ] = None,
    encoder: options.Encoder = None,
    prompts: options.Prompts = "sentences",
    preset: options.Preset = "default",
    as_json: options.Json = False,
) -> None:
    """Look at what a place does to embeddings, with clean versions of the clips or without.

    With --clean: how many directions the shift takes up (the paper's Affine Noise
    Hypothesis says few), and how much of it is one affine map. Without: what can
    be said from noisy clips alone, for which it needs --labels.

    Example: [bold]prism diagnose noisy --clean clean -o shift.png[/bold]
    """
    from prism_audio.cli.diagnosis import look_document, show_look
    from prism_audio.cli.gather import gather_batch
    from prism_audio.labelling.calibration import estimator
    from prism_audio.labelling.sources import find_classes
    from prism_audio.model.diagnose import look_at

    if clean is not None:
        _with_pairs(noisy, clean, picture, encoder, as_json)
    if picture:
        raise InputError("--out draws the shift, which only --clean versions of the clips show")
    with orderly_stop("stopped"):
        classes = find_classes(
            [noisy], labels=labels, prototypes=prototypes, encoder=encoder, prompts=prompts
        )
        estimator(preset)
        batch = gather_batch([noisy], classes)
        look = look_at(batch.embeddings, classes.vocabulary, preset)
    if as_json:
        say_json(look_document(look))
    else:
        show_look(look)
    end(batch.failures)


def _with_pairs(
    noisy: Path, clean: Path, picture: Path | None, encoder: str | None, as_json: bool
) -> NoReturn:
    from prism_audio.cli.diagnosis import shift_document, show_shift
    from prism_audio.encoders.registry import DEFAULT, load_encoder
    from prism_audio.labelling.batch import kind_of
    from prism_audio.model.diagnose import pair_rows, shift_of

    kinds = {kind_of([path]) for path in (noisy, clean)}
    if picture:
        check_picture(picture)
    with orderly_stop("stopped"):
        tower = load_encoder(encoder or DEFAULT) if "audio" in kinds else None
        before, after = (_embeddings(path, tower) for path in (clean, noisy))
        failures = [*before.failures, *after.failures]
        if not len(before) or not len(after):
            end(failures)
        if before.fingerprint != after.fingerprint:
            raise InputError(
                f"{clean} is embedded by {before.encoder or 'an unknown encoder'}, {noisy} by "
                f"{after.encoder or 'an unknown encoder'}; embed both with the same one"
            )
        these, those = pair_rows(_names(before, clean), _names(after, noisy))
        shift = shift_of(before.embeddings[these], after.embeddings[those])
        if picture:
            draw_shift(shift, picture)
    if as_json:
        say_json(shift_document(shift))
    else:
        show_shift(shift)
    if alone := len(before) + len(after) - 2 * shift.pairs:
        note(f"left out: {counted(alone, 'clip')} without a version on the other side")
    if picture:
        note(f"wrote {printable(picture)}")
    end(failures)


def _embeddings(path: Path, encoder: Encoder | None) -> Batch:
    from prism_audio.labelling.batch import embed_batch, kind_of, read_batch

    if encoder is None or kind_of([path]) != "audio":
        return read_batch(path)
    with ProgressBar("looking", f"embedding {printable(path.name)}") as bar:
        return embed_batch([path], encoder, progress=bar)


def _names(batch: Batch, path: Path) -> list[str]:
    """What a clip is called on either side: its path below the folder, without the suffix."""
    if batch.row == "row":
        return [str(i) for i in range(len(batch))]
    names = [Path(file) for file in batch.files]
    if path.is_dir():
        names = [file.relative_to(path) if file.is_relative_to(path) else file for file in names]
    else:
        names = [Path(file.name) for file in names]
    return [file.with_suffix("").as_posix() for file in names]
