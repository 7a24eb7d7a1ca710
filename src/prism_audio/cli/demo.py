"""``prism demo``: see the effect in two minutes, without any recordings."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from prism_audio.cli.console import note, say, say_json


def command(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the pictures and the adapter.")
    ] = Path("prism-demo"),
    seed: Annotated[int, typer.Option(help="Seed of the synthetic sounds.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Show what a calibration does: on real embeddings, then from sound to label.

    Part 1 uses embeddings of 2000 real clips in street noise, which ship with the
    package. Part 2 makes synthetic sounds, adds noise, and does everything from
    samples to labels. Every number is computed in the run.

    Example: [bold]prism demo -o prism-demo[/bold]
    """
    from prism_audio.demo import run as demo

    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise typer.BadParameter(f"cannot make the folder {output}: {error.strerror}") from None
    if not json:
        note("1 of 2: ESC-50 in street noise, real embeddings")
    real = demo.real_embeddings(output)
    if not json:
        note("2 of 2: synthetic sounds in noise, from samples to labels (about a minute)")
    synthetic = demo.synthetic_sounds(output, seed)
    if json:
        say_json({"real": asdict(real), "synthetic": asdict(synthetic)})
        return
    for part in (real, synthetic):
        say("")
        say(part.title)
        say(f"  {part.clips} clips, {part.classes} classes, encoder {part.encoder}")
        say(f"  zero-shot      {part.before:5.1f} % right")
        say(
            f"  after PRISM    {part.after:5.1f} % right   ({part.after - part.before:+.1f} points)"
        )
        say(f"  verdict: {part.verdict} ({'; '.join(part.reasons)})")
        for path in part.files:
            say(f"  wrote {path}")
    say("")
    say("Next: prism classify FOLDER --labels 'dog bark, siren, drilling'")
