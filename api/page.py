"""The page at /: files of this package, and nothing from anywhere else."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from pathlib import Path

from fastapi import APIRouter, Request, Response
from msgspec import Struct

from api.problems import ApiError

FOLDER = Path(__file__).with_name("static")
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


class Asset(Struct, frozen=True):
    """A file as it is sent."""

    content: bytes
    media_type: str
    tag: str


@functools.cache
def assets() -> dict[str, Asset]:
    """Return every file of the page by its path below ``static``; read once, when first asked for."""
    files = {}
    for path in FOLDER.rglob("*"):
        if path.suffix in MEDIA_TYPES:
            content = path.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            files[path.relative_to(FOLDER).as_posix()] = Asset(content, MEDIA_TYPES[path.suffix], tag)
    return files


@functools.cache
def policy() -> str:
    """Return the page's Content-Security-Policy: no other host, no inline style, one inline script.

    uPlot sets styles through the object model, which is allowed.
    """
    digests = [hashlib.sha256(one).digest() for one in INLINE.findall(assets()["index.html"].content)]
    scripts = " ".join(f"'sha256-{base64.b64encode(one).decode()}'" for one in digests)
    return (
        f"default-src 'self'; script-src 'self' {scripts}; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; object-src 'none'"
    )


def page_routes() -> APIRouter:
    """Return the page and its files."""
    routes = APIRouter()

    @routes.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        """Return the page; nothing in its query names another file."""
        return _answer(request, "index.html")

    @routes.get("/static/{name:path}", include_in_schema=False)
    async def file(request: Request, name: str) -> Response:
        """Return a file of the page."""
        return _answer(request, name)

    return routes


def _answer(request: Request, name: str) -> Response:
    asset = assets().get(name)
    if asset is None:
        raise ApiError("not-found", f"the page has no file {name[:100]!r}")
    headers = {"Cache-Control": "no-cache", "Content-Security-Policy": policy(), "ETag": asset.tag}
    if asset.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(asset.content, media_type=asset.media_type, headers=headers)
