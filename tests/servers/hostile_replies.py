"""Odd replies one after the other to the real adapter, and what became of each.

``python -m tests.servers.hostile_replies --seed 7 --count 2000`` prints a line of JSON for the proof.
"""

from __future__ import annotations

import argparse
import itertools
import json
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.servers.hostile import Case, Hostile, cases
from tests.servers.sockets.mysqld import LIMIT, endpoint
from tuner.records import Capacity, Missed, Sample
from tuner.servers.mysql import MySQLServer
from tuner.servers.port import ServerError
from tuner.servers.session import Session
from tuner.system.clock import SystemClock
from tuner.system.printable import ERROR_CHARACTERS

BUSY = 3.0
"""Seconds more that a machine with other work may take for a call."""

STATEMENTS = 30
"""More than any call sends."""

TRIES = 20

WRITE_ANEW = 9
"""Last digit of the numbers of replies that are for a write over a new connection."""

PAIR = Capacity(400, 800)
STEPS = (("innodb_io_capacity_max", 800), ("innodb_io_capacity", 400))


class Turn:
    """Which statement is answered oddly, and how."""

    def __init__(self) -> None:
        self.case: Case | None = None
        self.after = 0

    def __call__(self, _statement: str) -> Case | None:
        """Answer the statement whose turn it is, once."""
        if self.case is None or self.after > 0:
            self.after -= 1
            return None
        case, self.case = self.case, None
        return case


@contextmanager
def listening(turn: Turn) -> Iterator[Hostile]:
    """Yield a hostile server on loopback."""
    made = Hostile(socket.create_server(("127.0.0.1", 0)), turn)
    try:
        yield made
    finally:
        made.end()


def session_to(hostile: Hostile) -> Session:
    """Return a session that never waits before it tries again."""
    patient = itertools.count(0.0, 60.0)
    return Session(endpoint(hostile.listener), lambda: next(patient))


def reads(server: MySQLServer) -> bool:
    """Tell whether the server is known and read; a busy machine may need more than one try."""
    for _ in range(TRIES):
        with suppress(ServerError):
            server.facts()
            if isinstance(server.read(), Sample):
                return True
    return False


def answered(server: MySQLServer, session: Session, turn: Turn, case: Case, number: int) -> str:
    """Give one odd reply to one of the port's calls; return what is wrong with what it came to, or nothing.

    Args:
        server: that knows its server already.
        session: of its own; every second write goes over a connection made anew.
        turn: of the server that it asks.
        case: the odd reply.
        number: of the reply; tells which call it is for, and to which of its statements.
    """
    turn.case = None
    if number % 10 == WRITE_ANEW:
        session.drop()
        with suppress(ServerError):
            session.query("SELECT GET_LOCK('x', 0)")
    turn.case, turn.after = case, number % 3
    began = time.monotonic()
    try:
        said, wrong = _call(server, number)
    except Exception as error:  # noqa: BLE001 - whatever gets out of the port is what is looked for
        return f"{type(error).__name__} got out: {error}"
    seconds = time.monotonic() - began
    if seconds > STATEMENTS * LIMIT + BUSY:
        return f"it took {seconds:.1f} s"
    if len(said) > 2 * ERROR_CHARACTERS:
        return f"it is said in {len(said)} characters"
    return wrong


def _call(server: MySQLServer, number: int) -> tuple[str, str]:
    """Return what one call came to in words, and what is wrong with that."""
    if number % 5 == 4:
        receipt = server.apply(STEPS, PAIR)
        found = receipt.in_force
        fine = receipt.error or (found is not None and 0 < found.io_capacity <= found.io_capacity_max < 2**64)
        return receipt.error, "" if fine else f"without an error {found} is in force"
    if number % 5 == 3:
        try:
            return server.facts().version, ""
        except ServerError as error:
            return str(error), ""
    reading = server.read()
    if isinstance(reading, Missed):
        return reading.reason, ""
    sound = 0 < reading.io_capacity <= reading.io_capacity_max < 2**64 and 0.0 <= reading.age_ratio < 2**64
    return reading.identity, "" if sound else f"this was taken for a sample: {reading}"


def main() -> None:
    """Give so many replies and say what was wrong with any."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    given = parser.parse_args()
    turn = Turn()
    wrong: list[str] = []
    with listening(turn) as hostile:
        session = session_to(hostile)
        server = MySQLServer(session.endpoint, SystemClock(), session=session)
        wrong += [] if reads(server) else ["it reads not even what is honest"]
        for number, case in enumerate(cases(given.seed, given.count)):
            said = answered(server, session, turn, case, number)
            wrong += [f"{case.kind} {case.seed}: {said}"] if said else []
        turn.case = None
        wrong += [] if reads(server) else ["it reads no more"]
        server.close()
        wrong += [f"{len(hostile.files)} files were sent"] if hostile.files else []
    sys.stdout.write(json.dumps({"seed": given.seed, "replies": given.count, "wrong": wrong}) + "\n")


if __name__ == "__main__":
    main()
