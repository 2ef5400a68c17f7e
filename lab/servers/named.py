"""The server that a person names: an image, a mysqld or mariadbd, or a server of his own."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from lab.servers.base import LabServer, LabServerError, ServerSpec
from lab.servers.dsn import SHAPE, Ask, parse_dsn
from lab.servers.existing import DsnServer
from lab.servers.installation import Installation
from lab.servers.judge import asked_version, image_version
from lab.servers.local import LocalServer
from lab.servers.version import Version

if TYPE_CHECKING:
    import docker
    from docker.models.images import Image

WAYS = (
    "name an image with its version (mysql:9.7, mysql:8.4, mariadb:11.8, percona/percona-server:8.0), the"
    f" path of a mysqld or mariadbd, or a server of your own ({SHAPE.removeprefix('write ')})"
)
VERSION_SECONDS = 60.0
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._/-]*(:[0-9]+/[a-z0-9._/-]+)?(:[\w.-]+|@sha256:[0-9a-f]{64})")
_PROGRAMS = ("mysqld", "mysqld-debug", "mariadbd")


class Kind(Enum):
    """What a word names."""

    IMAGE = "image"
    PROGRAM = "mysqld"
    OWN = "a server of the user's own"


def server_named(
    words: str,
    spec: ServerSpec | None = None,
    *,
    confirmed: bool = False,
    confirm_with: str = "--yes",
    pull: bool = True,
    environ: Mapping[str, str] = os.environ,
    defaults_file: str | None = None,
    ask: Ask | None = None,
    say: Callable[[str], None] = print,
) -> LabServer:
    """Return the server that a person's words name, not started yet.

    Args:
        words: ``mysql:8.4`` or another image, the path or name of a mysqld, a DSN, or the path of a socket.
        spec: how a throw-away server is started; a server of the user's own has its spec read from it.
        confirmed: the user has confirmed that a server of his own is written to.
        confirm_with: how he does that, for the message.
        pull: fetch an image that is not here.
        environ: the environment, for passwords.
        defaults_file: MySQL option file, for a server of the user's own.
        ask: asks for a password that is nowhere else.
        say: told what takes long, and what is put back.

    Raises:
        LabServerError: the words name nothing that can be had; it says what would be right.
    """
    what = kind_of(words)
    if what is Kind.OWN:
        endpoint = parse_dsn(
            words, environ=environ, defaults_file=defaults_file, ask=ask if confirmed else None
        )
        return DsnServer(endpoint, confirmed=confirmed, confirm_with=confirm_with, say=say)
    if what is Kind.PROGRAM:
        path, version = _program(words)
        return LocalServer(path, spec, version.flavour)
    return _container(words, spec, pull=pull, say=say)


def kind_of(words: str) -> Kind:
    """Return what words name; a file is looked at, nothing else.

    Raises:
        LabServerError: nothing that could be a server.
    """
    if "://" in words:
        if words.startswith("mysql://"):
            return Kind.OWN
        raise LabServerError(f"{words.split('://', 1)[0]}:// is no server of ours; {WAYS}")
    if words in _PROGRAMS:
        return Kind.PROGRAM
    if words.startswith(("/", ".", "~")):  # no image does
        return _kind_of_path(words)
    if _IMAGE.fullmatch(words):
        return Kind.IMAGE
    hint = ""
    if re.fullmatch(r"\d+\.\d+(\.\d+)?", words):
        hint = f"; did you mean mysql:{words}?"
    elif re.fullmatch(r"[a-z0-9][a-z0-9._/-]*", words):
        hint = f"; an image needs its version, such as {words}:9.7"
    raise LabServerError(f"{words!r} names no server{hint}; {WAYS}")


def _kind_of_path(words: str) -> Kind:
    path = Path(words).expanduser()
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise LabServerError(f"{words}: {(error.strerror or str(error)).lower()}; {WAYS}") from error
    if stat.S_ISSOCK(mode):
        return Kind.OWN
    if stat.S_ISDIR(mode):
        raise LabServerError(f"{words}: a directory; name the mysqld in it")
    if not os.access(path, os.X_OK):
        raise LabServerError(f"{words}: neither a program that can be run nor a socket; {WAYS}")
    return Kind.PROGRAM


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
        found = _image(client, image, pull=pull, say=say)
        environment = (found.attrs.get("Config") or {}).get("Env") or []
        version = image_version(image, environment) or asked_version(_version(client, image))
    except (DockerException, OSError) as error:
        raise LabServerError(f"{image}: {error}") from error
    finally:
        client.close()
    refusal = version if isinstance(version, str) else version.refusal
    if isinstance(version, str) or refusal is not None:
        raise LabServerError(f"{image}: {refusal}; {WAYS}")
    return ContainerServer(image, spec, version.flavour)


def _image(client: docker.DockerClient, image: str, *, pull: bool, say: Callable[[str], None]) -> Image:
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


def _version(client: docker.DockerClient, image: str) -> str:
    from lab.servers.dockerhost import run_once  # noqa: PLC0415 - the extra lab may be missing

    either = "exec $(command -v mysqld || command -v mariadbd) --version"
    return run_once(client, image, ["sh", "-c", either]).decode(errors="replace")
