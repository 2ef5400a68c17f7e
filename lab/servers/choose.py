"""Which real server can be had here, and why not the others."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lab.servers.flavour import Flavour
from lab.servers.installation import Installation
from lab.servers.judge import IMAGES, asked_version, image_product, image_version
from lab.servers.local import LocalServer
from lab.servers.version import Version

if TYPE_CHECKING:
    from lab.servers.base import LabServer, ServerSpec

Family = Literal["mysql", "mariadb"]
"""Percona Server is one of the first."""

_PROGRAMS = ("mysqld", "mariadbd")
_SYSTEM_PATHS = ("/usr/sbin", "/usr/local/sbin", "/usr/local/mysql/bin", "/usr/libexec")


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
        flavour: how it is started, filled and ended.
    """

    kind: str
    name: str
    why: str
    refusals: tuple[Refusal, ...] = ()
    flavour: Flavour = Flavour.MYSQL

    def server(self, spec: ServerSpec | None = None) -> LabServer:
        """Return the server, not started yet.

        Raises:
            LabServerError: it cannot be had after all.
            ValueError: there is none to return.
        """
        if self.kind == "container":
            from lab.servers.container import ContainerServer  # noqa: PLC0415 - needs the extra lab

            return ContainerServer(self.name, spec, self.flavour)
        if self.kind == "local":
            return LocalServer(self.name, spec, self.flavour)
        raise ValueError(f"no real server can be had: {self.why}")


def choose(*, pull: bool = False, family: Family | None = None) -> Choice:
    """Return the best real server that can be had without installing anything, MySQL before MariaDB.

    Args:
        pull: fetch an official image when a Docker daemon answers and no image is there.
        family: take no other.
    """
    refusals: list[Refusal] = []
    if shutil.which("sysbench") is None:
        refusals.append(
            Refusal("sysbench", "not on PATH, so a real server would stand idle; install the package")
        )
        return Choice("none", "", "no load driver", tuple(refusals))
    image = _image(refusals, pull=pull, family=family)
    if image is not None:
        why = f"a Docker daemon answers and has the image {image.name}"
        return Choice("container", image.name, why, tuple(refusals), image.version.flavour)
    program = _local(refusals, family)
    if program is not None:
        why = f"{program.name} is {program.version}"
        return Choice("local", program.name, why, tuple(refusals), program.version.flavour)
    return Choice("none", "", "neither a usable image nor a usable mysqld", tuple(refusals))


@dataclass(frozen=True, slots=True)
class Usable:
    """An image or a mysqld that can be taken."""

    name: str
    version: Version


def of_family(version: Version, family: Family | None) -> bool:
    """Return whether a server is of a family; None is any."""
    return family is None or (family == "mariadb") == (version.flavour is Flavour.MARIADB)


def _image(refusals: list[Refusal], *, pull: bool, family: Family | None) -> Usable | None:
    """Return the best usable image that the Docker daemon has."""
    try:
        import docker  # noqa: PLC0415 - the extra lab may be missing
        from docker.errors import DockerException  # noqa: PLC0415 - the same
    except ImportError:
        refusals.append(Refusal("Docker", "its Python SDK is not installed: pip install 'innobrim[lab]'"))
        return None
    try:
        with contextlib.closing(docker.from_env(timeout=10)) as client:
            return _best(client, client.images.list(), refusals, pull=pull, family=family)
    except DockerException as error:
        hint = "; add yourself to its group" if "Permission denied" in str(error) else ""
        refusals.append(Refusal("Docker", f"no daemon answers ({_short(error)}){hint}"))
        return None


def _best(
    client: Any,  # noqa: ANN401 - the SDK may be missing
    images: list[Any],
    refusals: list[Refusal],
    *,
    pull: bool,
    family: Family | None,
) -> Usable | None:
    """Return the best usable image of those that are here, else one that can be fetched."""
    usable: list[Usable] = []
    for image in images:
        environment = (image.attrs.get("Config") or {}).get("Env") or []
        for tag in image.tags:
            found = _judged(tag, environment)
            if isinstance(found, Refusal):
                refusals.append(found)
            elif found is not None and of_family(found.version, family):
                usable.append(found)
    if usable:
        return min(usable, key=_preference)
    if pull:
        return _pulled(client, refusals, family)
    refusals.append(Refusal("Docker", "its daemon answers but has none of the images " + ", ".join(IMAGES)))
    return None


def _judged(tag: str, environment: list[str]) -> Usable | Refusal | None:
    """Return an image that can be taken, why another database image is not, None for any other one."""
    version = image_version(tag, environment)
    if version is None:
        if image_product(tag) is None:
            return None
        return Refusal(f"image {tag}", "only running it tells its version; take it by its name")
    if version.refusal is not None:
        return Refusal(f"image {tag}", version.refusal)
    return Usable(tag, version)


def _preference(one: Usable) -> tuple[bool, int]:
    """Return the place of an image: those taken unasked first, and MariaDB after all others."""
    place = IMAGES.index(one.name) if one.name in IMAGES else len(IMAGES)
    return one.version.flavour is Flavour.MARIADB, place


def _pulled(client: Any, refusals: list[Refusal], family: Family | None) -> Usable | None:  # noqa: ANN401 - the SDK may be missing
    """Fetch the best official image that can be had."""
    from docker.errors import DockerException  # noqa: PLC0415 - the extra lab may be missing

    for name in IMAGES:
        if "/" in name or not name.startswith(family or ""):
            continue
        try:
            image = client.images.pull(name)
        except DockerException as error:
            refusals.append(Refusal(f"image {name}", f"cannot be pulled ({_short(error)})"))
            continue
        found = _judged(name, (image.attrs.get("Config") or {}).get("Env") or [])
        if isinstance(found, Usable):
            return found
        if found is not None:
            refusals.append(found)
    return None


def _local(refusals: list[Refusal], family: Family | None) -> Usable | None:
    """Return the first usable mysqld on this machine."""
    seen: set[Path] = set()
    for name in _PROGRAMS:
        found = shutil.which(name) or next(
            (f"{path}/{name}" for path in _SYSTEM_PATHS if Path(path, name).exists()), None
        )
        if found is None or Path(found).resolve() in seen:
            continue
        seen.add(Path(found).resolve())
        try:
            version = asked_version(Installation(found).version(10.0))
        except (OSError, subprocess.TimeoutExpired) as error:
            refusals.append(Refusal(found, f"does not run: {error}"))
            continue
        if isinstance(version, Version) and of_family(version, family):
            return Usable(found, version)
        refusals.append(Refusal(found, f"it is {version}" if isinstance(version, Version) else version))
    if not seen:
        refusals.append(Refusal("local mysqld", "not on this machine"))
    return None


def _short(error: Exception) -> str:
    """Return the last clause of a chained message, at most 120 characters."""
    return str(error).replace("\n", " ")[-120:]
