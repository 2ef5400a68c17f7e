"""The one runner: plans in turn, each on a server of its own; finished rows are kept and never repeated."""

from __future__ import annotations

import math
import subprocess
import time
from typing import TYPE_CHECKING, Any

import msgspec
import pymysql

from lab.bench.order import Turn, chosen, to_do, turns
from lab.bench.progress import Progress
from lab.bench.revision import revision
from lab.bench.site import Site
from lab.bench.stand import Stand
from lab.servers.base import LabServerError
from tuner.version import program_version

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lab.bench.ledger import Ledger
    from lab.bench.plan import Plan, Suite
    from lab.servers.base import LabServer

SCHEMA = 1

Row = dict[str, Any]


class Bench:
    """A suite being carried out.

    Attributes:
        progress: how far it is, and how long it still takes.
        needs: how long this part would have had to be for the row that it had no time for, seconds from its
            begin; None where it has finished a row, or has had time for all.
    """

    def __init__(
        self,
        suite: Suite,
        ledger: Ledger,
        server: Callable[[Plan], LabServer],
        say: Callable[[str], None],
        *,
        seed: int,
        seconds: float = float("inf"),
        variants: Sequence[str] = (),
        own: bool = False,
    ) -> None:
        """Prepare, without starting anything.

        Args:
            suite: what is run.
            ledger: finished rows.
            server: makes the server of a plan.
            say: takes a line of progress.
            seed: of the order.
            seconds: no row begins that would not end within so long from now.
            variants: only these are run, all where none is named; rows are of the whole suite either way.
            own: the server is the user's own.

        Raises:
            PlanError: the suite has no variant of a name.
        """
        self._suite = suite
        self._ledger = ledger
        self._server = server
        self._say = say
        self._seed = seed
        self._plans = chosen(suite, variants)
        self._revision = revision()
        self._began = time.monotonic()
        self._end = self._began + seconds
        self._added = False
        self.needs: float | None = None
        self.progress = Progress(self._plans, ledger.rows, own=own)

    def run(self) -> bool:
        """Carry out what is not finished; returns whether everything that is to be run is.

        Raises:
            LabServerError: a server, its load or a daemon could not be had or went away.
        """
        for plan in self._plans:
            if self._open(plan) and not (self.in_time(plan, begins=True) and self._plan(plan)):
                return False
        return True

    def unfinished(self) -> list[str]:
        """Return the variants of the suite that have rows to do, also those that are not to be run now."""
        return [plan.variant for plan in self._suite.plans if self._open(plan)]

    def _plan(self, plan: Plan) -> bool:
        title = f" {plan.variant}" if plan.variant else ""
        self._say(f"{self._suite.name}{title}: {', '.join(plan.contenders)}, {plan.blocks} blocks")
        try:
            with Site(self._server(plan), plan, self._say) as site:
                stand = Stand(self, site, plan)
                return stand.knee() and stand.search() and stand.blocks()
        except (pymysql.MySQLError, OSError, subprocess.SubprocessError) as error:
            raise LabServerError(f"the bench cannot go on: {error}") from error

    def _open(self, plan: Plan) -> bool:
        """Return whether rows of a plan are still to do."""
        absent = [row["contender"] for row in self.rows(plan, "left out")]
        return bool(self.remaining(plan, absent))

    def _done(self, plan: Plan, turn: Turn) -> bool:
        return any(
            (row["block"], row["contender"]) == (turn.block, turn.contender.name)
            for row in self.rows(plan, "block")
        )

    def rows(self, plan: Plan, stage: str) -> list[Row]:
        """Return the finished rows of a plan's stage, in order."""
        return [row for row in self._ledger.rows if row["variant"] == plan.variant and row["stage"] == stage]

    def remaining(self, plan: Plan, absent: list[str]) -> list[Turn]:
        """Return which rows of the blocks are to do."""
        return to_do(turns(plan, self._seed, absent), lambda turn: self._done(plan, turn))

    def in_time(self, plan: Plan, *, begins: bool = False) -> bool:
        """Return whether another row would end in time; says so where it would not.

        Args:
            plan: whose row.
            begins: its server is not there yet, and is not worth having where no row follows.
        """
        seconds = self.progress.row_seconds(plan) + (self.progress.begin_seconds(plan) if begins else 0.0)
        ends = time.monotonic() + seconds
        if ends <= self._end:
            return True
        self.needs = None if self._added else ends - self._began
        what = "a server and its first row" if begins else "another row"
        self._say(f"the time is up: {what} may take {math.ceil(seconds / 60.0)} min")
        return False

    def add(self, plan: Plan, row: Row) -> Row:
        """Keep a finished row and say what it came to."""
        whole = {
            "schema": SCHEMA,
            "suite": self._suite.name,
            "variant": plan.variant,
            "plan": msgspec.to_builtins(plan),
            "plan_hash": self._suite.digest,
            "seed": self._seed,
            **row,
            "article": plan.article,
            "version": program_version(),
            "revision": self._revision,
            "when": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        }
        self._ledger.add(whole)
        self._added = True
        if "figures" in whole:
            self._say(f"{in_a_line(whole)}; {self.progress.left()} left")
        else:
            self._say(f"{whole['contender']} is left out: {whole['why']}")
        return whole


def in_a_line(row: Row) -> str:
    """Return a row in one line for people."""
    found = row["figures"]
    where = f"block {row['block']}: " if row["stage"] == "block" else f"{row['stage']}: "
    return (
        f"{where}{row['contender']} {found['commits_mean']:g}/s, p1 {found['commits_p1']:g},"
        f" x {found['age_ratio_mean']:.2f} (max {found['age_ratio_max']:.2f}),"
        f" sync pages {found['sync_pages']}"
        + ("" if row["settled"] else f", not settled after {row['settle_seconds']:.0f} s")
    )
