"""One daemon that writes within seconds, the server and load around it, and the end of every fault test."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.servers.base import LabServer
from tests.faults.verdict import Verdict, judge
from tests.faults.witness import Witness
from tests.real.installation import Innobrim
from tests.real.support import Work, in_force, remember, under_load, until
from tuner.records import Capacity

START = Capacity(300, 600)
"""What the server is set to before the daemon: less than the disk takes, so that the law holds an age with it
and the gate passes soon."""

WANTED = Capacity(400, 800)
"""What the daemon's first write makes of it."""

QUICK: dict[str, Any] = {
    "mode": "active",
    "policy": "fixed",
    "fixed_io_capacity_max": WANTED.io_capacity_max,
    "step_factor": 10.0,
    "ratio": 2,  # every write takes two SETs, between which things can happen
    "dwell_seconds": 2.0,
    "max_changes_per_hour": 600,
}
"""Settings that make a daemon write soon, and what the test says; the emergency is as always."""

LEAN = 400
"""An M that leaves next to no room: a park has to raise it."""

REFUSED, AFTER_RESUME = 1000, 700
"""M that a daemon wants while it may not write, and once a person has resumed it."""

FIRST_WRITE = 90.0
"""Seconds until a daemon under load has written; it needs ten for its rates, and the gate three readings with
flushing by age: beside a slow disk most readings are of sync flushing, which tells it nothing."""

BACK = FIRST_WRITE
"""Seconds in which the loop must be back after what needs no person: a new start passes the gate again."""

LATEST_TICK = 2.0
"""Seconds between two ticks, at the most, of a loop that nothing delays."""

FROZEN = 30.0
"""Seconds that a process stands still under SIGSTOP."""

STOP = 5.0
"""Seconds from SIGTERM to the end, on a machine that has other things to do as well."""


def altered(way: str, value: object) -> tuple[str, ...]:
    """Return the program in place of ``innobrim`` that is another daemon in one way."""
    return (sys.executable, "-P", str(Path(__file__).with_name("altered.py")), way, str(value))


class QuickDaemon(Innobrim):
    """An installation with quick settings, which keeps its keys over ``configure``."""

    def __init__(self, server: LabServer, directory: Path, **how: Any) -> None:  # noqa: ANN401 - passed on
        self._loop = dict(QUICK)
        self._extra = ""
        self._tls = "off" if "port" in how else "preferred"  # a proxy has to understand what passes
        self._server_in_front = server
        super().__init__(server, directory, **how)

    def configure(self, *, extra: str | None = None, tls: str | None = None, **loop: object) -> None:
        """Write the configuration file anew, with these changes to what it had; None drops a key."""
        self._loop = {name: value for name, value in {**self._loop, **loop}.items() if value is not None}
        self._extra = self._extra if extra is None else extra
        self._tls = tls or self._tls
        super().configure(extra=self._extra, tls=self._tls, **self._loop)

    def alter(self, way: str, value: object) -> QuickDaemon:
        """Have it be another daemon in one way; see ``altered.py``."""
        self.program = altered(way, value)
        return self

    def active(self) -> QuickDaemon:
        """Start, and return when the first write of its own is in force."""
        self.start()
        self.await_force(self.wanted, FIRST_WRITE)
        return self

    @property
    def wanted(self) -> Capacity:
        """Return the pair that its policy wants now."""
        highest = int(self._loop["fixed_io_capacity_max"])
        return Capacity(highest // 2, highest)

    def want(self, io_capacity_max: int, limit: float = BACK) -> Capacity:
        """Have the loop write another M by itself: proof that it is back. Returns the pair now in force."""
        self.configure(fixed_io_capacity_max=io_capacity_max)
        self.hang_up()
        return self.await_force(self.wanted, limit)

    def await_force(self, wanted: Capacity, limit: float) -> Capacity:
        """Return once this pair is in force on the server."""

        def look() -> bool:
            self.running()
            return in_force(self._server_in_front) == wanted

        until(look, limit, lambda: f"{wanted} in force; the daemon said:\n{self.log()}")
        return wanted

    def await_hold(self, code: str, limit: float = BACK) -> dict[str, Any]:
        """Return the hold with this code, as the status shows it: code, reason and who clears it."""
        found = self.await_status(lambda now: _hold(now, code) is not None, limit, f"the hold {code}")
        hold = _hold(found, code)
        assert hold is not None
        return hold

    def await_resumed(
        self, lose: Callable[[], object], give_back: Callable[[], object], *, missing: str, remedy: str
    ) -> None:
        """See a daemon that may not write any more be held, change nothing, and be resumed by a person.

        Args:
            lose: takes from the account what it writes with.
            give_back: gives it back.
            missing: what the hold's reason names.
            remedy: what the hold says that clears it.
        """
        before = self.wanted
        lose()
        self.configure(fixed_io_capacity_max=REFUSED)
        self.hang_up()
        hold = self.await_hold("privilege_lost")
        assert missing in hold["reason"]
        assert remedy in hold["clears"]
        self.await_ticks(5)
        assert in_force(self._server_in_front) == before
        give_back()
        assert self.command("resume").returncode == 0
        self.want(AFTER_RESUME)

    def await_event(self, code: str, limit: float = BACK, *, count: int = 1) -> None:
        """Return once so many events with this code are in the journal, counted from the daemon's start."""
        until(
            lambda: self.alive() and self.events().count(code) >= count,
            limit,
            lambda: f"{count} × {code}; there are {self.events()}; the daemon said:\n{self.log()}",
        )

    def await_no_hold(self, limit: float = BACK) -> dict[str, Any]:
        """Return the status without any hold."""
        return self.await_status(lambda now: now["tick"] > 0 and not now["holds"], limit, "no hold any more")


class Rig:
    """What every fault test stands on: the one server, its load, and the daemons made here."""

    def __init__(self, server: LabServer, work: Work, directory: Path) -> None:
        self.server = server
        self.work = work
        self._directory = directory
        self._made: list[QuickDaemon] = []

    def begin(self, setting: Capacity = START) -> None:
        """Have the load at work at this setting, and the server's books opened."""
        under_load(self.server, self.work, setting)
        Witness(self.server).watch()

    def daemon(self, **how: Any) -> QuickDaemon:  # noqa: ANN401 - what Innobrim takes
        """Return an installation with quick settings; nothing starts yet."""
        directory = self._directory / f"daemon{len(self._made)}"
        self._made.append(QuickDaemon(self.server, directory, **how))
        remember(self.server, how.get("account") or self.server.daemon)
        return self._made[-1]

    def active(self, **how: Any) -> QuickDaemon:  # noqa: ANN401 - what Innobrim takes
        """Return a daemon that runs, and whose first own write is in force."""
        return self.daemon(**how).active()

    def restart_server(self, *, once: Callable[[], object]) -> None:
        """Kill mysqld under load with SIGKILL, start it again, and have the load at work anew.

        Args:
            once: waits for what has to be seen while mysqld is away; it may be back within a second.
        """
        self.server.kill()
        once()
        self.server.start()
        self.server.wait_ready()
        Witness(self.server).watch()
        self.work.at(self.work.usual)

    def finish(self, *daemons: QuickDaemon, seconds: float = STOP) -> Verdict:
        """End these daemons with SIGTERM where they still run, and judge all that were made here.

        Args:
            daemons: which end one after the other; all that were made by default.
            seconds: how long each may take to end.
        """
        for one in daemons or self._made:
            if one.alive():
                ended = one.terminate()
                assert ended.code == 0, one.log()
                assert ended.seconds <= seconds, f"took {ended.seconds:.1f} s to end:\n{one.log()}"
        return judge(self.server, *self._made)

    def close(self) -> None:
        """End whatever still runs."""
        for one in self._made:
            one.__exit__()


def _hold(status: dict[str, Any], code: str) -> dict[str, Any] | None:
    return next((hold for hold in status["holds"] if hold["code"] == code), None)
