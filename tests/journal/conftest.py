"""A writer on a state directory of the test's own, and a journal that nobody has open any more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journal.written import SOON, Keep, MakeWriter, put
from tuner.journal.items import Item
from tuner.journal.writer import JournalWriter
from tuner.records import TickRecord


@pytest.fixture
def messages() -> list[str]:
    """Return where a writer's complaints go."""
    return []


@pytest.fixture
def writer(tmp_path: Path, messages: list[str]) -> Iterator[MakeWriter]:
    """Return a maker of started writers on one state directory, all closed afterwards."""
    made: list[JournalWriter] = []

    def build(
        *, keep_ticks: int = 3600, queue_ticks: int = 1200, directory: Path = tmp_path
    ) -> JournalWriter:
        journal = JournalWriter(
            directory,
            keep_ticks=keep_ticks,
            on_error=messages.append,
            batch_seconds=60.0,
            queue_ticks=queue_ticks,
        )
        journal.start()
        made.append(journal)
        return journal

    yield build
    for journal in made:
        journal.close(SOON)


@pytest.fixture
def keep(writer: MakeWriter, tmp_path: Path) -> Keep:
    """Return what writes ticks and items to a journal and closes it; it returns the directory."""

    def build(*things: Item | TickRecord, directory: Path = tmp_path) -> Path:
        assert put(writer(directory=directory), *things).close(SOON)
        return directory

    return build
