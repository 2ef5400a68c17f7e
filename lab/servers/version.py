"""What a server says that it is, and whether the lab takes it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lab.servers.flavour import Flavour, Product, product
from lab.servers.spec import LabServerError
from tuner.servers.release import version_of

OLDEST: dict[Product, tuple[int, ...]] = {"MySQL": (5, 6), "Percona Server": (5, 7), "MariaDB": (10, 5)}
"""The first version of each that is supported."""

_FIRST_57 = (5, 7)
_FIRST_CAPACITY = (8, 0, 30)
_NUMBERS = re.compile(r"Ver (\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Version:
    """A server's maker and version."""

    product: Product
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        """Return both as people write them."""
        return f"{self.product} {dotted(self.numbers)}"

    @property
    def flavour(self) -> Flavour:
        """How it is started, filled and ended."""
        if self.product == "MariaDB":
            return Flavour.MARIADB
        if self.numbers < _FIRST_57:
            return Flavour.MYSQL_56
        return Flavour.MYSQL_57 if self.numbers < _FIRST_CAPACITY else Flavour.MYSQL

    @property
    def refusal(self) -> str | None:
        """Why it is not taken, None when it is."""
        oldest = OLDEST[self.product]
        if self.numbers >= oldest:
            return None
        return f"{self} is not supported: {self.product} {dotted(oldest)} is the oldest that is"


def read_version(text: str) -> Version | None:
    """Return what a line of ``mysqld --version`` or ``mariadbd --version`` says, None when it is neither."""
    found = _NUMBERS.search(text)
    if found is None:
        return None
    return Version(product(text, text), tuple(int(one) for one in found.groups()))


def dotted(numbers: tuple[int, ...]) -> str:
    """Return a version's numbers as people write them."""
    return ".".join(map(str, numbers))


def version_said(version: object) -> str:
    """Return a server's ``@@version``, out of which pages are made.

    Raises:
        LabServerError: it is no version.
    """
    try:
        return version_of(str(version))
    except ValueError as error:
        raise LabServerError(f"the server says as its version what is none: {error}") from error
