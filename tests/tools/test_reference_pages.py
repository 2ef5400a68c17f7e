"""The reference pages of docs/ say what the program goes by."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from lab.scenarios.load import parse_scenario
from policies.flushlaw import AGE_BLIND, MARIADB, MARIADB_WAKES, SOFT_LIMIT, FlushLaw
from policies.registry import LAWS
from policies.setpoint import SAWTOOTH_SECONDS
from tests.faults.catalogue import EVERY, FAULTS
from tests.faults.promises import INVARIANTS
from tests.lab.simulating import SHORT
from tools import no_harm
from tools.__main__ import DOCS, PAGES, current
from tools.markdown import PART
from tools.safety_page import load as load_faults
from tools.servers_page import FIXTURES, Known, how, known, results_of_the_loop
from tuner.config.checks import (
    CONNECTS_OF_A_TICK,
    STATEMENTS_OF_A_CONNECT,
    STATEMENTS_OF_A_TICK,
    STATEMENTS_OF_THE_FACTS,
)
from tuner.config.keys import IDENTITY_VARIABLE, PASSWORD_FILE_VARIABLE, PASSWORD_VARIABLE
from tuner.config.load import DEFAULT_PATH
from tuner.records import ENABLE_COUNTERS, LOW_WATER_MARK, SET_GLOBAL
from tuner.servers.adapter import FACTOR, RAISED, Adapter
from tuner.servers.endpoint import SOCKETS
from tuner.servers.enginestatus import SECONDS
from tuner.servers.families import FAMILIES, SUPPORTED
from tuner.servers.families.mariadb import BLIND, HEEDING, NARROWER
from tuner.servers.fixture import load
from tuner.servers.known import WORDS, all_measured
from tuner.servers.release import named
from tuner.servers.writing import WRITABLE

ROOT = DOCS.parent


@pytest.mark.parametrize("name", PAGES)
def test_the_generated_parts_of_a_page_are_current(name: str) -> None:
    """Whoever changes a key, a field, a fault or a fixture generates the page again."""
    text = (DOCS / name).read_text(encoding="utf-8")

    assert text == current(name), f"run: python -m tools {name}"
    assert set(PART.findall(text)) == set(PAGES[name])


MENDED = [named(first) for first, _ in HEEDING if first[:2] in {begin[:2] for begin, _ in BLIND}]


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (
            "configuration.md",
            [
                *(DEFAULT_PATH, PASSWORD_VARIABLE, PASSWORD_FILE_VARIABLE, IDENTITY_VARIABLE, *SOCKETS),
                f"{CONNECTS_OF_A_TICK + STATEMENTS_OF_A_TICK} times `server.timeout`",
                f"for {CONNECTS_OF_A_TICK} connects",
                f"{STATEMENTS_OF_A_TICK} statements ({STATEMENTS_OF_A_CONNECT} for each connect",
                f"{STATEMENTS_OF_THE_FACTS} more",
            ],
        ),
        ("../README.md", [all_measured()]),
        ("safety.md", [*WRITABLE, *ENABLE_COUNTERS, SET_GLOBAL, LOW_WATER_MARK, EVERY]),
        (
            "servers.md",
            [
                *(SUPPORTED.partition("are ")[2], FACTOR, LOW_WATER_MARK, f"asked every {SECONDS:g} s"),
                f"before MySQL {named(RAISED)}",
                *(named((*series, patch)) for series, patch in NARROWER.items()),
                *(f"`{law.name}`" for law in (SOFT_LIMIT, MARIADB, MARIADB_WAKES, AGE_BLIND)),
                *(named(first) for first, _ in BLIND),
                *(named((*last[:-1], last[-1] - 1)) for _, last in BLIND),
                *MENDED,
            ],
        ),
    ],
)
def test_what_a_page_says_by_hand_is_what_the_program_goes_by(page: str, words: list[str]) -> None:
    """Names, releases and numbers in a page's own sentences are those of the code."""
    text = " ".join((DOCS / page).read_text(encoding="utf-8").split())

    assert [one for one in words if " ".join(one.split()) not in text] == []


def test_every_fault_test_is_on_the_page() -> None:
    """No test in ``tests/faults/`` is left out, and each row names invariants that exist.

    What happens to every family has a test of its own for the others' servers.
    """
    load_faults()
    tests = {
        (path.stem, node.name)
        for path in sorted((ROOT / "tests" / "faults").glob("test_*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    others = {(module, test) for module, test in tests if module == "test_families"}

    assert {(one.module, one.test) for one in FAULTS.values()} == tests - others
    assert len(others) == sum(one.on == EVERY for one in FAULTS.values())
    assert all(set(one.invariants) <= set(INVARIANTS) and one.invariants for one in FAULTS.values())


def row_of(table: str, name: str) -> str:
    """Return a server's row."""
    return next(line for line in table.splitlines() if line.startswith(f"| {name} |"))


def test_every_fixture_is_a_server_of_the_page() -> None:
    """Each is named, one's own or hosted, with how it is known, and its flush law or why it is refused."""
    page = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("servers.md", "hosted.md"))

    assert len(known()) == len(list(FIXTURES.glob("*.json")))
    for one in known():
        row = row_of(page, one.name)
        seen = "| known from source |" not in row and f"| {WORDS['newer']} |" not in row
        assert seen != one.fixture.synthetic
        assert one.refusal in row
        assert one.family is None or f"`{one.family.flush_law}`" in row


@pytest.mark.parametrize("adapter", [kind() for kind in FAMILIES], ids=lambda one: one.title)
def test_what_is_read_of_a_server_is_what_its_adapter_reads(adapter: Adapter) -> None:
    """Each family's column of the page names its counters, its parts and how often it makes a checkpoint."""
    _, _, part = (DOCS / "servers.md").read_text(encoding="utf-8").partition("## What is read\n\n")
    head, _, *lines = (line.strip("| ").split(" | ") for line in part.partition("\n\n")[0].splitlines())
    column = " ".join(line[head.index(adapter.title) + 1] for line in lines)
    sawtooth = adapter.checkpoints.get("sawtooth_seconds", SAWTOOTH_SECONDS)
    names = (
        adapter.oldest,
        adapter.waits,
        adapter.lru,
        adapter.by_age or "not exported",
        adapter.redo_variable,
    )

    assert [one for one in names if one not in column] == []
    assert [one for one in (*adapter.parts, f"{sawtooth:g} s") if one not in column] == []
    stalls = adapter.checkpoints.get("sync_stalls", False)
    assert ("from the sync point" if stalls else "at the stall point") in column


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_the_formula_of_a_law_is_the_laws(law: FlushLaw) -> None:
    """Exponent, divisor, and the share of M that the mean redo rate may ask for."""
    row = row_of((DOCS / "servers.md").read_text(encoding="utf-8"), f"`{law.name}`")

    assert not law.m_moves_age or f"X^{law.exponent:g} / {law.divisor:g}⌋" in row
    assert law.need_cap == 0.0 or f"{law.need_cap:g} × M" in row or f"M / {1 / law.need_cap:g}" in row


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("on MySQL 9.7.4", True),
        ("MySQL 9.7.40", False),
        ("MySQL 19.7.4", False),
        ("MySQL 8.9.7.4", False),
        ("MySQL 8.4.8", False),
    ],
    ids=["named", "longer", "longer before", "a part of another", "another"],
)
def test_a_measured_server_has_the_pages_with_its_figures(tmp_path: Path, text: str, *, named: bool) -> None:
    """No page about the simulated server, and none of another release's; without one, what runs the loop."""
    (tmp_path / "bench").mkdir()
    for name in ("loop.md", "bench/README.md", "plant.md"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    server = Known.by(load(FIXTURES / "mysql-9.7.4.json"))
    pages = "[bench](results/bench/README.md), [loop](results/loop.md)"
    by = pages if named else "`make prove PART=releases`"

    assert how(server, results_of_the_loop(tmp_path)) == f"measured live: {by}"


def test_the_loop_is_compared_with_the_server_left_alone() -> None:
    """Every figure is there of both, from the seconds that count, and becomes a line."""
    row = no_harm.compared(no_harm.Job(parse_scenario(SHORT, source="test")))

    assert row["commits"][0] > row["commits"][1] > 0.0
    assert row["starved"][0] <= row["starved"][1] <= 180
    assert f"| short | {row['commits'][0]:.0f} | {row['commits'][1]:.0f} |" in no_harm.page([row])
