"""The table of docs/hooks.md, and docs/hooks.schema.json: what hooks tell."""

from __future__ import annotations

import msgspec

from tools.markdown import Parts, table
from tuner.config.schema import HOOK_NAMES
from tuner.records.hook import HookEvent, HookType

CODES = {
    HookType.HOLD_BEGUN: "`hold_` and [its code](safety.md#holds)",
    HookType.HOLD_CLEARED: "`clear_` and its code",
    HookType.EMERGENCY_BEGUN: "`emergency`",
    HookType.MODE_CHANGED: "`mode`",
}
"""Codes of a type that has several, or another one than its own name."""


def events() -> str:
    """Return what is told, by type."""
    rows = [
        (
            f"`{kind.partition('.')[0]}`" if kind.partition(".")[0] in HOOK_NAMES else "",
            f"`{kind}`",
            CODES.get(kind, f"`{kind.replace('.', '_')}`"),
            kind.meaning,
        )
        for kind in HookType
    ]
    return table(("in `on`", "`type`", "`code`", "what happened"), rows)


PARTS: Parts = {"events": events}


def schema() -> str:
    """Return the file as it should be."""
    found = msgspec.json.schema(HookEvent) | {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The body of a hook's request, and what a hook's command reads",
    }
    return msgspec.json.format(msgspec.json.encode(found), indent=1).decode() + "\n"
