"""What is said of servers whose figures people published; docs/results/advise.md judges it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import Result
from msgspec.structs import replace

from tests.cli.dumped import FILES, Dump, asked, dump
from tuner.cli.advise import Advised
from tuner.cli.doctor import Answer

REPORT = Path(__file__).parents[2] / "docs" / "results" / "advise.md"


def verdict(said: Result) -> Advised:
    """Return what advise printed as JSON."""
    return msgspec.json.decode(said.stdout, type=Advised, strict=True)


def advised(seen: Dump) -> Advised:
    """Return what advise says of a server."""
    return verdict(asked(seen, "advise", "--json"))


@pytest.mark.parametrize("name", FILES)
def test_a_published_server_is_told_what_an_expert_tells(name: str) -> None:
    """The answer is an expert's, what the publication found is named, and nothing beside the point is."""
    seen = dump(name)
    said, doctor = advised(seen), asked(seen, "doctor", "--json")
    known = {one.id for one in said.advice}
    if "findings" in msgspec.json.decode(doctor.stdout):
        known |= {one.id for one in msgspec.json.decode(doctor.stdout, type=Answer).findings}

    assert said.verdict.answer == seen.says
    assert set(seen.finds) <= known
    assert not known & set(seen.spares)


@pytest.mark.parametrize("name", FILES)
def test_each_is_judged_in_the_report(name: str) -> None:
    """Who reads the report finds each of them by its name and by where it was published."""
    page = REPORT.read_text(encoding="utf-8")

    assert f"`{name}`" in page
    assert dump(name).url in page


def test_pages_that_leave_before_their_turn_are_no_gain() -> None:
    """Where pages stay dirty for a fifth of what the age takes, no M saves those written for free pages."""
    seen = dump("mysql-8.0-8gib")
    early = advised(replace(seen, status=seen.status | {"Innodb_buffer_pool_pages_dirty": 40_000})).verdict
    whole = advised(seen).verdict

    assert early.page_writes_saved is not None
    assert whole.page_writes_saved is not None
    assert early.page_writes_saved.high < 0.3 < whole.page_writes_saved.likeliest


def test_an_age_that_no_m_has_flushed_promises_nothing_for_sure() -> None:
    """Below innodb_adaptive_flushing_lwm something else writes the pages, and may go on: that is said."""
    found = advised(dump("percona-5.7-12gib")).verdict

    assert found.page_writes_saved is not None
    assert found.page_writes_saved.low <= 0.0
    assert any("innodb_adaptive_flushing_lwm" in one for one in found.depends)


def test_an_m_that_no_server_takes_is_proposed_by_nobody() -> None:
    """After SET GLOBAL innodb_io_capacity_max = DEFAULT check and advise print one pair that can be set."""
    highest = Dump(
        title="",
        url="",
        fixture="mysql-5.6.24-off",
        redo_rate=20_000,
        says="",
        variables={"innodb_io_capacity_max": "18446744073709551615"},
        rates={"Innodb_buffer_pool_pages_flushed": 50, "Innodb_rows_updated": 100},
    )
    printed = asked(highest, "check").stdout + asked(highest, "advise").stdout
    values = [
        int(one.split("= ")[1].strip(" ;"))
        for one in printed.splitlines()
        if "= " in one and "SET GLOBAL innodb_io" in one
    ]

    assert values
    assert max(values) <= 20_000
