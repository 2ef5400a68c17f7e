"""Which server is taken: what can be had here, what a person names, and what crashed runs left behind."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lab.servers.base import LabServer, LabServerError, ServerSpec
from lab.servers.disk import hierarchy
from lab.servers.flavour import IMAGES, Flavour, Version, asked_version, image_product, image_version
from lab.servers.local import Installation, LocalServer
from lab.servers.owner import bases, remove_directories, remove_groups

if TYPE_CHECKING:
    import docker
    from docker.models.images import Image


WAYS = (
    "name an image with its version (mysql:9.7, mysql:8.4, mariadb:11.8, percona/percona-server:8.0), or the"
    " path of a mysqld or mariadbd"
)
VERSION_SECONDS = 60.0
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._/-]*(:[0-9]+/[a-z0-9._/-]+)?(:[\w.-]+|@sha256:[0-9a-f]{64})")
_NAMES = ("mysqld", "mysqld-debug", "mariadbd")
Family = Literal["mysql", "mariadb"]
"""Percona Server is one of the first."""

_SYSTEM_PATHS = ("/usr/sbin", "/usr/local/sbin", "/usr/local/mysql/bin", "/usr/libexec")


def remove_leftovers() -> tuple[str, ...]:
    """Remove containers, volumes, directories and control groups whose run is gone; return what went.

    Each kind of server removes its own kind's before it starts; a bench calls this before all of them, as it
    may start no server, or one of another kind.
    """
    counts = {
        "directory": sum(remove_directories(base) for base in set(bases())),
        "control group": remove_groups(hierarchy()),
        "container or volume": _containers(),
    }
    return tuple(f"removed {count} × {what} of crashed runs" for what, count in counts.items() if count)


def _containers() -> int:
    try:
        import docker  # noqa: PLC0415 - the extra lab may be missing
        from docker.errors import DockerException  # noqa: PLC0415 - the same

        from lab.servers.container import remove_containers  # noqa: PLC0415 - the same
    except ImportError:
        return 0
    with contextlib.suppress(DockerException):
        client = docker.from_env(timeout=10)
        with contextlib.closing(client):
            return remove_containers(client)
    return 0


def server_named(
    words: str,
    spec: ServerSpec | None = None,
    *,
    pull: bool = True,
    say: Callable[[str], None] = print,
) -> LabServer:
    """Return the server that a person's words name, not started yet.

    Args:
        words: ``mysql:8.4`` or another image, or the path or name of a mysqld.
        spec: how it is started.
        pull: fetch an image that is not here.
        say: told what takes long.

    Raises:
        LabServerError: the words name nothing that can be had; it says what would be right.
    """
    if is_image(words):
        return _container(words, spec, pull=pull, say=say)
    path, version = _program(words)
    return LocalServer(path, spec, version.flavour)


def is_image(words: str) -> bool:
    """Tell whether words name an image, and not a program; a file is looked at, nothing else.

    Raises:
        LabServerError: nothing that could be a server.
    """
    if words in _NAMES:
        return False
    if words.startswith(("/", ".", "~")):  # no image does
        _require_program(words)
        return False
    if _IMAGE.fullmatch(words):
        return True
    hint = ""
    if re.fullmatch(r"\d+\.\d+(\.\d+)?", words):
        hint = f"; did you mean mysql:{words}?"
    elif re.fullmatch(r"[a-z0-9][a-z0-9._/-]*", words):
        hint = f"; an image needs its version, such as {words}:9.7"
    raise LabServerError(f"{words!r} names no server{hint}; {WAYS}")


def _require_program(words: str) -> None:
    path = Path(words).expanduser()
    if not path.exists():
        raise LabServerError(f"{words}: no such file; {WAYS}")
    if path.is_dir():
        raise LabServerError(f"{words}: a directory; name the mysqld in it")
    if not os.access(path, os.X_OK):
        raise LabServerError(f"{words}: no program that can be run; {WAYS}")


def _program(words: str) -> tuple[str, Version]:
    """Return the path of a mysqld that can be taken, and what it is."""
    path = shutil.which(str(Path(words).expanduser()))
    if path is None:
        raise LabServerError(f"{words}: not on PATH; say where it is, such as /usr/sbin/{words}")
    try:
        version = asked_version(Installation(path).version(VERSION_SECONDS))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabServerError(f"{path} does not run: {error}") from error
    if isinstance(version, str):
        raise LabServerError(f"{path}: {version}")
    return path, version


def _container(image: str, spec: ServerSpec | None, *, pull: bool, say: Callable[[str], None]) -> LabServer:
    try:
        import docker  # noqa: PLC0415 - the extra lab may be missing
        from docker.errors import DockerException  # noqa: PLC0415 - the same

        from lab.servers.container import ContainerServer  # noqa: PLC0415 - the same
    except ImportError as error:
        raise LabServerError(
            f"{image}: containers need Docker's Python SDK: pip install 'innobrim[lab]'"
        ) from error
    known = image_version(image)
    if known is not None and known.refusal is not None:
        raise LabServerError(f"{image}: {known.refusal}; {WAYS}")
    try:
        client = docker.from_env(timeout=60)
    except DockerException as error:
        raise LabServerError(f"{image}: no Docker daemon answers: {error}") from error
    try:
        found = _fetched(client, image, pull=pull, say=say)
        environment = (found.attrs.get("Config") or {}).get("Env") or []
        version = image_version(image, environment) or asked_version(_asked_in(client, image))
    except (DockerException, OSError) as error:
        raise LabServerError(f"{image}: {error}") from error
    finally:
        client.close()
    refusal = version if isinstance(version, str) else version.refusal
    if isinstance(version, str) or refusal is not None:
        raise LabServerError(f"{image}: {refusal}; {WAYS}")
    return ContainerServer(image, spec, version.flavour)


def _fetched(client: docker.DockerClient, image: str, *, pull: bool, say: Callable[[str], None]) -> Image:
    from docker.errors import DockerException, ImageNotFound, NotFound  # noqa: PLC0415 - the extra lab may be missing

    try:
        return client.images.get(image)
    except ImageNotFound:
        here = ", ".join(sorted(tag for one in client.images.list() for tag in one.tags)) or "none"
    if not pull:
        raise LabServerError(f"{image}: no such image here; here are {here}")
    say(f"fetching the image {image}")
    try:
        return client.images.pull(image)
    except NotFound as error:
        raise LabServerError(f"{image}: no registry has it ({error.explanation}); here are {here}") from error
    except DockerException as error:
        why = getattr(error, "explanation", None) or error
        raise LabServerError(f"{image}: cannot be fetched ({why}); here are {here}") from error


def _asked_in(client: docker.DockerClient, image: str) -> str:
    from lab.servers.container import run_once  # noqa: PLC0415 - the extra lab may be missing

    either = "exec $(command -v mysqld || command -v mariadbd) --version"
    return run_once(client, image, ["sh", "-c", either]).decode(errors="replace")


Found = tuple[str, Version]
"""An image or the path of a mysqld that can be taken, and what it is."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The server to take.

    Attributes:
        kind: ``container``, ``local``, or ``none`` when no real server with a load can be had.
        name: image, or path of mysqld; empty for ``none``.
        why: one line for a person.
        refusals: what else was looked at, each with why it is not taken.
        flavour: how it is started, filled and ended.
    """

    kind: str
    name: str
    why: str
    refusals: tuple[str, ...] = ()
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


def choose(*, family: Family | None = None) -> Choice:
    """Return the best real server that can be had without installing anything, MySQL before MariaDB.

    Args:
        family: take no other.
    """
    refusals: list[str] = []
    if shutil.which("sysbench") is None:
        refusals.append("sysbench: not on PATH, so a real server would stand idle; install the package")
        return Choice("none", "", "no load driver", tuple(refusals))
    if (image := _image(refusals, family)) is not None:
        name, version = image
        why = f"a Docker daemon answers and has the image {name}"
        return Choice("container", name, why, tuple(refusals), version.flavour)
    if (program := _local(refusals, family)) is not None:
        name, version = program
        return Choice("local", name, f"{name} is {version}", tuple(refusals), version.flavour)
    return Choice("none", "", "neither a usable image nor a usable mysqld", tuple(refusals))


def of_family(version: Version, family: Family | None) -> bool:
    """Return whether a server is of a family; None is any."""
    return family is None or (family == "mariadb") == (version.flavour is Flavour.MARIADB)


def _image(refusals: list[str], family: Family | None) -> Found | None:
    """Return the best usable image that the Docker daemon has."""
    try:
        import docker  # noqa: PLC0415 - the extra lab may be missing
        from docker.errors import DockerException  # noqa: PLC0415 - the same
    except ImportError:
        refusals.append("Docker: its Python SDK is not installed: pip install 'innobrim[lab]'")
        return None
    try:
        with contextlib.closing(docker.from_env(timeout=10)) as client:
            return best(client.images.list(), refusals, family)
    except DockerException as error:
        hint = "; add yourself to its group" if "Permission denied" in str(error) else ""
        said = str(error).replace("\n", " ")[-120:]
        refusals.append(f"Docker: no daemon answers ({said}){hint}")
        return None


def best(images: list[Any], refusals: list[str], family: Family | None) -> Found | None:
    """Return the best usable image: those taken unasked first, MariaDB after all others; None without one.

    Args:
        images: the Docker daemon's.
        refusals: where is said why another database's image is not taken.
        family: take no other.
    """
    usable: list[Found] = []
    for image in images:
        environment = (image.attrs.get("Config") or {}).get("Env") or []
        for tag in image.tags:
            version = image_version(tag, environment)
            if version is None:
                if image_product(tag) is not None:
                    refusals.append(f"image {tag}: only running it tells its version; take it by its name")
            elif version.refusal is not None:
                refusals.append(f"image {tag}: {version.refusal}")
            elif of_family(version, family):
                usable.append((tag, version))
    if not usable:
        refusals.append(f"Docker: its daemon answers but has none of the images {', '.join(IMAGES)}")
        return None
    places = {name: place for place, name in enumerate(IMAGES)}
    return min(usable, key=lambda one: (one[1].flavour is Flavour.MARIADB, places.get(one[0], len(IMAGES))))


def _local(refusals: list[str], family: Family | None) -> Found | None:
    """Return the first usable mysqld on this machine."""
    seen: set[Path] = set()
    for name in ("mysqld", "mariadbd"):
        places = (f"{path}/{name}" for path in _SYSTEM_PATHS if Path(path, name).exists())
        found = shutil.which(name) or next(places, None)
        if found is None or Path(found).resolve() in seen:
            continue
        seen.add(Path(found).resolve())
        try:
            version = asked_version(Installation(found).version(10.0))
        except (OSError, subprocess.TimeoutExpired) as error:
            refusals.append(f"{found}: does not run: {error}")
            continue
        if isinstance(version, Version) and of_family(version, family):
            return found, version
        refusals.append(
            f"{found}: it is {version}" if isinstance(version, Version) else f"{found}: {version}"
        )
    if not seen:
        refusals.append("local mysqld: not on this machine")
    return None
