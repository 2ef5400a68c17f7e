"""A bench's directory: what was asked for, the finished rows, and the pages made from them."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from lab.bench.ledger import Ledger
from lab.bench.plan import Plan, PlanError, Suite, check, in_words

ASKED = "bench.json"
ROWS = "rows.jsonl"


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """What a bench was started with, so that it can be gone on with.

    Attributes:
        name: of the suite.
        about: its sentence.
        seed: of the order.
        server: the server in the user's words.
        plans: what is run.
    """

    name: str
    about: str
    seed: int
    server: str
    plans: tuple[Plan, ...]

    @property
    def suite(self) -> Suite:
        """Return the suite."""
        return Suite(name=self.name, about=self.about, plans=self.plans)


def begin(directory: Path, asked: Asked) -> Ledger:
    """Make a bench's directory and return its empty ledger.

    Raises:
        PlanError: it holds a bench already, or cannot be written.
    """
    if (directory / ROWS).exists() or (directory / ASKED).exists():
        raise PlanError(
            f"{directory}: holds a bench already; go on with --resume {directory}, or name another --output"
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
        part = directory / f"{ASKED}.part"
        part.write_bytes(msgspec.json.format(msgspec.json.encode(asked)))
        part.replace(directory / ASKED)
    except OSError as error:
        raise PlanError(f"{directory}: cannot be written: {os.strerror(error.errno or 0)}") from error
    return Ledger(directory / ROWS, resume=True)


def go_on(directory: Path) -> tuple[Asked, Ledger]:
    """Return what a bench was started with, and its ledger.

    Raises:
        PlanError: it is no bench's directory, or its files are wrong.
    """
    try:
        asked = msgspec.json.decode((directory / ASKED).read_bytes(), type=Asked)
    except FileNotFoundError as error:
        raise PlanError(f"{directory}: no bench's directory: it has no {ASKED}") from error
    except OSError as error:
        raise PlanError(f"{directory / ASKED}: cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PlanError(f"{directory / ASKED}: {in_words(str(error))}") from error
    check(asked.plans, str(directory / ASKED))
    try:
        ledger = Ledger(directory / ROWS, resume=True)
    except ValueError as error:
        raise PlanError(str(error)) from error
    digest = asked.suite.digest
    for row in ledger.rows:
        if row.get("plan_hash") != digest:
            raise PlanError(
                f"{directory / ROWS}: has a row of another plan ({row.get('plan_hash')}, not {digest}); "
                f"the two cannot be compared"
            )
    return asked, ledger
