"""Label Studio: clips to label as a file of tasks with its labelling interface, and the export back.

In Label Studio: a new project, Labeling Setup with the content of ``label_studio.xml``, then Import
``label_studio.json``. The paths of the clips are those of local files below the folder that
LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT names. Export as JSON when done.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from prism_audio.errors import InputError

# The column of a clip's path and that of the answer, as the interface calls them.
_AUDIO, _CHOICE = "audio", "label"


def interface(labels: Sequence[str]) -> str:
    """The labelling interface: the sound, and one choice of the labels, with keys 1 to 9."""
    keys = [f" hotkey={quoteattr(str(key))}" for key in range(1, 10)]
    keys += [""] * (len(labels) - len(keys))
    choices = "".join(
        f"    <Choice value={quoteattr(label)}{key}/>\n"
        for label, key in zip(labels, keys, strict=False)
    )
    return (
        f'<View>\n  <Audio name="{_AUDIO}" value="${_AUDIO}"/>\n'
        f'  <Choices name="{_CHOICE}" toName="{_AUDIO}" choice="single">\n{choices}'
        "  </Choices>\n</View>\n"
    )


def tasks(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of a sheet with the columns clip and suggestion as tasks, in JSON."""
    return json.dumps([_task(row) for row in rows], indent=1, ensure_ascii=False) + "\n"


def _task(row: Mapping[str, Any]) -> dict[str, Any]:
    def answer(label: str) -> dict[str, Any]:
        about = {"from_name": _CHOICE, "to_name": _AUDIO, "type": "choices"}
        return {"result": [{**about, "value": {"choices": [label]}}]}

    data = {name: str(value) for name, value in row.items() if name not in ("label", "suggestion")}
    task: dict[str, Any] = {
        "data": {_AUDIO: f"/data/local-files/?d={row['clip']}", **data},
        "predictions": [answer(row["suggestion"])],
    }
    if row["label"]:
        task["annotations"] = [answer(row["label"])]
    return task


def read_export(path: str | os.PathLike[str]) -> list[dict[str, str]]:
    """Rows of a sheet from an export in JSON; a task without an annotation has the label ""."""
    try:
        documents = json.loads(Path(path).read_text(encoding="utf-8-sig"))
        return [{**_text(task["data"]), "label": _choice(task)} for task in documents]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path} cannot be read as an export of Label Studio ({error}); export the project as "
            "JSON, not JSON-MIN"
        ) from None


def _text(data: Mapping[str, Any]) -> dict[str, str]:
    return {name: "" if value is None else str(value) for name, value in data.items()}


def _choice(task: Mapping[str, Any]) -> str:
    """The last choice that was not cancelled."""
    done = [a for a in task.get("annotations") or () if not a.get("was_cancelled")]
    results = [result for annotation in done for result in annotation["result"]]
    return str(results[-1]["value"]["choices"][0]) if results else ""
