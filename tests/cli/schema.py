"""The published JSON Schema, and whether an answer keeps to it."""

from __future__ import annotations

import functools
import json
from typing import Any

import jsonschema_rs

from tools.__main__ import DOCS


@functools.cache
def _validator() -> jsonschema_rs.Validator:
    """Return what judges; a field that the schema does not name is a fault here."""
    schema = json.loads((DOCS / "answers.schema.json").read_text(encoding="utf-8"))
    for made in schema["$defs"].values():
        if "properties" in made:
            made["additionalProperties"] = False
    return jsonschema_rs.validator_for(schema)


def answer(command: str, printed: str) -> Any:  # noqa: ANN401 - any answer
    """Return what a command printed with --json: one line, which the published schema has to allow."""
    assert printed.count("\n") == 1, printed
    found = json.loads(printed)
    faults = [str(one) for one in _validator().iter_errors({command: found})]
    assert not faults, "\n".join((printed, *faults))
    return found
