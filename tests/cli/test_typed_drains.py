"""What the pages say to type before a shutdown, typed, beside a loop on the simulated server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.support import ended, innobrim
from tests.served import Site

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("guide.md", "upgrade.md", "runbook.md", "faq.md")
COMMAND = re.compile(r"innobrim (drain[^\n`&|;)]*)")
PACE = 0.005
"""Real seconds of a simulated one."""


def typed() -> list[str]:
    """Return every drain on these pages, once each, with an age for AGE."""
    found = [one for page in PAGES for one in COMMAND.findall((DOCS / page).read_text(encoding="utf-8"))]
    return sorted({one.strip().replace("AGE", "60%") for one in found})


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """Serve a loop that holds its set-point."""
    with Site(pace=PACE) as one:
        yield one


@pytest.fixture
def reached(site: Site, tmp_path: Path) -> tuple[object, ...]:
    """Return the options with which a command reaches it; no drain is in force at the end."""
    token = tmp_path / "token"
    token.write_text(site.token, encoding="ascii")
    return "--url", site.url, "--token-file", token


@pytest.mark.parametrize("words", typed())
def test_a_drain_that_a_page_names_does_what_it_says(
    site: Site, reached: tuple[object, ...], words: str
) -> None:
    """It exits 0, with --wait once the age is where it was wanted, and the age stays there until it ends."""
    before = site.record().estimate
    assert before is not None
    result = innobrim(*words.split(), *reached)

    ended(result, 0)
    drain = json.loads(innobrim("status", *reached, "--json").stdout)["drain"]
    assert drain["lowest"] == ("--to-age" not in words)
    if "--wait" in words:
        assert drain["age"] <= 1.02 * drain["target"]
        assert drain["age"] < before.checkpoint_age
    ended(innobrim("drain", "--cancel", *reached), 0)
