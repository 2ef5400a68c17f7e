"""A server over a real socket that speaks the protocol far enough to be believed, and then answers oddly.

Its honest answers are a fixture's. What it does to one of them, and to which, depends on a seed alone, so
that whatever it shows can be shown again: ``python -m tests.servers.hostile --seed 7 --port 3399``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pymysql

from tests.servers.fixtured import Fixtured
from tests.servers.packets import (
    DECIMAL,
    VARCHAR,
    Row,
    Write,
    answer,
    column,
    framed,
    greeting,
    receive,
    refusal,
    send,
    text,
)
from tests.servers.sockets.mysqld import SALT, Mysqld
from tuner.servers.fixture import load

FIXTURE = Path(__file__).parents[1] / "fixtures" / "servers" / "mysql-8.0.46.json"
LSNS = ("log_lsn_current", "log_lsn_buf_pool_oldest_approx", "log_lsn_last_checkpoint")
PERCENT = "buffer_flush_pct_for_lsn"
FLUSHED = "buffer_flush_adaptive_total_pages"
AGE = 0.607
"""Modified age over the flush limit, in the fixture."""

REDO, PAGES = 4_000_000, 400
"""What the honest server's load makes in a second: bytes of redo, and pages that it flushes."""

ENDLESS = 64 * 1024 * 1024
"""Bytes after which even an endless answer ends."""

ODD = (
    *("", "NULL", "nan", "-nan", "inf", "-inf", "1e999", "-1e999", "1e308", "1e99999999", "0x10", "1_000"),
    *("1,5", "ON", "-1", "0", "-0", "9" * 400, "-" + "9" * 400, "9" * 5000, "18446744073709551616.5", "４２"),
    *(str(2**63), str(2**64 - 1), str(2**64), "\x00", "\x1b[2J", "a" * 70_000, "' OR 1=1 --"),
)
"""What stands where a number should."""

TYPES = (0, 3, 5, 7, 8, 10, 11, 12, 16, 245, 246, 249, 250, 252, 253, 254, 255, 77)
"""Column types that the driver converts from, and one that there is not."""


class Case(NamedTuple):
    """One odd answer.

    Attributes:
        kind: what is odd.
        seed: of everything in it.
    """

    kind: str
    seed: int


def cases(seed: int, count: int) -> list[Case]:
    """Return so many odd answers; each kind comes up before one comes again."""
    dice = random.Random(seed)  # noqa: S311 - the same ones again is what it is for
    found: list[Case] = []
    while len(found) < count:
        kinds = list(KINDS)
        dice.shuffle(kinds)
        found += [Case(kind, dice.randrange(2**32)) for kind in kinds]
    return found[:count]


class Honest(Fixtured):
    """The fixture's server, which takes writes, and whose redo log grows.

    Attributes:
        writes: the statements that set something, as they came.
    """

    def __init__(self) -> None:
        super().__init__(load(FIXTURE))
        self.writes: list[str] = []
        self._began = time.monotonic()
        self._counts = {name: int(self.reading.metrics[name][1]) for name in (*LSNS, FLUSHED)}
        self._uptime = int(self.reading.status["Uptime"])

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Answer; refuse as the server did."""
        self._grow()
        if statement.startswith(("SET GLOBAL", "CALL", "SET PERSIST", "ALTER", "CREATE", "DROP")):
            self.writes.append(statement)
            name, _, value = statement.removeprefix("SET GLOBAL ").partition(" = ")
            if name in self.reading.variables and value.isdigit():
                self.reading.variables[name] = value
                self._obey()
            return []
        if statement.startswith(("SET", "KILL", "ROLLBACK", "COMMIT")):
            return []
        if "processlist" in statement:
            return []
        if statement.startswith("SELECT @@GLOBAL"):
            names = statement.removeprefix("SELECT ").replace("@@GLOBAL.", "").split(", ")
            return [tuple(self.reading.variables[name] for name in names)]
        return super().query(statement)

    def _obey(self) -> None:
        """Flush by the law for the C and M that are in force now."""
        low, high = (int(self.reading.variables[f"innodb_io_capacity{one}"]) for one in ("", "_max"))
        state, _ = self.reading.metrics[PERCENT]
        self.reading.metrics[PERCENT] = (state, str(int(high // low * (100 * AGE) ** 1.5 / 7.5)))

    def _grow(self) -> None:
        lived = time.monotonic() - self._began
        for name, count in self._counts.items():
            rate = PAGES if name == FLUSHED else REDO
            self.reading.metrics[name] = (self.reading.metrics[name][0], str(count + int(rate * lived)))
        self.reading.status["Uptime"] = str(self._uptime + int(lived))


class Hostile(Mysqld):
    """The server.

    Attributes:
        honest: who answers where nothing odd is to be said.
        odd: called with each statement; the odd answer to it, or None.
        greeting: the odd answer to a new connection, or None.
        files: bytes that came where it asked for a file.
    """

    def __init__(self, listener: socket.socket, odd: Callable[[str], Case | None]) -> None:
        self.honest = Honest()
        self.odd = odd
        self.greeting: Case | None = None
        self.files: list[bytes] = []
        self._lock = threading.Lock()
        super().__init__(listener)
        self.version = b"8.0.46"

    def _log_in(self, connection: socket.socket, number: int, opened: contextlib.ExitStack) -> socket.socket:
        if self.greeting is None:
            return super()._log_in(connection, number, opened)
        hello = greeting(self.version, number, salt=SALT, plugin=self.plugin)
        Odd(connection.sendall, self.greeting.seed, first=0).say(
            self.greeting.kind, [(hello.decode("latin1"),)]
        )
        raise EOFError

    def _answer(self, connection: socket.socket, statement: str) -> None:
        with self._lock:
            case = self.odd(statement)
            try:
                rows = self.honest.query(statement)
                packets = answer(rows)
            except pymysql.MySQLError as error:
                rows, packets = [], [refusal(error.args[0], str(error.args[1]).encode())]
        if case is None:
            for number, packet in enumerate(packets, start=1):
                send(connection.sendall, number, packet)
        elif Odd(connection.sendall, case.seed).say(case.kind, rows or [("1",)]):
            self._take_file(connection)

    def _take_file(self, connection: socket.socket) -> None:
        """Keep what comes from a client that was asked for a file; nothing does where it just goes."""
        with contextlib.suppress(OSError, EOFError):
            connection.settimeout(0.5)
            came = receive(connection)[1]
            if came[:1] not in {b"\x01", b"\x03"}:  # a command: it was not heard as a question for a file
                self.files.append(came)
        raise EOFError


class Odd:
    """One odd answer, as it is written."""

    def __init__(self, write: Write, seed: int, *, first: int = 1) -> None:
        self._write = write
        self._dice = random.Random(seed)  # noqa: S311 - the same ones again is what it is for
        self._first = first

    def say(self, kind: str, rows: Sequence[Row]) -> bool:
        """Answer, in place of these rows; tell whether a file was asked for."""
        KINDS[kind](self, [list(row) for row in rows])
        return kind == "file"

    def send(self, all_of: Sequence[bytes]) -> None:
        """Send packets, counted on."""
        for number, packet in enumerate(all_of, start=self._first):
            send(self._write, number % 256, packet)

    def file(self, _rows: list[list[Any]]) -> None:
        """Ask for a file of the client's."""
        self.send([b"\xfb" + self._dice.choice([b"/etc/passwd", b"", b"\xff" * 300])])

    def cut(self, rows: list[list[Any]]) -> None:
        """End in the middle."""
        whole = b"".join(framed(number, one) for number, one in enumerate(answer(rows), start=self._first))
        self._write(whole[: self._dice.randrange(len(whole))])
        raise EOFError

    def empty(self, rows: list[list[Any]]) -> None:
        """Send packets without anything in them."""
        some = answer(rows)
        some.insert(self._dice.randrange(len(some)), b"")
        self.send(some)

    def cells(self, rows: list[list[Any]]) -> None:
        """Say something odd in place of some values, or of all."""
        share = self._dice.choice([0.01, 0.1, 1.0])
        for row in rows:
            for place in range(len(row)):
                if self._dice.random() < share:
                    row[place] = self._dice.choice([*ODD, None])
        self.send(answer(rows))

    def numbers(self, rows: list[list[Any]]) -> None:
        """Say one odd thing in place of one number, or of every number."""
        what, said = self._dice.choice([*ODD, None]), self._dice.choice([VARCHAR, DECIMAL])
        counts = frozenset(
            at for at in range(len(rows[0])) if all(row[at] is None or str(row[at]).isdigit() for row in rows)
        )
        spots = [(row, at) for row in rows for at, one in enumerate(row) if str(one).lstrip("-").isdigit()]
        if spots and self._dice.random() < 0.7:
            spots = [self._dice.choice(spots)]
        for row, at in spots:
            row[at] = what
        self.send(answer(rows, decimals=counts if said == DECIMAL else frozenset()))

    def names(self, rows: list[list[Any]]) -> None:
        """Mix up which value has which name, leave rows out, or say some twice."""
        firsts = [row[0] for row in rows]
        self._dice.shuffle(firsts)
        mixed = [[name, *row[1:]] for name, row in zip(firsts, rows, strict=True)]
        kept = [row for row in mixed if self._dice.random() < 0.8]
        self.send(answer(self._dice.choice([mixed, kept, rows[:1], [], rows * 2])))

    def columns(self, rows: list[list[Any]]) -> None:
        """Announce another number of columns than there are."""
        some = answer(rows)
        some[0] = self._dice.choice(
            [b"\x00", b"\x01", b"\x07", b"\xfa", b"\xfc\xff\xff", b"\xfe" + b"\xff" * 8]
        )
        self.send(some)

    def short(self, rows: list[list[Any]]) -> None:
        """Leave columns out of rows, or have more of them."""
        change = self._dice.choice([-1, 1, 5])
        wide = [row[:change] if change < 0 else row + ["1"] * change for row in rows]
        self.send(answer(wide, columns=len(rows[0])))

    def types(self, rows: list[list[Any]]) -> None:
        """Announce columns of odd types, and say what is none of it."""
        self.send(answer(rows, kind=self._dice.choice(TYPES), charset=self._dice.choice([33, 63, 255, 999])))

    def bytes(self, rows: list[list[Any]]) -> None:
        """Say what is no text."""
        where = self._dice.choice(rows)
        where[self._dice.randrange(len(where))] = b"\xff\xfe\x00\x80" * self._dice.choice([1, 50])
        self.send(answer(rows))

    def noise(self, _rows: list[list[Any]]) -> None:
        """Send anything, framed or not."""
        anything = self._dice.randbytes(self._dice.choice([1, 3, 30, 3000]))
        if self._dice.random() < 0.5:
            self.send([anything])
        else:
            self._write(anything)
            raise EOFError

    def error(self, _rows: list[list[Any]]) -> None:
        """Refuse, with any number and up to a megabyte of text."""
        number = self._dice.choice([0, 1, 999, 1045, 1193, 1227, 2006, 2013, 3024, 40_000, 65_535])
        words = self._dice.choice([b"", b"\x1b[2J\n" * 9, b"x" * 1_000_000, b"\xff\xff"])
        state = self._dice.choice([b"#HY000", b"", b"#"])
        self.send([refusal(number, words, state)])

    def sequence(self, rows: list[list[Any]]) -> None:
        """Count packets otherwise."""
        for packet in answer(rows):
            send(self._write, self._dice.randrange(256), packet)

    def fine(self, _rows: list[list[Any]]) -> None:
        """Say that all went well, and nothing else; or that more answers follow, which never end."""
        more = self._dice.random() < 0.5
        status = struct.pack("<H", 2 | (8 if more else 0))
        self.send([b"\x00\x00\x00" + status + b"\x00\x00"] * (20_000 if more else 1))

    def drip(self, rows: list[list[Any]]) -> None:
        """Send a little again and again, so that no single wait is long."""
        pause = self._dice.choice([0.02, 0.1])
        whole = b"".join(
            framed(number, one) for number, one in enumerate(answer(rows * 50), start=self._first)
        )
        for at in range(400):
            self._write(whole[at : at + 1])
            time.sleep(pause)

    def endless(self, rows: list[list[Any]]) -> None:
        """Send rows without end: many, long, or one that says it is long."""
        some, sent = answer(rows), 0
        self.send(some[:-1])
        number = self._first + len(some) - 1
        row = self._dice.choice([some[-2], b"\xfd\x00\x00\x10" + b"a" * 0x100000, b"a" * 0xFFFFFF])
        while sent < ENDLESS:
            send(self._write, number % 256, row)
            number, sent = number + 1, sent + len(row)

    def wide(self, _rows: list[list[Any]]) -> None:
        """Send rows of many short values."""
        count = self._dice.choice([100, 240, 1000, 5000])
        head = bytes([count]) if count < 251 else b"\xfc" + count.to_bytes(2, "little")
        row, end = text("ab") * count, b"\xfe\x00\x00\x02\x00"
        rows = [row] * min(9_000, 4_000_000 // len(row))
        self.send([head, *[column(VARCHAR, 255)] * count, end, *rows, end])

    def hang(self, rows: list[list[Any]]) -> None:
        """Say nothing, or not the end."""
        some = answer(rows)
        self.send(some[: self._dice.choice([0, 1, len(some) - 1])])


KINDS: dict[str, Callable[[Odd, list[list[Any]]], None]] = {
    name: getattr(Odd, name)
    for name in (
        *("file", "cut", "empty", "cells", "numbers", "names", "columns", "short", "types", "bytes"),
        *("noise", "error", "sequence", "fine", "drip", "endless", "wide", "hang"),
    )
}

VALUES = ("cells", "numbers", "names", "short", "types", "bytes")
"""Kinds that are sound packets with odd words."""


def main() -> None:
    """Serve until standard input ends; say when the first odd answer goes out, and what was written."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--share", type=float, default=0.05, help="of the statements that are answered oddly")
    parser.add_argument(
        "--calm", type=float, default=30.0, help="seconds of honest answers from the first statement on"
    )
    given = parser.parse_args()
    dice = random.Random(given.seed)  # noqa: S311 - the same ones again is what it is for
    begun, said = 0.0, 0

    def odd(_statement: str) -> Case | None:
        nonlocal begun, said
        begun = begun or time.monotonic()
        if time.monotonic() - begun < given.calm or dice.random() >= given.share:
            return None
        said += 1
        if said == 1:
            sys.stdout.write("odd\n")
            sys.stdout.flush()
        return Case(dice.choice(list(KINDS)), dice.randrange(2**32))

    with socket.create_server(("127.0.0.1", given.port)) as listener:
        server = Hostile(listener, odd)
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        sys.stdin.read()
        sys.stdout.write(json.dumps({"writes": server.honest.writes, "files": len(server.files)}) + "\n")


if __name__ == "__main__":
    main()


def configured(there: Path, port: int, *, api: bool = True) -> Path:
    """Write a daemon's configuration for a server on this port, and return its path."""
    login = there / "client.cnf"
    login.touch(mode=0o600)
    login.write_text("[client]\nuser=innobrim\npassword=of-this-run-alone\n", encoding="utf-8")
    (there / "state").mkdir()
    path = there / "innobrim.toml"
    path.write_text(
        f'[server]\nhost = "127.0.0.1"\nport = {port}\ntls = "off"\ndefaults_file = "{login}"\n'
        f'[loop]\nmode = "active"\n[daemon]\nstate_directory = "{there / "state"}"\n'
        f'[api]\nport = 0\nsocket = "{there / "api" if api else "-"}"\n',
        encoding="utf-8",
    )
    return path
