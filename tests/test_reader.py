"""What the pages for users say to type is typed, and does what they say."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reader import USERS, Reader, blocks, statements_of, typed_of, unlike, wrong_sql

ROOT = Path(__file__).parents[1]
PAGES = [page for page in USERS if "```" in page.read_text(encoding="utf-8")]


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    """Return a reader beside a daemon in active mode."""
    with (
        pytest.MonkeyPatch.context() as patched,
        tempfile.TemporaryDirectory(prefix="r", dir="/tmp") as folder,
    ):
        one = Reader(Path(folder))
        patched.setattr("tuner.config.load.DEFAULT_PATH", f"{folder}/etc/innobrim/innobrim.toml")
        with one.served():
            yield one


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run_as_they_stand(reader: Reader, page: Path) -> None:
    """Each command of a page ends well, typed in its order, and prints what the page shows."""
    text = page.read_text(encoding="utf-8")
    reader.begins(text)
    wrong = []
    for block in blocks(text):
        if block.kind not in {"sh", "console"}:
            continue
        commands, shown = typed_of(block)
        result = reader.types(commands)
        where = f"{page.name}:{block.line}"
        if result.code:
            wrong.append(f"{where}: {result.err[-500:]}")
        if result.expected:
            printed = result.out + result.err
            wrong += [f"{where}: not printed: {line}" for line in unlike(shown + block.after, printed)]
        wrong += [f"{where}: no SQL: {one}" for one in wrong_sql(result.sql)]
    codes = reader.ends()

    assert wrong == []
    assert set(codes) <= {0}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_statements_are_statements(page: Path) -> None:
    """What a page says to type at a client is SQL, about variables that servers have."""
    typed = map(statements_of, blocks(page.read_text(encoding="utf-8")))

    assert [one for statements in typed for one in wrong_sql(statements)] == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("innobrim statsu", 2),
        ("innobrim status --jsn", 2),
        ("innobrim check --defaults-file gone.cnf", 2),
        ("frobnicate", 127),
        ("grep innobrim gone | cat", 2),
        ("innobrim policies\nfalse\ntrue", 1),
    ],
)
def test_a_command_that_fails_is_told(reader: Reader, typed: str, code: int) -> None:
    """Where a command, an option, a file or a program is not there, a block ends with that exit code."""
    assert reader.types(typed).code == code


@pytest.mark.parametrize(
    "statement",
    [
        "SET GLOBAL innodb_io_capacty = 200;",
        "GRNAT PROCESS ON *.* TO innobrim;",
        "SELECT (1;",
        "SELECT 'a;",
        "SELECT 1",
    ],
)
def test_what_no_server_takes_is_told(statement: str) -> None:
    """A variable or statement that there is not, and one that does not end, are named."""
    assert wrong_sql(statement)


def test_what_is_not_printed_is_told() -> None:
    """A line that a page shows may differ in its numbers, and not in its words."""
    printed = "io_capacity    C 451, M 451; originals C 10000, M 20000\n"

    assert unlike("io_capacity    C 225, M 450; originals C 200, M 2000\n", printed) == []
    assert unlike("io_capacity  225 of 450, formerly 200 of 2000\n", printed) != []
