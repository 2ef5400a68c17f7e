"""The page of supported servers follows from the code and from the fixtures that there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from policies.registry import LAWS
from tests.servers.fixtured import FILES
from tools.servers_page import document, here, name_of, results_of_the_loop
from tuner.servers.families import FAMILIES
from tuner.servers.fixture import Fixture, load

FIXTURES = {path.stem: load(path) for path in FILES.values()}


def row_of(page: str, name: str) -> str:
    """Return the row of the first table that is about a server."""
    return next(line for line in page.splitlines() if line.startswith(f"| {name} |"))


@pytest.mark.parametrize("key", FIXTURES)
def test_every_fixture_is_a_server_of_the_page(key: str) -> None:
    """Each is named, with how it is known."""
    name, family, refusal = name_of(FIXTURES[key])

    row = row_of(here(), name)
    assert "source" in row if FIXTURES[key].synthetic else ("recorded" in row or "measured" in row)
    assert refusal in row
    assert family is None or f"`{family.flush_law}`" in row


def test_every_law_and_adapter_is_explained() -> None:
    """Each flush law has a row, each way of reading a column."""
    page = here()

    assert all(f"| `{law}` |" in page for law in LAWS)
    assert f"| {' | '.join(one.title for one in FAMILIES)} |" in page


def test_a_server_is_measured_where_a_page_of_results_names_it() -> None:
    """A recording alone is no measurement, and a page of results makes it one."""
    fixtures: dict[str, Fixture] = {"one": replace(FIXTURES["mysql-8.4.8"], synthetic=False)}

    assert "| recorded |" in row_of(document(fixtures, {"else.md": "MySQL 9.7.4"}), "MySQL 8.4.8")
    measured = row_of(document(fixtures, {"closed-loop.md": "on MySQL 8.4.8"}), "MySQL 8.4.8")
    assert "| measured: [closed-loop](results/closed-loop.md) |" in measured


@pytest.mark.parametrize("said", ["MySQL 8.4.80", "MySQL 18.4.8", "MySQL 9.8.4.8"])
def test_another_release_does_not_make_it_measured(said: str) -> None:
    """A release is named as a whole: one whose name begins or ends alike is another."""
    fixtures: dict[str, Fixture] = {"one": replace(FIXTURES["mysql-8.4.8"], synthetic=False)}

    assert "| recorded |" in row_of(document(fixtures, {"closed-loop.md": said}), "MySQL 8.4.8")


def test_only_what_the_loop_did_on_a_real_server_is_a_measurement(tmp_path: Path) -> None:
    """The bench's page counts, by its directory; what was held against a simulated server does not."""
    (tmp_path / "bench").mkdir()
    for name in ("plant.md", "plant-seeds.md", "closed-loop.md", "bench/README.md"):
        (tmp_path / name).write_text("on MySQL 8.4.8", encoding="utf-8")
    fixtures: dict[str, Fixture] = {"one": replace(FIXTURES["mysql-8.4.8"], synthetic=False)}

    row = row_of(document(fixtures, results_of_the_loop(tmp_path)), "MySQL 8.4.8")

    assert "| measured: [bench](results/bench/README.md), [closed-loop](results/closed-loop.md) |" in row


def test_a_documented_server_is_not_measured_by_being_mentioned() -> None:
    """What is only known from its source stays that, whatever page names its version."""
    page = document({"one": FIXTURES["mysql-8.4.8"]}, {"closed-loop.md": "unlike MySQL 8.4.8"})

    assert "| source |" in row_of(page, "MySQL 8.4.8")
