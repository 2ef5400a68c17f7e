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
from typing import TYPE_CHECKING

from lab.servers.base import LabServer
from lab.servers.disk import hierarchy
from lab.servers.local import Installation, LocalServer
from lab.servers.made import image_of, is_name, names_here, program_of
from lab.servers.owner import bases, remove_directories, remove_groups
from lab.servers.spec import LabServerError, ServerSpec
from lab.servers.version import WAYS, Family, Version, asked_version, of_family

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["Choice", "Family", "choose", "is_image", "remove_leftovers", "server_named"]

VERSION_SECONDS = 60.0
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._/-]*(:[0-9]+/[a-z0-9._/-]+)?(:[\w.-]+|@sha256:[0-9a-f]{64})")
_NAMES = ("mysqld", "mysqld-debug", "mariadbd")
_SYSTEM_PATHS = ("/usr/sbin", "/usr/local/sbin", "/usr/local/mysql/bin", "/usr/libexec")


def _images() -> ModuleType:
    """Return the module for images, which needs the extra ``lab``.

    Raises:
        LabServerError: Docker's Python SDK is not there.
    """
    try:
        from lab.servers import images  # noqa: PLC0415 - the extra lab may be missing
    except ImportError as error:
        raise LabServerError("containers need Docker's Python SDK: pip install '.[lab]'") from error
    return images


def remove_leftovers() -> tuple[str, ...]:
    """Remove containers, volumes, directories and control groups whose run is gone; return what went.

    Each kind of server removes its own kind's before it starts; a bench calls this before all of them, as it
    may start no server, or one of another kind.
    """
    counts = {
        "directory": sum(remove_directories(base) for base in set(bases())),
        "control group": remove_groups(hierarchy()),
    }
    with contextlib.suppress(LabServerError):
        counts["container or volume"] = _images().remove_leftovers()
    return tuple(f"removed {count} × {what} of crashed runs" for what, count in counts.items() if count)


def server_named(
    words: str,
    spec: ServerSpec | None = None,
    *,
    pull: bool = True,
    say: Callable[[str], None] = print,
) -> LabServer:
    """Return the server that a person's words name, not started yet.

    Args:
        words: ``mysql-8.0.31`` or another name of ``make servers``, ``mysql:8.4`` or another image, or the
            path or name of a mysqld.
        spec: how it is started.
        pull: fetch an image that is not here.
        say: told what takes long.

    Raises:
        LabServerError: the words name nothing that can be had; it says what would be right.
    """
    if is_name(words):
        words = _made(words)
    if is_image(words):
        server: LabServer = _images().image_server(words, spec, pull=pull, say=say)
        return server
    path = shutil.which(str(Path(words).expanduser()))
    if path is None:
        raise LabServerError(f"{words}: not on PATH; say where it is, such as /usr/sbin/{words}")
    return LocalServer(path, spec, _asked(path).kind)


def _made(name: str) -> str:
    """Return the program or image that ``make servers`` made by this name.

    Raises:
        LabServerError: it is not here; it says which are.
    """
    if (program := program_of(name)) is not None:
        return str(program)
    image, why = image_of(name), ""
    try:
        tags = _images().tags()
    except LabServerError as error:
        tags, why = [], f"; {error}"
    if image in tags:
        return image
    here = ", ".join(names_here(tags)) or "none"
    rest = "what make servers can make docs/lab/bench.md lists, and images are named as mysql:8.4"
    raise LabServerError(f"{name} is not here; here are {here}; {rest}{why}")


def is_image(words: str) -> bool:
    """Tell whether words name an image, and not a program; a file is looked at, nothing else.

    Raises:
        LabServerError: nothing that could be a server.
    """
    if is_name(words):
        return program_of(words) is None
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


def _asked(path: str) -> Version:
    """Return what a mysqld says to be.

    Raises:
        LabServerError: it cannot be run, or not be taken.
    """
    try:
        version = asked_version(Installation(path).version(VERSION_SECONDS))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabServerError(f"{path} does not run: {error}") from error
    if isinstance(version, str):
        raise LabServerError(f"{path}: {version}")
    return version


@dataclass(frozen=True, slots=True)
class Choice:
    """The server to take.

    Attributes:
        name: image, or path of mysqld; empty where no real server with a load can be had.
        why: one line for a person.
        refusals: what else was looked at, each with why it is not taken.
    """

    name: str
    why: str
    refusals: tuple[str, ...] = ()

    def server(self, spec: ServerSpec | None = None) -> LabServer:
        """Return the server, not started yet.

        Raises:
            LabServerError: it cannot be had after all.
            ValueError: there is none to return.
        """
        if not self.name:
            raise ValueError(f"no real server can be had: {self.why}")
        return server_named(self.name, spec, pull=False)


def choose(*, family: Family | None = None) -> Choice:
    """Return the best real server that can be had without installing anything, MySQL before MariaDB.

    Args:
        family: take no other.
    """
    refusals: list[str] = []
    if shutil.which("sysbench") is None:
        refusals.append("sysbench: not on PATH, so a real server would stand idle; install the package")
        return Choice("", "no load driver", tuple(refusals))
    try:
        image = _images().best_image(refusals, family)
    except LabServerError as error:
        refusals.append(str(error))
        image = None
    if image is not None:
        return Choice(image, f"a Docker daemon answers and has the image {image}", tuple(refusals))
    if (program := _local(refusals, family)) is not None:
        path, version = program
        return Choice(path, f"{path} is {version}", tuple(refusals))
    return Choice("", "neither a usable image nor a usable mysqld", tuple(refusals))


def _local(refusals: list[str], family: Family | None) -> tuple[str, Version] | None:
    """Return the first usable mysqld on this machine, and what it is."""
    seen: set[Path] = set()
    for name in ("mysqld", "mariadbd"):
        places = (f"{path}/{name}" for path in _SYSTEM_PATHS if Path(path, name).exists())
        found = shutil.which(name) or next(places, None)
        if found is None or Path(found).resolve() in seen:
            continue
        seen.add(Path(found).resolve())
        try:
            version = _asked(found)
        except LabServerError as error:
            refusals.append(str(error))
            continue
        if of_family(version, family):
            return found, version
        refusals.append(f"{found}: it is {version}")
    if not seen:
        refusals.append("local mysqld: not on this machine")
    return None
