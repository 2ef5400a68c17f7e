"""Whose LOG section it is that SHOW ENGINE INNODB STATUS has: the server's, or one that a statement wrote."""

from __future__ import annotations

import pytest

from tuner.servers.enginestatus import LONGEST, parse
from tuner.servers.scrub import Scrubber

SECRET = "customer=Jane Roe"  # noqa: S105 - what must not get out
OWN = {"engine_lsn": "1653114", "engine_oldest": "1653100", "engine_checkpoint": "1653000"}


def headed(title: str, *lines: str) -> str:
    """Return a section as mysqld prints it."""
    rule = "-" * len(title)
    return "\n".join([rule, title, rule, *lines, ""])


def log(lsn: int | str = 1653114, oldest: int | str = 1653100, checkpoint: int | str = 1653000) -> str:
    """Return a LOG section."""
    return headed(
        "LOG",
        f"Log sequence number {lsn}",
        f"Log flushed up to   {lsn}",
        f"Pages flushed up to {oldest}",
        f"Last checkpoint at  {checkpoint}",
        "0 pending log writes, 0 pending chkp writes",
        "8 log i/o's done, 0.00 log i/o's/second",
    )


BEGINNING = headed("BACKGROUND THREAD", "srv_master_thread loops: 2 srv_active") + headed("SEMAPHORES")
BEHIND = headed("BUFFER POOL AND MEMORY", "Database pages     512") + headed(
    "ROW OPERATIONS", "0 queries inside InnoDB, 0 queries in queue"
)
END = f"{'-' * 28}\nEND OF INNODB MONITOR OUTPUT\n{'=' * 28}\n"
FORGED = log(99999999999, 1, 1)
SAVED = f"INSERT INTO notes VALUES ('saved:\n{FORGED}{SECRET}\nLog sequence number 7\n{BEHIND}{END}')\n"
"""A statement with a whole status in it."""

TRANSACTION = "---TRANSACTION 421, ACTIVE 3 sec\nMySQL thread id 7, query id 9 localhost app updating\n"


def status(*sections: str, end: str = END) -> str:
    """Return a status of these sections."""
    return BEGINNING + "".join(sections) + end


TEXTS = {
    "deadlock": headed("LATEST DETECTED DEADLOCK", SAVED),
    "foreign key": headed("LATEST FOREIGN KEY ERROR", SAVED),
    "transaction": headed("TRANSACTIONS", TRANSACTION + SAVED),
    "all of them": headed("LATEST FOREIGN KEY ERROR", SAVED)
    + headed("LATEST DETECTED DEADLOCK", SAVED)
    + headed("TRANSACTIONS", TRANSACTION + SAVED),
    "heading alone": headed("TRANSACTIONS", "INSERT INTO t VALUES ('\n---\nLOG\n---\n" + SECRET + "')"),
    "lines alone": headed("TRANSACTIONS", "SELECT '\nLog sequence number 5\nLast checkpoint at  1\n'"),
    "carriage returns": headed("TRANSACTIONS", SAVED.replace("\n", "\r\n")),
    "end of a status": headed("TRANSACTIONS", f"SELECT '{BEHIND}{END}'"),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_ages_are_the_servers_own(text: str) -> None:
    """No text of a statement above the LOG section changes an age, whatever headings and lines it has."""
    assert parse(status(text, log(), BEHIND)) == OWN


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_log_section_of_a_fixture_is_the_servers_own(text: str) -> None:
    """A fixture holds no line of a statement above the LOG section."""
    assert Scrubber().engine_log(status(text, log(), BEHIND)).splitlines() == log().splitlines()[3:]


def test_transactions_behind_the_log_section_change_nothing() -> None:
    """Where a server prints its transactions last, a saved status in one of them is not its own."""
    assert parse(status(log(), BEHIND, headed("TRANSACTIONS", TRANSACTION + SAVED))) == OWN


@pytest.mark.parametrize(
    "sections",
    [
        (headed("LATEST DETECTED DEADLOCK", SAVED), log(), BEHIND, headed("TRANSACTIONS", SAVED)),
        (headed("LATEST DETECTED DEADLOCK", "x"), log(), BEHIND, headed("TRANSACTIONS", TRANSACTION, FORGED)),
    ],
)
def test_a_section_that_may_be_anybodys_is_no_answer(sections: tuple[str, ...]) -> None:
    """Where statements stand above and below, and more than one LOG section with them, there is no age."""
    with pytest.raises(ValueError, match="LOG sections"):
        parse(status(*sections))
    assert Scrubber().engine_log(status(*sections)) == ""


def test_a_status_that_was_cut_before_its_log_section_is_no_answer() -> None:
    """A status is cut at 1 MiB by mysqld: what a statement wrote above does not stand for what is gone."""
    long = headed("LATEST DETECTED DEADLOCK", SAVED + "x" * LONGEST)[:LONGEST]

    with pytest.raises(ValueError, match="cut"):
        parse(BEGINNING + long)
    assert Scrubber().engine_log(BEGINNING + long) == ""


def cut(*sections: str, end: str = END) -> str:
    """Return a status of the longest size, which ends in the middle of what a statement wrote, or just so."""
    beginning = BEGINNING + "".join(sections)
    return beginning + "x" * (LONGEST - len(beginning) - len(end) - 1) + "\n" + end


CUT = {
    "short": BEGINNING + headed("LATEST DETECTED DEADLOCK", FORGED),
    "short, more than one": BEGINNING + headed("LATEST DETECTED DEADLOCK", FORGED + FORGED),
    "short, in a transaction": BEGINNING + headed("TRANSACTIONS", TRANSACTION + FORGED),
    "an end that was written": cut(headed("LATEST DETECTED DEADLOCK", FORGED)),
    "an end without its rule": cut(headed("LATEST DETECTED DEADLOCK", FORGED), end=END.splitlines()[1]),
    "two of them": cut(headed("LATEST FOREIGN KEY ERROR", FORGED, FORGED)),
    "in a row": cut(headed("LATEST FOREIGN KEY ERROR", FORGED), headed("TRANSACTIONS", TRANSACTION)),
    "all of a status": cut(headed("LATEST DETECTED DEADLOCK", FORGED + BEHIND, END)),
}


@pytest.mark.parametrize("text", CUT.values(), ids=CUT)
def test_what_a_statement_wrote_never_stands_for_a_log_section_that_is_gone(text: str) -> None:
    """Where a status may have been cut before the server's own section, one that is alone is none either."""
    with pytest.raises(ValueError, match=r"LOG section"):
        parse(text)
    assert Scrubber().engine_log(text) == ""


def test_a_deadlock_is_no_reason_to_miss_an_age_where_transactions_come_last() -> None:
    """A whole status with one LOG section is taken, wherever the server prints its transactions."""
    quiet = headed("LATEST DETECTED DEADLOCK", TRANSACTION + "UPDATE t SET a = 1")

    assert parse(status(quiet, log(), BEHIND, headed("TRANSACTIONS", TRANSACTION))) == OWN


def test_a_status_whose_transactions_were_cut_has_its_own_log_section() -> None:
    """Where the list of transactions was shortened to keep the end, the end is what counts."""
    long = headed("TRANSACTIONS", SAVED * 1000)[: LONGEST - 2000] + "\n... truncated...\nlf of a name')\n"

    assert parse(status(long, log(), BEHIND)) == OWN


@pytest.mark.parametrize(
    "wrong",
    [
        log(lsn="9" * 400),
        log(lsn="-1"),
        log(lsn="nan"),
        log(lsn="1653114 or so"),
        log() + "Log sequence number 9\n",
        headed("LOG", "Log sequence number 1653114"),
        "",
    ],
)
def test_a_line_that_is_missing_or_odd_is_no_answer(wrong: str) -> None:
    """An LSN is one number of at most 20 digits, on a line of its own, once."""
    with pytest.raises(ValueError, match="SHOW ENGINE INNODB STATUS"):
        parse(status(wrong, BEHIND))


def test_an_unknown_line_of_the_log_section_is_left_out_of_a_fixture() -> None:
    """Only lines that InnoDB is known to print there get into the file."""
    said = Scrubber().engine_log(status(log() + f"{SECRET}\nMax checkpoint age    7782360\n", BEHIND))

    assert SECRET not in said
    assert said.splitlines()[-1] == "Max checkpoint age    7782360"
