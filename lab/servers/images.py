"""Which server image a Docker daemon has, or can fetch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import docker
from docker.errors import DockerException, ImageNotFound, NotFound
from docker.models.images import Image

from lab.servers.container import ContainerServer, remove_containers, run_once
from lab.servers.spec import MARIADB, LabServerError, ServerSpec
from lab.servers.version import (
    IMAGES,
    WAYS,
    Family,
    asked_version,
    image_product,
    image_version,
    of_family,
)


def remove_leftovers() -> int:
    """Remove containers and volumes of crashed runs, where a Docker daemon answers; return how many."""
    with contextlib.suppress(DockerException), contextlib.closing(docker.from_env(timeout=10)) as client:
        return remove_containers(client)
    return 0


def image_server(
    image: str, spec: ServerSpec | None, *, pull: bool, say: Callable[[str], None]
) -> ContainerServer:
    """Return an image's server, not started yet; the arguments are those of ``choose.server_named``.

    Raises:
        LabServerError: it cannot be had.
    """
    known = image_version(image)
    if known is not None and known.refusal is not None:
        raise LabServerError(f"{image}: {known.refusal}; {WAYS}")
    try:
        client = docker.from_env(timeout=60)
    except DockerException as error:
        raise LabServerError(f"{image}: no Docker daemon answers: {error}") from error
    try:
        found = _fetched(client, image, pull=pull, say=say)
        version = image_version(image, _environment(found)) or asked_version(_asked_in(client, image))
    except (DockerException, OSError) as error:
        raise LabServerError(f"{image}: {error}") from error
    finally:
        client.close()
    refusal = version if isinstance(version, str) else version.refusal
    if isinstance(version, str) or refusal is not None:
        raise LabServerError(f"{image}: {refusal}; {WAYS}")
    return ContainerServer(image, spec, version.kind)


def _fetched(client: docker.DockerClient, image: str, *, pull: bool, say: Callable[[str], None]) -> Image:
    try:
        return client.images.get(image)
    except ImageNotFound:
        here = ", ".join(sorted(_tags(client))) or "none"
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


def tags() -> list[str]:
    """Return the tags of the images that the Docker daemon has.

    Raises:
        LabServerError: no daemon answers.
    """
    try:
        with contextlib.closing(docker.from_env(timeout=10)) as client:
            return _tags(client)
    except DockerException as error:
        raise LabServerError(f"no Docker daemon answers: {error}") from error


def _tags(client: docker.DockerClient) -> list[str]:
    return [tag for one in stored(client) for tag in one.tags]


def stored(client: docker.DockerClient) -> list[Image]:
    """Return the images that have a tag; one that is removed while the others are looked at is left out.

    ``client.images.list`` fails for such a one, and a build beside makes and removes them all the time.

    Raises:
        DockerException: no daemon answers.
    """
    found: list[Image] = []
    for row in client.api.images(filters={"dangling": False}):
        with contextlib.suppress(ImageNotFound):
            found.append(client.images.get(row["Id"]))
    return found


def _environment(image: Any) -> list[str]:  # noqa: ANN401 - Docker's, or a test's
    found: list[str] = (image.attrs.get("Config") or {}).get("Env") or []
    return found


def _asked_in(client: docker.DockerClient, image: str) -> str:
    either = "exec $(command -v mysqld || command -v mariadbd) --version"
    return run_once(client, image, ["sh", "-c", either]).decode(errors="replace")


def best_image(refusals: list[str], family: Family | None) -> str | None:
    """Return the best usable image that the Docker daemon has; see ``best``."""
    try:
        with contextlib.closing(docker.from_env(timeout=10)) as client:
            return best(stored(client), refusals, family)
    except DockerException as error:
        hint = "; add yourself to its group" if "Permission denied" in str(error) else ""
        said = str(error).replace("\n", " ")[-120:]
        refusals.append(f"Docker: no daemon answers ({said}){hint}")
        return None


def best(images: list[Any], refusals: list[str], family: Family | None) -> str | None:
    """Return the best usable image: those taken unasked first, MariaDB after all others; None without one.

    Args:
        images: the Docker daemon's.
        refusals: where is said why another database's image is not taken.
        family: take no other.
    """
    usable: list[tuple[bool, int, str]] = []
    for image in images:
        for tag in image.tags:
            version = image_version(tag, _environment(image))
            if version is None:
                if image_product(tag) is not None:
                    refusals.append(f"image {tag}: only running it tells its version; take it by its name")
            elif version.refusal is not None:
                refusals.append(f"image {tag}: {version.refusal}")
            elif of_family(version, family):
                place = IMAGES.index(tag) if tag in IMAGES else len(IMAGES)
                usable.append((version.kind is MARIADB, place, tag))
    if not usable:
        refusals.append(f"Docker: its daemon answers but has none of the images {', '.join(IMAGES)}")
        return None
    return min(usable, key=lambda one: one[:2])[2]
