"""``prism pick``: which clips to listen to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prism_audio.cli import options
from prism_audio.cli.console import ProgressBar, end, note, orderly_stop, printable, say, say_json
from prism_audio.io.text import counted

if TYPE_CHECKING:
    from prism_audio.model.adapter import Adapter
    from prism_audio.store.store import Store


def command(
    recordings: Annotated[
        Path, typer.Argument(help="A store of 'prism embed', or a folder of recordings.")
    ],
    adapter: Annotated[
        Path, typer.Option("--adapter", "-a", help="The calibrated place: a .safetensors file.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A folder for clips and sheet, new or of before.")
    ],
    n: Annotated[int, typer.Option("-n", min=1, help="Clips to pick.")] = 30,
    seed: Annotated[int, typer.Option(min=0, help="Another number is another draw of clips.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Pick the clips whose labels tell most, and write them with a sheet to fill in.

    The pick is a random sample with known probabilities, so 'prism check' can
    tell from it how good the answers are at the whole place. Clips of which
    the adapter is unsure, and clips that zero-shot answers otherwise, are
    likelier; every clip is possible. Listen in the order of the sheet, write
    what you hear into its column label ('other' for none of the labels), and
    stop when you like. The same command again keeps the labels; with a larger
    -n it adds clips.

    Example: [bold]prism pick recordings -a site.safetensors -n 30 -o todo[/bold]
    """
    from prism_audio.evaluation.picking import pick
    from prism_audio.evaluation.population import survey
    from prism_audio.evaluation.todo import SHEET, Todo, read_picked
    from prism_audio.labelling.calibration import refuse_other_encoder
    from prism_audio.model.adapter import Adapter

    site = Adapter.load(adapter)
    with orderly_stop("stopped; run the same command again to go on"):
        store, failures = _open(recordings, site, out)
        about = store.settings
        refuse_other_encoder(site, about.fingerprint, about.encoder, str(adapter))
        population = survey(store, site)
        picks = pick(population, n, seed)
        settings = {
            "store": str(store.path.resolve()),
            "adapter": str(adapter.resolve()),
            "n": len(picks.rows),
            "seed": seed,
        }
        failures += Todo(store, site.labels, population, picks).write(out, settings)
    listened = sum(map(bool, read_picked(out).values()))
    if as_json:
        say_json(
            {
                "sheet": printable(out / SHEET),
                "clips": len(picks.rows),
                "of": len(population),
                "listened": listened,
            }
        )
    else:
        say(f"{counted(len(picks.rows), 'clip')} of {len(population)} picked, {listened} labelled")
        say(f"  listen  {printable(out / 'clips')}")
        say(f"  label   {printable(out / SHEET)}, column label; or Audacity, Label Studio")
        say(f"  then    prism check -a {printable(adapter)} --labels {printable(out / SHEET)}")
    note(f"wrote {printable(out / SHEET)}")
    end(failures)


def _open(recordings: Path, site: Adapter, out: Path) -> tuple[Store, list[tuple[str | Path, str]]]:
    """The store, or a new one in ``out`` with the embeddings of a folder; and what failed there."""
    from prism_audio.labelling.batch import kind_of
    from prism_audio.labelling.sources import find_classes
    from prism_audio.store.store import Store
    from prism_audio.store.update import update_store

    if kind_of([recordings]) != "audio":
        return Store.open(recordings), []
    encoder = find_classes([recordings], adapter=site).encoder
    assert encoder is not None
    row = "window" if site.facts.row == "window" else "clip"
    with ProgressBar("looking", "embedding") as bar:
        report = update_store(recordings, out / "store", encoder, row=row, progress=bar)
    return Store.open(out / "store"), [(f.path, f.reason) for f in report.failures]
