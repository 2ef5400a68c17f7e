"""A suite carried out: plans in turn, each on a server of its own, and in a plan knee, search and blocks.

Finished rows are kept and never repeated.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import pymysql
from msgspec import UNSET

from lab.bench import search, store
from lab.bench.plan import BEST, DEFAULT, Contender, Plan, Suite, parse_contender
from lab.bench.progress import Remaining
from lab.bench.revision import revision
from lab.bench.rig import Rig
from lab.bench.row import End, measure
from lab.bench.store import Ledger, PlanError, Row
from lab.scenarios import static
from lab.servers.spec import LabServerError
from tuner.records import Capacity
from tuner.system.version import program_version

SCHEMA = 1

NO_STATIC = (
    "no static setting kept the rules: no sync flushing, a load served, the budgets for recovery and"
    " shutdown, and on a disk that does not alternate an even p1 and the alarm cap"
)


class Turn(NamedTuple):
    """One row to be: which block, at which place in it, and who."""

    block: int
    position: int
    contender: Contender


def chosen(suite: Suite, variants: Sequence[str]) -> tuple[Plan, ...]:
    """Return the plans of these variants in the suite's own order, all of them where none is named.

    Raises:
        PlanError: the suite has no variant of a name.
    """
    names = [plan.variant for plan in suite.plans]
    for wanted in variants:
        if wanted not in names:
            there = ", ".join(repr(name) for name in names if name)
            raise PlanError(
                f"--variant {wanted}: the suite {suite.name} has no such variant; "
                + (f"there are {there}" if there else "it has none, so leave --variant out")
            )
    return tuple(plan for plan in suite.plans if not variants or plan.variant in variants)


def turns(plan: Plan, seed: int, absent: Sequence[str] = ()) -> list[Turn]:
    """Return every row of a plan's blocks, each block in an order of its own that the seed gives.

    ``absent`` are names of contenders that cannot run on this server.
    """
    dice = random.Random(f"{seed} {plan.variant}")  # noqa: S311 - an order that must be repeatable is no secret
    field = [parse_contender(word) for word in plan.contenders]
    return [
        Turn(block, position, contender)
        for block in range(1, plan.blocks + 1)
        for position, contender in enumerate(dice.sample(field, len(field)), 1)
        if contender.name not in absent
    ]


class Bench:
    """A suite being carried out.

    Attributes:
        progress: how far it is, and how long it still takes.
    """

    def __init__(
        self,
        suite: Suite,
        ledger: Ledger,
        rig: Callable[[Plan, Callable[[str], None]], Rig],
        say: Callable[[str], None],
        *,
        seed: int,
        seconds: float = float("inf"),
        variants: Sequence[str] = (),
    ) -> None:
        """Prepare, without starting anything.

        Args:
            suite: what is run.
            ledger: finished rows.
            rig: makes what the rows of a plan are measured on, which says its progress to the second.
            say: takes a line of progress.
            seed: of the order.
            seconds: no row begins later than so long from now.
            variants: as ``chosen`` takes them; rows are of the whole suite either way.
        """
        self._suite = suite
        self._ledger = ledger
        self._say = say
        self._rig = rig
        self._seed = seed
        self._plans = chosen(suite, variants)
        self._revision = revision()
        self._end = time.monotonic() + seconds
        self.progress = Remaining(self._plans, ledger.rows)

    def run(self) -> bool:
        """Carry out what is not finished; returns whether everything that is to be run is.

        Raises:
            LabServerError: a server, its load or a daemon could not be had or went away.
        """
        return all(self.in_time() and self._plan(plan) for plan in self._plans if self.remaining(plan))

    def unfinished(self) -> list[str]:
        """Return the variants of the suite that have rows to do, also those that are not to be run now."""
        return [plan.variant for plan in self._suite.plans if self.remaining(plan)]

    def _plan(self, plan: Plan) -> bool:
        title = f" {plan.variant}" if plan.variant else ""
        self._say(f"{self._suite.name}{title}: {', '.join(plan.contenders)}, {plan.blocks} blocks")
        try:
            made = self._rig(plan, self._say)
            self._same_disk(plan, in_memory=made.server.disk_in_memory())
            with made as rig:
                stages = _Stages(self, rig, plan)
                return stages.knee() and stages.search() and stages.blocks()
        except (pymysql.MySQLError, OSError, subprocess.SubprocessError) as error:
            raise LabServerError(f"the bench cannot go on: {error}") from error

    def _same_disk(self, plan: Plan, *, in_memory: bool) -> None:
        """Refuse to go on with rows whose disk was memory where this one is none, and the other way round."""
        mine = (row for row in self._ledger.rows if row["variant"] == plan.variant)
        if all(store.in_memory(row) == in_memory for row in mine):
            return
        now, were = ("in memory", "on a disk") if in_memory else ("on a disk", "in memory")
        raise LabServerError(
            f"{plan.variant or self._suite.name}: this server's data would be {now}, those of the rows that"
            f" are there were {were}: name another directory of rows, or set TMPDIR to a directory on "
            + ("a disk" if in_memory else "a loop device over a file in memory (docs/lab/bench.md)")
        )

    def rows(self, plan: Plan, stage: str) -> list[Row]:
        """Return the finished rows of a plan's stage, in order."""
        return [row for row in self._ledger.rows if row["variant"] == plan.variant and row["stage"] == stage]

    def remaining(self, plan: Plan) -> list[Turn]:
        """Return which rows of the blocks are to do."""
        absent = [row["contender"] for row in self.rows(plan, "left out")]
        done = {(row["block"], row["contender"]) for row in self.rows(plan, "block")}
        order = turns(plan, self._seed, absent)
        return [turn for turn in order if (turn.block, turn.contender.name) not in done]

    def in_time(self) -> bool:
        """Return whether another row may begin; says so where none may."""
        if time.monotonic() < self._end:
            return True
        self._say("the time is up")
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
            "version": program_version(),
            "revision": self._revision,
            "when": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        }
        self._ledger.add(whole)
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


class _Stages:
    """The stages of one plan in order; each returns whether it is finished."""

    def __init__(self, bench: Bench, rig: Rig, plan: Plan) -> None:
        self._bench = bench
        self._rig = rig
        self._plan = plan

    def knee(self) -> bool:
        """Find what the default sustains where the plan offers a share of it, and offer that."""
        share = self._plan.load.knee_share
        if share is None:
            return True
        found = self._rows("knee")
        if not found:
            if not self._bench.in_time():
                return False
            found = [self._row(DEFAULT, self._rig.default, stage="knee")]
        self._rig.offer(max(1, round(share * float(found[0]["figures"]["commits_mean"]))))
        self._rig.start_load()
        return True

    def search(self) -> bool:
        """Look for the best static M where it is a contender, until a block has begun with what was found."""
        names = [parse_contender(word).name for word in self._plan.contenders]
        if BEST.name not in names or self._rows("block"):
            return True
        while True:
            rows = self._rows("search")
            value = search.next_value(rows, 0) if rows else self._first()
            if value is None:
                return True
            if not self._bench.in_time():
                return False
            contender = Contender(f"M = {value}", "static")
            expected = search.expected_ratio(rows, value)
            self._row(contender, static.pair(value), stage="search", expected=expected)

    def _first(self) -> int:
        """Return where the search begins: a little above what the server flushes at its default, pages/s."""
        known = self._rows("block") + self._rows("knee")
        rates = [row["figures"]["pages_per_second"] for row in known if row["kind"] == "default"]
        return search.first(rates[0] if rates else self._rig.flushing())

    def blocks(self) -> bool:
        """Measure every contender of every block that is not finished."""
        self._leave_out()
        for turn in self._bench.remaining(self._plan):
            if not self._bench.in_time():
                return False
            pair, expected = self._setting(turn.contender)
            self._row(turn.contender, pair, stage="block", expected=expected, turn=turn)
        return True

    def _rows(self, stage: str) -> list[Row]:
        return self._bench.rows(self._plan, stage)

    def _row(
        self,
        contender: Contender,
        pair: Capacity | None,
        *,
        stage: str,
        expected: float | None = None,
        turn: Turn | None = None,
    ) -> Row:
        block, position = (0, 0) if turn is None else (turn.block, turn.position)
        found = measure(self._rig, contender, pair, expected, ends_in=self._end(block))
        return self._bench.add(
            self._plan,
            {
                "stage": stage,
                "block": block,
                "position": position,
                "contender": contender.name,
                "kind": contender.kind,
                "policy": contender.policy,
                "io_capacity": None if pair is None else pair.io_capacity,
                "io_capacity_max": None if pair is None else pair.io_capacity_max,
                **found,
            },
        )

    def _end(self, block: int) -> End | None:
        """Return how a block's rows end; a crash and a shutdown in one row would cost a second settling."""
        if not self._plan.crash or not block:
            return None
        return "crash" if block % 2 else "shutdown"

    def _setting(self, contender: Contender) -> tuple[Capacity | None, float | None]:
        """Return what a contender sets C and M to, and the age ratio that it was seen to come to."""
        blocks, lifted = self._rows("block"), self._plan.timing.lifted is not UNSET
        pair, row = contender.pair, None
        if contender.kind == "best static":
            begun = [one for one in blocks if one["kind"] == contender.kind]
            row = begun[0] if begun else search.best(self._rows("search"))  # all blocks run with the same one
            pair = None if row is None else Capacity(int(row["io_capacity"]), int(row["io_capacity_max"]))
        if pair is None and contender.policy is None:
            pair = self._rig.default
        known = [
            one
            for one in blocks
            if (pair is not None or lifted)
            and one["contender"] == contender.name
            and (pair is None or one["io_capacity_max"] == pair.io_capacity_max)
            and (one["settled"] or lifted)
        ]
        if pair is None and lifted:  # first it is brought where the best static setting came to rest
            row = search.best(self._rows("search"))
        seen = known[-1] if known else row
        return pair, None if seen is None else float(seen["figures"]["age_ratio_mean"])

    def _leave_out(self) -> None:
        """Keep that there is no best static setting here, once, with the reason."""
        wanted = any(parse_contender(word) == BEST for word in self._plan.contenders)
        if wanted and not self._rows("left out") and search.best(self._rows("search")) is None:
            row = {"stage": "left out", "block": 0, "position": 0, "contender": BEST.name, "kind": BEST.kind}
            self._bench.add(self._plan, {**row, "why": NO_STATIC, "conditions": self._rig.conditions()})
