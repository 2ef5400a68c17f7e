"""The JSON Schema of what commands print with ``--json``, made from the types that they print."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from api.models import Change, Status
from tuner.cli import advise, check, config, doctor, fleet, hosted, redo, redo_growth, steering
from tuner.fleet.hosts import View
from tuner.records import TrialProgress
from tuner.why.model import Why

ANSWERS: dict[str, tuple[type[Struct], ...]] = {
    "advise": (advise.Advised,),
    "check": (check.Answer,),
    "config check": (config.Checked,),
    "config explain": (config.Keys,),
    "config show": (config.Shown,),
    "doctor": (doctor.Answer,),
    "hosted apply": (hosted.HostedDone,),
    "hosted restore": (hosted.HostedDone,),
    "drain": (Change, steering.Done),
    "fleet": (View,),
    "fleet activate": (fleet.Stage,),
    **dict.fromkeys(("fleet park", "fleet pause", "fleet resume"), (fleet.Switched,)),
    "mode": (Change,),
    "override": (Change,),
    "park": (Change, steering.Done),
    "pause": (Change,),
    "redo": (redo.Answer, redo_growth.Resized),
    "restore": (Change, steering.Done),
    "resume": (Change,),
    "status": (Status,),
    "trial begin": (Change, TrialProgress),
    "trial status": (TrialProgress,),
    "trial stop": (Change,),
    "why": (Why,),
}
"""By command: what it prints, and what with --wait, without a daemon, or with --to and --undo."""


def schema() -> dict[str, Any]:
    """Return the schema of an object that has an answer under the name of its command."""
    every = [one for types in ANSWERS.values() for one in types]
    found, definitions = msgspec.json.schema_components(every, ref_template="#/$defs/{name}")
    references = dict(zip(every, found, strict=True))
    for made in definitions.values():
        if "properties" in made:
            made["required"] = list(made["properties"])  # what has its default is printed as well
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What innobrim COMMAND --json prints where it exits with an answer, by the command's name",
        "type": "object",
        "properties": {
            name: {"anyOf": [references[one] for one in types]} for name, types in ANSWERS.items()
        },
        "additionalProperties": False,
        "$defs": definitions,
    }


def text() -> str:
    """Return the file as it should be."""
    return msgspec.json.format(msgspec.json.encode(schema()), indent=1).decode() + "\n"
