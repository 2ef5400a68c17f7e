"""A server whose facts and readings can be changed, and what check says of it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.bench import FakeServer
from tuner.findings.check import Report, check
from tuner.findings.finding import Finding
from tuner.records import Facts, Missed, Sample
from tuner.servers.port import ServerError
from tuner.servers.survey import Survey
from tuner.settings import GrowTo, Settings

DEFAULTS = Settings()


class Odd(FakeServer):
    """A fake server whose facts and readings can be changed.

    Attributes:
        failure: raised instead of facts.
        changed_facts: fields of the facts.
        changed_sample: fields of a reading.
        limit: up to which size a procedure grows the redo log, bytes; None without one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failure: ServerError | None = None
        self.changed_facts: dict[str, Any] = {}
        self.changed_sample: dict[str, Any] = {}
        self.limit: int | None = None

    def redo_limit(self) -> int | None:
        """Return up to which size a procedure grows the redo log, bytes; None without one."""
        return self.limit

    def survey(self) -> Survey:
        """Return where its files are: on another machine."""
        return Survey(0.0)

    def facts(self) -> Facts:
        """Return what this server is, or fail."""
        if self.failure is not None:
            raise self.failure
        return replace(super().facts(), **self.changed_facts)

    def read(self) -> Sample | Missed:
        """Return a reading with changes."""
        reading = super().read()
        return replace(reading, **self.changed_sample) if isinstance(reading, Sample) else reading


def look(
    server: Odd, *, active: bool = False, settings: Settings = DEFAULTS, grow_to: GrowTo | None = None
) -> Report:
    """Check it."""
    return check(server, active=active, settings=settings, grow_to=grow_to)


def line(report: Report, name: str) -> Finding:
    """Return one line by name."""
    (found,) = [one for one in report.findings if one.id == name]
    return found
