"""The servers that ``make servers`` makes, by name; ``lab/setup/servers.sh`` alone lists them.

mysql-8.0.31 is the folder ``.cache/mysql-8.0.31`` of the checkout, mysql-9.7 the image
``innobrim/mysql:9.7``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache"
_NAME = re.compile(r"(?:mysql|mariadb)-\d+(?:\.\d+)+")
_IMAGE = re.compile(r"innobrim/(mysql|mariadb):(\d+(?:\.\d+)+)")
_PROGRAMS = ("bin/mysqld", "bin/mariadbd", "mysqld")


def is_name(words: str) -> bool:
    """Tell whether words have the shape of a name; the server need not be here."""
    return _NAME.fullmatch(words) is not None


def program_of(name: str) -> Path | None:
    """Return the program in a name's folder, None where there is none."""
    places = (CACHE / name / place for place in _PROGRAMS)
    return next((place for place in places if place.is_file()), None)


def image_of(name: str) -> str:
    """Return the image that a name without a folder stands for."""
    return f"innobrim/{name.replace('-', ':', 1)}"


def name_of(image: str) -> str:
    """Return the name that an image of ours stands for; of any other one the image itself."""
    found = _IMAGE.fullmatch(image)
    return f"{found[1]}-{found[2]}" if found else image


def names_here(tags: Iterable[str]) -> list[str]:
    """Return the names of the servers that are here, sorted.

    Args:
        tags: of the images that are here.
    """
    folders = (path.name for path in CACHE.glob("m*-*") if is_name(path.name) and program_of(path.name))
    images = (name_of(tag) for tag in tags if _IMAGE.fullmatch(tag))
    return sorted({*folders, *images}, key=_by_release)


def _by_release(name: str) -> tuple[str, list[int]]:
    product, _, release = name.partition("-")
    return product, [int(one) for one in release.split(".")]
