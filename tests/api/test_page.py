"""The page as it is served: whole, small, from here alone."""

from __future__ import annotations

import base64
import hashlib
import re
import tomllib

import pytest
from fastapi import FastAPI

from api.page import FOLDER, assets
from tests.api.factory import application, get
from tuner.daemon.board import Board

UPLOT = FOLDER / "vendor" / "uplot"
LARGEST_PAGE = 200_000
OTHER_HOST = re.compile(r"""(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}|@import|url\(""", re.IGNORECASE)
NAMESPACE = "http://www.w3.org/2000/svg"


@pytest.fixture
def app(board: Board) -> FastAPI:
    """Return the application over an empty board."""
    return application(board)


def own(name: str) -> str:
    """Return a file of ours as text."""
    return assets()[name].content.decode()


def test_uplot_is_the_published_one() -> None:
    """Version, licence and the sums of every file are on record, and the files are those."""
    marks = tomllib.loads((UPLOT / "VENDORED.toml").read_text())

    sums = {name: hashlib.sha256((UPLOT / name).read_bytes()).hexdigest() for name in marks["sha256"]}
    assert sums == marks["sha256"]
    assert {one.name for one in UPLOT.iterdir()} == {*sums, "VENDORED.toml", "LICENSE"}
    assert marks["licence"] == "MIT"
    assert "Leon Sorokin" in (UPLOT / "LICENSE").read_text()
    assert f"v{marks['version']}" in (UPLOT / "uPlot.iife.min.js").read_text()[:300]


def test_it_is_small() -> None:
    """All that the page loads is under 200 kB, uncompressed."""
    assert sum(len(one.content) for one in assets().values()) < LARGEST_PAGE


def test_it_asks_no_other_host() -> None:
    """No file of ours names another host; the chart library loads nothing at all."""
    found = {
        name: OTHER_HOST.findall(one.content.decode().replace(NAMESPACE, ""))
        for name, one in assets().items()
        if not name.startswith("vendor/")
    }

    assert {name: hosts for name, hosts in found.items() if hosts} == {}
    library = own("vendor/uplot/uPlot.iife.min.js")
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|\beval\(|new Function", library)


def test_nothing_is_inline_but_what_loads_the_page_again(app: FastAPI) -> None:
    """The policy allows files of this host and one inline script by its digest; the page needs no more."""
    answer = get(app, "/")

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    inline = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    assert len(inline) == 1
    digest = base64.b64encode(hashlib.sha256(inline[0].encode()).digest()).decode()
    assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]* src=)[^>]|javascript:", answer.text)


def test_every_file_that_is_named_is_there(app: FastAPI) -> None:
    """What the page and its modules load is served, with the type that a browser insists on."""
    named = set(re.findall(r'(?:src|href)="/(static/[^"]+)"', own("index.html")))
    for name in assets():
        if name.startswith("js/"):
            named |= {f"static/js/{other}" for other in re.findall(r'from "\./([^"]+)"', own(name))}

    assert named
    for path in named:
        answer = get(app, f"/{path}")
        assert answer.status_code == 200, path
        assert answer.headers["x-content-type-options"] == "nosniff"
        if path.endswith(".js"):
            assert answer.headers["content-type"].startswith("text/javascript")


def test_a_query_leaves_the_page_as_it_is(app: FastAPI) -> None:
    """Whatever a proxy or a bookmark adds to the address."""
    assert get(app, "/?name=page.css").content == get(app, "/?name=nothing").content == get(app, "/").content


def test_a_file_is_not_sent_twice(app: FastAPI) -> None:
    """A browser that has a file asks whether it still is the same, and gets no more than a yes."""
    tag = get(app, "/static/page.css").headers["etag"]

    again = get(app, "/static/page.css", {"If-None-Match": tag})

    assert again.status_code == 304
    assert again.content == b""


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        "/static/nothing.js",
        "/static/../page.py",
        "/static/%2e%2e/page.py",
        "/static/vendor/uplot/LICENSE",
    ],
)
def test_nothing_else_of_the_disk_is_served(app: FastAPI, path: str) -> None:
    """A path that is no file of the page is not found, whatever it is on the disk."""
    answer = get(app, path)

    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("application/problem+json")
