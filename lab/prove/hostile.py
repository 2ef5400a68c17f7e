"""A daemon beside a server that answers oddly, and odd replies by the thousand: ``tests/servers/hostile.py``.

The server is run as a program of its own, from the source tree that this runs in.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.report.markdown import bullets, put, table

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = "hostile.md"
COMMAND = "make prove PART=hostile"
MINUTES = 60
REPLIES = 2000
"""At least so many odd replies in an hour."""

MEBIBYTE = 1024 * 1024
RESIDENT_LIMIT = 120 * MEBIBYTE
STOP_LIMIT = 2.0
POLL_SECONDS = 5.0
GRACE_SECONDS = 20.0
LOWEST, HIGHEST = 100, 20_000
"""The default limits of C and M."""

WRITE = re.compile(r"SET GLOBAL (innodb_io_capacity|innodb_io_capacity_max) = (\d+)")
PROGRAM = (sys.executable, "-c", "from tuner.cli.main import main; main()")


class Lived(NamedTuple):
    """What a daemon did beside the server.

    Attributes:
        seconds: how long it lived.
        odd: replies that were odd.
        writes: statements that set something.
        wrong: those of them that are none of the daemon's, or leave its limits.
        files: that it sent.
        resident: memory at most, bytes.
        tracebacks: in its log.
        lines: of its log.
        stop_seconds: from SIGTERM to its end; none where it ended before, or not at all.
        code: that it ended with.
    """

    seconds: float
    odd: int
    writes: int
    wrong: tuple[str, ...]
    files: int
    resident: int
    tracebacks: int
    lines: int
    stop_seconds: float | None
    code: int | None

    def breaches(self) -> Iterator[str]:
        """Yield what was not as promised."""
        if self.wrong:
            yield f"{len(self.wrong)} wrong writes, the first {self.wrong[0]}"
        if self.files:
            yield f"{self.files} files were sent"
        if self.resident >= RESIDENT_LIMIT:
            yield f"{self.resident / MEBIBYTE:.0f} MiB resident"
        if self.tracebacks:
            yield f"{self.tracebacks} tracebacks"
        if self.stop_seconds is None or self.stop_seconds > STOP_LIMIT or self.code != 0:
            yield f"after SIGTERM it took {self.stop_seconds} s and ended with {self.code}"


def run(results: Path, *, minutes: float = MINUTES, seed: int = 1) -> int:
    """Give replies, then let a daemon live beside the server, write the page; return 1 where all is not well.

    Args:
        results: directory of the page.
        minutes: for both; the daemon has what the replies leave, and nine tenths of it at least.
        seed: of everything odd.
    """
    began = time.monotonic()
    count = max(100, int(REPLIES * minutes / MINUTES))
    replies = _replies(seed, count)
    print(f"{count} replies: {len(replies)} wrong", flush=True)
    left = 60.0 * minutes - (time.monotonic() - began)
    lived = live(seed, max(left, 54.0 * minutes))
    found = ", ".join(lived.breaches()) or "as promised"
    print(f"{lived.seconds:.0f} s beside the server, {lived.odd} odd replies: {found}")
    print(f"wrote {put(results / FILE, _page(seed, count, replies, lived))}")
    return int(bool(replies) or any(lived.breaches()))


def _replies(seed: int, count: int) -> list[str]:
    """Return what was wrong with what odd replies came to."""
    asked = ("-m", "tests.servers.hostile_replies", "--seed", str(seed), "--count", str(count))
    done = subprocess.run([sys.executable, *asked], capture_output=True, text=True, check=False)
    if done.returncode:
        return [done.stderr.strip().rpartition("\n")[2]]
    found: list[str] = json.loads(done.stdout)["wrong"]
    return found


def live(seed: int, seconds: float, *, calm: float = 30.0, share: float = 0.1) -> Lived:
    """Return what a daemon in active mode did beside the server.

    Args:
        seed: of the odd answers.
        seconds: how long it lives.
        calm: seconds from the first statement on in which the server is honest.
        share: of the statements that are answered oddly after that.
    """
    odd = ("--seed", str(seed), "--calm", f"{calm:g}", "--share", f"{share:g}")
    with (
        tempfile.TemporaryDirectory(prefix="innobrim-hostile-") as folder,
        subprocess.Popen(
            [sys.executable, "-m", "tests.servers.hostile", *odd],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as server,
    ):
        assert server.stdin is not None  # noqa: S101 - as asked for above
        assert server.stdout is not None  # noqa: S101 - the same
        there = Path(folder)
        _configure(there, int(server.stdout.readline()))
        log = there / "log"
        with log.open("wb") as lines:
            daemon = subprocess.Popen(
                [*PROGRAM, "run", "--config", str(there / "innobrim.toml")], stdout=lines, stderr=lines
            )
            lasted, resident = _watched(daemon, seconds)
            stop_seconds = _stopped(daemon)
        server.stdin.close()
        told: dict[str, Any] = json.loads(server.stdout.read())
        said = log.read_text(encoding="utf-8", errors="replace")
        return Lived(
            seconds=lasted,
            odd=told["odd"],
            writes=len(told["writes"]),
            wrong=tuple(wrong_writes(told["writes"])),
            files=told["files"],
            resident=resident,
            tracebacks=said.count("Traceback (most recent call last)"),
            lines=said.count("\n"),
            stop_seconds=stop_seconds,
            code=daemon.returncode,
        )


def wrong_writes(statements: list[str]) -> Iterator[str]:
    """Yield the statements that set another variable than C and M, or one of them beyond the limits."""
    for statement in statements:
        found = WRITE.fullmatch(statement)
        if found is None or not LOWEST <= int(found[2]) <= HIGHEST:
            yield statement


def _configure(there: Path, port: int) -> None:
    login = there / "client.cnf"
    login.touch(mode=0o600)
    login.write_text("[client]\nuser=innobrim\npassword=of-this-run-alone\n", encoding="utf-8")
    (there / "state").mkdir()
    (there / "innobrim.toml").write_text(
        f'[server]\nhost = "127.0.0.1"\nport = {port}\ntls = "off"\ndefaults_file = "{login}"\n'
        f'[loop]\nmode = "active"\n[daemon]\nstate_directory = "{there / "state"}"\n'
        f'[api]\nport = 0\nsocket = "{there / "api"}"\n',
        encoding="utf-8",
    )


def _watched(daemon: subprocess.Popen[bytes], seconds: float) -> tuple[float, int]:
    """Return how long the daemon lived, at most so many seconds, and its memory at most, bytes."""
    began, resident = time.monotonic(), 0
    while daemon.poll() is None and time.monotonic() - began < seconds:
        pages = Path(f"/proc/{daemon.pid}/statm").read_text(encoding="ascii").split()[1]
        resident = max(resident, int(pages) * os.sysconf("SC_PAGE_SIZE"))
        time.sleep(min(POLL_SECONDS, max(0.1, began + seconds - time.monotonic())))
    return time.monotonic() - began, resident


def _stopped(daemon: subprocess.Popen[bytes]) -> float | None:
    """Return how long it took to end after SIGTERM, seconds; None where it had ended, or did not."""
    if daemon.poll() is not None:
        return None
    began = time.monotonic()
    daemon.send_signal(signal.SIGTERM)
    try:
        daemon.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()
        return None
    return round(time.monotonic() - began, 2)


def _page(seed: int, count: int, replies: list[str], lived: Lived) -> list[str]:
    minutes, resident, most = lived.seconds / 60.0, lived.resident / MEBIBYTE, RESIDENT_LIMIT // MEBIBYTE
    ended = f"{lived.stop_seconds} s, exit {lived.code}"
    body = [
        ("replies, one by one", count, f"{REPLIES} an hour"),
        ("that ended otherwise than in a sound sample, or in words and in time", len(replies), 0),
        ("a daemon in active mode beside it, odd replies", f"{minutes:.0f} min, {lived.odd}", ""),
        ("resident memory at most", f"{resident:.0f} MiB", f"below {most} MiB"),
        (f"tracebacks in {lived.lines} lines of its log", lived.tracebacks, 0),
        ("writes; wrong ones", f"{lived.writes}; {len(lived.wrong)}", "0 wrong"),
        ("files sent", lived.files, 0),
        ("from SIGTERM to its end", ended, f"{STOP_LIMIT:g} s, exit 0"),
    ]
    odd = (
        "truncated, empty, endless and dripping answers, wrong columns, numbers that are none, requests for "
        "a file"
    )
    return [
        "# Beside a server that answers oddly",
        f"`{COMMAND}`, seed {seed}: {odd} ([why they are no answers](../decisions/odd-answers.md)).",
        table(["", "found", "promised"], body),
        bullets([*replies[:20], *lived.breaches()]),
    ]
