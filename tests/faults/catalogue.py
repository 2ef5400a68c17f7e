"""The list of faults: what each test does to the loop, in words for ``docs/safety.md``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., None])

ALONE = "MySQL 9.7"
EVERY = "every family"


class Group(StrEnum):
    """What the fault happens to; the sections of the page, in this order."""

    DAEMON = "The daemon dies"
    MYSQLD = "mysqld dies or hangs"
    NETWORK = "Network"
    ACCOUNT = "Account"
    WRITERS = "Other writers"
    JOURNAL = "Journal and its disk"
    CLOCK = "Clock"
    ROLES = "Roles and locks"
    CONFIGURATION = "Configuration"
    LOAD = "Load and redo"


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of the page.

    Attributes:
        group: its section.
        what: what happens, as an SRE would say it.
        left: what the server is left at meanwhile.
        back: how the loop comes back, or what it waits for.
        invariants: numbers of the published invariants that matter most.
        module: file of the test function, without its ending.
        test: name of the test function.
        on: the servers that it happens to.
    """

    group: Group
    what: str
    left: str
    back: str
    invariants: tuple[int, ...]
    module: str
    test: str
    on: str


FAULTS: dict[str, Fault] = {}
"""Every fault whose module was imported, by its test's name."""


def fault(
    group: Group, *, what: str, left: str, back: str, invariants: tuple[int, ...], on: str = ALONE
) -> Callable[[Test], Test]:
    """Enter a test function into the list.

    Args:
        group: its section.
        what: what happens, as an SRE would say it.
        left: what the server is left at meanwhile.
        back: how the loop comes back, or what it waits for.
        invariants: numbers of the published invariants that matter most.
        on: the servers that it happens to.
    """

    def enter(test: Test) -> Test:
        module = test.__module__.rpartition(".")[2]
        before = FAULTS.get(test.__name__)
        if before is not None and before.module != module:
            raise ValueError(f"two faults are called {test.__name__}: in {before.module} and in {module}")
        FAULTS[test.__name__] = Fault(group, what, left, back, invariants, module, test.__name__, on)
        return test

    return enter
