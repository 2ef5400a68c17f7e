"""What the pages of the long measurements share: their conditions, their verdicts, and being written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def put(path: Path, parts: Sequence[str]) -> Path:
    """Write a page of these parts, empty ones left out, and return its path."""
    path.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return path


def conditions(given: Mapping[str, Any], *, load: str, sharing: str, told: str) -> str:
    """Return the part about what was measured on.

    Args:
        given: the conditions, as rows say them.
        load: how the load reached the server.
        sharing: what ran on the processors.
        told: where the figures come from.
    """
    return (
        f"## Conditions\n{given['server']} in a container, disk limited to {given['write_iops']} write"
        f" operations/s, redo capacity S = {given['redo_capacity'] // 2**20} MiB, buffer pool"
        f" {given['buffer_pool'] // 2**20} MiB, no binary log, `O_DIRECT`; sysbench `{given['load']}`{load},"
        f" {given['threads']} threads, {given['tables']} tables of {given['rows']} rows,"
        f" {given['rand_type']}; {given['processors']} processors shared by {sharing}. {told}"
    )


def verdict(text: str, *, met: bool) -> str:
    """Return one line of the summary, saying plainly whether the promise was kept."""
    return f"- {'met' if met else '**not met**'}: {text}"
