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


def deadlock(*lines: str) -> str:
    """Return the section of the last deadlock, with what its statements wrote."""
    return headed("LATEST DETECTED DEADLOCK", *lines)


def foreign_key(*lines: str) -> str:
    """Return that of the last foreign key error."""
    return headed("LATEST FOREIGN KEY ERROR", *lines)


def transactions(*lines: str) -> str:
    """Return that of the transactions."""
    return headed("TRANSACTIONS", *lines)


def status(*sections: str, end: str = END) -> str:
    """Return a status of these sections."""
    return BEGINNING + "".join(sections) + end


def cut(*sections: str, end: str = END) -> str:
    """Return a status of the longest size, which ends in the middle of what a statement wrote, or just so."""
    beginning = BEGINNING + "".join(sections)
    return beginning + "x" * (LONGEST - len(beginning) - len(end) - 1) + "\n" + end


ABOVE = {
    "deadlock": deadlock(SAVED),
    "foreign key": foreign_key(SAVED),
    "transaction": transactions(TRANSACTION + SAVED),
    "all of them": foreign_key(SAVED) + deadlock(SAVED) + transactions(TRANSACTION + SAVED),
    "heading alone": transactions("INSERT INTO t VALUES ('\n---\nLOG\n---\n" + SECRET + "')"),
    "lines alone": transactions("SELECT '\nLog sequence number 5\nLast checkpoint at  1\n'"),
    "carriage returns": transactions(SAVED.replace("\n", "\r\n")),
    "end of a status": transactions(f"SELECT '{BEHIND}{END}'"),
    "a cut list of transactions": transactions(SAVED * 1000)[: LONGEST - 2000]
    + "\n... truncated...\nlf of a name')\n",
}
OWN_SECTION = {
    **{f"above: {name}": status(text, log(), BEHIND) for name, text in ABOVE.items()},
    "behind it": status(log(), BEHIND, transactions(TRANSACTION + SAVED)),
    "a deadlock above, transactions last": status(
        deadlock(TRANSACTION + "UPDATE t SET a = 1"), log(), BEHIND, transactions(TRANSACTION)
    ),
}


@pytest.mark.parametrize("text", OWN_SECTION.values(), ids=OWN_SECTION)
def test_the_ages_are_the_servers_own(text: str) -> None:
    """No text of a statement changes an age or gets into a fixture, whatever headings and lines it has."""
    assert parse(text) == OWN
    assert Scrubber().engine_log(text).splitlines() == log().splitlines()[3:]


NOBODYS = {
    "above and below": status(deadlock(SAVED), log(), BEHIND, transactions(SAVED)),
    "in a row below": status(deadlock("x"), log(), BEHIND, transactions(TRANSACTION, FORGED)),
    "cut in a deadlock": BEGINNING + deadlock(SAVED + "x" * LONGEST)[:LONGEST],
    "short": BEGINNING + deadlock(FORGED),
    "short, more than one": BEGINNING + deadlock(FORGED + FORGED),
    "short, in a transaction": BEGINNING + transactions(TRANSACTION + FORGED),
    "an end that was written": cut(deadlock(FORGED)),
    "an end without its rule": cut(deadlock(FORGED), end=END.splitlines()[1]),
    "two of them": cut(foreign_key(FORGED, FORGED)),
    "in two sections": cut(foreign_key(FORGED), transactions(TRANSACTION)),
    "all of a status": cut(deadlock(FORGED + BEHIND, END)),
}


@pytest.mark.parametrize("text", NOBODYS.values(), ids=NOBODYS)
def test_what_a_statement_wrote_never_stands_for_a_log_section_that_is_gone(text: str) -> None:
    """Where the server's own section may have been cut, or cannot be told, there is no age at all."""
    with pytest.raises(ValueError, match="LOG section"):
        parse(text)
    assert Scrubber().engine_log(text) == ""


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
