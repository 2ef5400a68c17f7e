"""Whose server it is and which version, by what a server or its image says of itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from lab.servers.spec import MARIADB, MYSQL, MYSQL_56, MYSQL_57, MYSQL_80, Kind, LabServerError
from tuner.servers.release import version_of

Product = Literal["MySQL", "Percona Server", "MariaDB"]


def product(version: str, comment: str) -> Product:
    """Return whose server it is, by ``@@version`` and ``@@version_comment``."""
    if "mariadb" in version.lower() or "mariadb" in comment.lower():
        return "MariaDB"
    return "Percona Server" if "percona" in comment.lower() else "MySQL"


OLDEST: dict[Product, tuple[int, ...]] = {"MySQL": (5, 6), "Percona Server": (5, 7), "MariaDB": (10, 5)}
"""The first version of each that is supported."""

_FIRST_57 = (5, 7)
_FIRST_80 = (8, 0)
_FIRST_CAPACITY = (8, 0, 30)
_SAID = re.compile(r"Ver (\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Version:
    """A server's maker and version."""

    product: Product
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.product} {_dotted(self.numbers)}"

    @property
    def kind(self) -> Kind:
        """How it is started, filled and ended."""
        if self.product == "MariaDB":
            return MARIADB
        if self.numbers < _FIRST_57:
            return MYSQL_56
        if self.numbers < _FIRST_80:
            return MYSQL_57
        return MYSQL_80 if self.numbers < _FIRST_CAPACITY else MYSQL

    @property
    def refusal(self) -> str | None:
        """Why it is not taken, None when it is."""
        oldest = OLDEST[self.product]
        if self.numbers >= oldest:
            return None
        return f"{self} is not supported: {self.product} {_dotted(oldest)} is the oldest that is"


Family = Literal["mysql", "mariadb"]
"""Percona Server is one of the first."""


def of_family(version: Version, family: Family | None) -> bool:
    """Return whether a server is of a family; None is any."""
    return family is None or (family == "mariadb") == (version.kind is MARIADB)


def _dotted(numbers: tuple[int, ...]) -> str:
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


def asked_version(said: str) -> Version | str:
    """Return what a line of ``mysqld --version`` or ``mariadbd --version`` says, else why it is refused."""
    found = _SAID.search(said)
    if found is None:
        return f"its version is not understood: {said.strip()!r}"
    version = Version(product(said, said), tuple(int(one) for one in found.groups()))
    return version.refusal or version


WAYS = (
    "name an image with its version (mysql:9.7, mysql:8.4, mariadb:11.8, percona/percona-server:8.0), the"
    " path of a mysqld or mariadbd, or a server of make servers (mysql-8.0.31)"
)

IMAGES = (
    *("innobrim/mysql:9.7", "mysql:9.7", "mysql:8.4", "mysql:8.0"),
    *("innobrim/mariadb:11.8", "mariadb:11.8", "innobrim/mariadb:10.11", "mariadb:10.11"),
)
"""Those that are taken unasked, best first; innobrim's own are made, not fetched."""

_OFFICIAL: dict[str, Product] = {
    "mysql": "MySQL",
    "mysql-server": "MySQL",
    "mariadb": "MariaDB",
    "percona": "Percona Server",
    "percona-server": "Percona Server",
}
_VARIABLES: dict[str, Product] = {
    "MYSQL_VERSION": "MySQL",
    "MARIADB_VERSION": "MariaDB",
    "PS_VERSION": "Percona Server",
}
_NUMBERS = re.compile(r"(?:\d+:)?(\d+(?:\.\d+)+)")
_AMBIGUOUS = (8, 0)
"""A tag that both sides of 8.0.30 may have."""


def image_product(tag: str) -> Product | None:
    """Return whose server an image has by its name, None where the name does not tell."""
    return _OFFICIAL.get(tag.partition("@")[0].rpartition(":")[0].rpartition("/")[2])


def image_version(tag: str, environment: list[str] | tuple[str, ...] = ()) -> Version | None:
    """Return what an image has by its environment, else by its tag; None where only running it tells."""
    for entry in environment:
        name, _, value = entry.partition("=")
        if name in _VARIABLES and (found := _leading_numbers(value)) is not None:
            return Version(_VARIABLES[name], found)
    maker, numbers = image_product(tag), _leading_numbers(tag.rpartition(":")[2])
    if maker is None or numbers is None or numbers == _AMBIGUOUS:
        return None
    return Version(maker, numbers)


def _leading_numbers(text: str) -> tuple[int, ...] | None:
    found = _NUMBERS.match(text)
    return None if found is None else tuple(int(one) for one in found[1].split("."))
