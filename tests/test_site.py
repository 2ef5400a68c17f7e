"""The documentation as a site: ``make docs``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_LOADED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=\"?((?:https?:)?//[^\s\">]+)")

_CODE = re.compile(r"<(pre|script|code)\b.*?</\1>", re.DOTALL)
_DASH = re.compile(r"\n(?:-|\d+\.) .{0,60}")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make it, and return its folder."""
    folder = tmp_path_factory.mktemp("site")
    made = subprocess.run(  # noqa: S603 - our own pages
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=120.0,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return folder


def test_every_page_has_its_place(site: Path) -> None:
    """No link and no anchor of the site is dead, and each page of docs/ stands in its navigation."""
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in ROOT.glob("docs/**/*.md")}
    made = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}
    made |= {path.with_name("README") for path in made if path.name == "index"}

    assert pages <= made


def test_it_asks_no_other_host(site: Path) -> None:
    """A page loads nothing from elsewhere, and what search looks through comes with it, also from a disk."""
    asked = {
        link for page in site.rglob("*.html") for link in _LOADED.findall(page.read_text(encoding="utf-8"))
    }
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8").removeprefix("var __index = ")

    assert asked == set()
    assert any("innodb_io_capacity_max" in entry["text"] for entry in json.loads(index)["docs"])


def test_a_list_is_shown_as_one(site: Path) -> None:
    """No dash of a list stands in the text of a page: MkDocs wants empty lines that GitHub does not."""
    shown = {
        page.relative_to(site): _DASH.findall(_CODE.sub("", page.read_text(encoding="utf-8")))
        for page in site.rglob("*.html")
    }

    assert {page: dashes for page, dashes in shown.items() if dashes} == {}
