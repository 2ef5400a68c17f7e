"""What is in an image, by its name and its environment, as long as nobody has run it."""

from __future__ import annotations

import re

from lab.servers.flavour import Product
from lab.servers.version import Version, read_version

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
        if name in _VARIABLES and (found := _numbers(value)) is not None:
            return Version(_VARIABLES[name], found)
    maker, numbers = image_product(tag), _numbers(tag.rpartition(":")[2])
    if maker is None or numbers is None or numbers == _AMBIGUOUS:
        return None
    return Version(maker, numbers)


def asked_version(said: str) -> Version | str:
    """Return what a server said to be there, else why it is refused."""
    version = read_version(said)
    if version is None:
        return f"its version is not understood: {said.strip()!r}"
    return version.refusal or version


def _numbers(text: str) -> tuple[int, ...] | None:
    found = _NUMBERS.match(text)
    return None if found is None else tuple(int(one) for one in found[1].split("."))
