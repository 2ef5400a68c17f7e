"""Which real server can be had here, and why not the others."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.servers.local import LocalMySQL

if TYPE_CHECKING:
    from lab.servers.base import LabServer, ServerSpec

IMAGES = ("innobrim/mysql:9.7", "mysql:9.7", "mysql:8.4", "mysql:8.0")
OLDEST = (8, 0, 30)
_OTHER_IMAGES = re.compile(r"(^|/)(mariadb|percona[^:]*|mysql):")
_OFFICIAL_TAG = re.compile(r"(?:^|/)mysql:(\d+)\.(\d+)(?:\.(\d+))?")
_PROGRAMS = ("mysqld", "mariadbd")
_SYSTEM_PATHS = ("/usr/sbin", "/usr/local/sbin", "/usr/local/mysql/bin", "/usr/libexec")
_LATER = "is not supported yet"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that was looked at and not taken, with the reason."""

    what: str
    why: str

    def __str__(self) -> str:
        """Return both as one line."""
        return f"{self.what}: {self.why}"


@dataclass(frozen=True, slots=True)
class Choice:
    """The server to take.

    Attributes:
        kind: ``container``, ``local``, or ``none`` when no real server with a load can be had.
        name: image, or path of mysqld; empty for ``none``.
        why: one line for a person.
        refusals: everything else that was looked at.
    """

    kind: str
    name: str
    why: str
    refusals: tuple[Refusal, ...] = ()

    def server(self, spec: ServerSpec | None = None) -> LabServer:
        """Return the server, not started yet.

        Raises:
            LabServerError: it cannot be had after all.
            ValueError: there is none to return.
        """
        if self.kind == "container":
            from lab.servers.container import MySQLContainer  # noqa: PLC0415 - needs the extra lab

            return MySQLContainer(self.name, spec)
        if self.kind == "local":
            return LocalMySQL(self.name, spec)
        raise ValueError(f"no real server can be had: {self.why}")


def choose(*, pull: bool = False) -> Choice:
    """Return the best real server that can be had without installing anything.

    Args:
        pull: fetch an official image when a Docker daemon answers and no image is there.
    """
    refusals: list[Refusal] = []
    if shutil.which("sysbench") is None:
        refusals.append(
            Refusal("sysbench", "not on PATH, so a real server would stand idle; install the package")
        )
        return Choice("none", "", "no load driver", tuple(refusals))
    image = _image(refusals, pull=pull)
    if image is not None:
        return Choice(
            "container", image, f"a Docker daemon answers and has the image {image}", tuple(refusals)
        )
    program = _local(refusals)
    if program is not None:
        return Choice("local", program, f"{program} is MySQL {_dotted(OLDEST)} or later", tuple(refusals))
    return Choice("none", "", "neither a usable image nor a usable mysqld", tuple(refusals))


def judge_version(text: str) -> str | None:
    """Return why a ``mysqld --version`` line is refused, None when the server is supported."""
    found = re.search(r"Ver (\d+)\.(\d+)\.(\d+)", text)
    if found is None:
        return f"its version is not understood: {text.strip()!r}"
    version = (int(found[1]), int(found[2]), int(found[3]))
    for other in ("MariaDB", "Percona"):
        if other.lower() in text.lower():
            return f"{other} {_dotted(version)} {_LATER}"
    if version < OLDEST:
        return f"MySQL {_dotted(version)} {_LATER}: {_dotted(OLDEST)} is the oldest"
    return None


def judge_image(tag: str, environment: list[str]) -> str | None:
    """Return why an image is refused by its tag and environment, None when it can be taken."""
    if "mariadb:" in tag or "percona" in tag:
        return _LATER
    for entry in environment:
        name, _, value = entry.partition("=")
        if name == "MYSQL_VERSION":
            return judge_version(f"Ver {value}")
    return None if tag in IMAGES else "not one of " + ", ".join(IMAGES)


def judge_tag(image: str) -> str | None:
    """Return why an official image is refused by its name alone, so that none is fetched in vain."""
    found = _OFFICIAL_TAG.search(image)
    if found is None:
        return None
    major, minor, patch = found.groups()
    version = (int(major), int(minor), int(patch or OLDEST[2]))  # without a patch it is the newest one
    return (
        None
        if version >= OLDEST
        else f"MySQL {image.rpartition(':')[2]} {_LATER}: {_dotted(OLDEST)} is the oldest"
    )


def _dotted(version: tuple[int, int, int]) -> str:
    return ".".join(map(str, version))


def _image(refusals: list[Refusal], *, pull: bool) -> str | None:
    """Return the first usable image that the Docker daemon has."""
    try:
        import docker  # noqa: PLC0415 - the extra lab may be missing
        from docker.errors import DockerException  # noqa: PLC0415 - the same
    except ImportError:
        refusals.append(Refusal("Docker", "its Python SDK is not installed: pip install 'innobrim[lab]'"))
        return None
    try:
        with contextlib.closing(docker.from_env(timeout=10)) as client:
            return _best(client, client.images.list(), refusals, pull=pull)
    except DockerException as error:
        hint = "; add yourself to its group" if "Permission denied" in str(error) else ""
        refusals.append(Refusal("Docker", f"no daemon answers ({_short(error)}){hint}"))
        return None


def _best(client: Any, images: list[Any], refusals: list[Refusal], *, pull: bool) -> str | None:  # noqa: ANN401 - the SDK may be missing
    """Return the best usable image of those that are here, else one that can be fetched."""
    tags: dict[str, list[str]] = {}
    for image in images:
        environment = (image.attrs.get("Config") or {}).get("Env") or []
        tags.update(dict.fromkeys(image.tags, environment))
    usable: list[str] = []
    for tag, environment in tags.items():
        if tag not in IMAGES and not _OTHER_IMAGES.search(tag):
            continue
        why = judge_image(tag, environment)
        if why is None:
            usable.append(tag)
        else:
            refusals.append(Refusal(f"image {tag}", why))
    if usable:
        return min(usable, key=_preference)
    if pull:
        return _pulled(client, refusals)
    refusals.append(Refusal("Docker", "its daemon answers but has none of the images " + ", ".join(IMAGES)))
    return None


def _preference(tag: str) -> int:
    """Return the place of an image among those that are taken unasked; any other comes after them."""
    return IMAGES.index(tag) if tag in IMAGES else len(IMAGES)


def _pulled(client: Any, refusals: list[Refusal]) -> str | None:  # noqa: ANN401 - the SDK may be missing
    """Fetch the newest official image that can be had."""
    from docker.errors import DockerException  # noqa: PLC0415 - the extra lab may be missing

    for image in IMAGES[1:]:
        try:
            client.images.pull(image)
        except DockerException as error:
            refusals.append(Refusal(f"image {image}", f"cannot be pulled ({_short(error)})"))
        else:
            return image
    return None


def _local(refusals: list[Refusal]) -> str | None:
    """Return the path of the first usable mysqld on this machine."""
    seen: set[Path] = set()
    for name in _PROGRAMS:
        found = shutil.which(name) or next(
            (f"{path}/{name}" for path in _SYSTEM_PATHS if Path(path, name).exists()), None
        )
        if found is None or Path(found).resolve() in seen:
            continue
        seen.add(Path(found).resolve())
        try:
            said = subprocess.run(
                [found, "--version"], capture_output=True, text=True, timeout=10.0, check=False
            ).stdout
        except (OSError, subprocess.TimeoutExpired) as error:
            refusals.append(Refusal(found, f"does not run: {error}"))
            continue
        why = judge_version(said)
        if why is None:
            return found
        refusals.append(Refusal(found, why))
    if not seen:
        refusals.append(Refusal("local mysqld", "not on this machine"))
    return None


def _short(error: Exception) -> str:
    """Return the last clause of a chained message, at most 120 characters."""
    return str(error).replace("\n", " ")[-120:]
