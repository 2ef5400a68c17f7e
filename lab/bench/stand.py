"""One plan on its site: find the knee, search the best static setting, measure the blocks."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from lab.bench import statics
from lab.bench.contenders import BEST, DEFAULT, Contender, folk, parse_contender
from lab.bench.row import measure
from tuner.records import Capacity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.bench.plan import Plan
    from lab.bench.row import End
    from lab.bench.runner import Bench
    from lab.bench.site import Site

FACTOR, HIGH_CHECKPOINT = "innodb_cleaner_lsn_age_factor", "high_checkpoint"
"""Percona Server's choice of a flush law, and the one that only it has."""

Row = dict[str, Any]


class Stand:
    """The stages in order; each returns whether it is finished."""

    def __init__(self, bench: Bench, site: Site, plan: Plan) -> None:
        """Take the bench that keeps the rows, and the site that they are measured on."""
        self._bench = bench
        self._site = site
        self._plan = plan

    def knee(self) -> bool:
        """Find what the default sustains where the plan offers a share of it, and offer that."""
        share = self._plan.load.knee_share
        if share is None:
            return True
        found = self._bench.rows(self._plan, "knee")
        if not found:
            if not self._bench.in_time(self._plan):
                return False
            found = [self._row(DEFAULT, self._site.default, stage="knee")]
        self._site.offer(max(1, round(share * float(found[0]["figures"]["commits_mean"]))))
        self._site.start_load()
        return True

    def search(self) -> bool:
        """Look for the best static M where it is a contender, until a block has begun with what was found."""
        names = [parse_contender(word).name for word in self._plan.contenders]
        if BEST.name not in names or self._bench.rows(self._plan, "block"):
            return True
        while True:
            rows = self._bench.rows(self._plan, "search")
            value = statics.following(rows, 0) if rows else self._first()
            if value is None:
                return True
            if not self._bench.in_time(self._plan):
                return False
            self._row(
                Contender(f"M = {value}", "static"),
                Capacity(value // 2, value),
                stage="search",
                expected=statics.expected_ratio(rows, value),
            )

    def blocks(self) -> bool:
        """Measure every contender of every block that is not finished."""
        absent = self._absent()
        for turn in self._bench.remaining(self._plan, absent):
            if not self._bench.in_time(self._plan):
                return False
            pair, expected = self._pair(turn.contender)
            self._row(
                turn.contender,
                pair,
                stage="block",
                expected=expected,
                block=turn.block,
                position=turn.position,
            )
        return True

    def _row(
        self,
        contender: Contender,
        pair: Capacity | None,
        *,
        stage: str,
        expected: float | None = None,
        block: int = 0,
        position: int = 0,
    ) -> Row:
        with self._flushing_by(contender):
            found = measure(self._site, contender, pair, expected, ends_in=self._end(block))
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

    @contextlib.contextmanager
    def _flushing_by(self, contender: Contender) -> Iterator[None]:
        """Have the server flush by the law that a contender is about, and by its own again afterwards."""
        own = self._law() if contender.kind == HIGH_CHECKPOINT else ""
        if not own:
            yield
            return
        self._site.server.query(f"SET GLOBAL {FACTOR} = '{HIGH_CHECKPOINT}'")
        try:
            yield
        finally:
            self._site.server.query(f"SET GLOBAL {FACTOR} = '{own}'")

    def _law(self) -> str:
        """Return which law Percona Server flushes by; empty where there is no choice."""
        rows = self._site.server.query(f"SHOW GLOBAL VARIABLES LIKE '{FACTOR}'")
        return str(rows[0][1]) if rows else ""

    def _end(self, block: int) -> End | None:
        """Return how a block's rows end; both ways in one row would cost a second settling."""
        if block and self._plan.surge:
            return "surge"
        if not self._plan.crash or not block:
            return None
        return "crash" if block % 2 else "shutdown"

    def _pair(self, contender: Contender) -> tuple[Capacity | None, float | None]:
        """Return what a contender sets C and M to, and the age ratio that it is known to come to."""
        pair, expected = self._setting(contender)
        known = [
            float(row["figures"]["age_ratio_mean"])
            for row in self._bench.rows(self._plan, "block")
            if pair is not None
            and (row["contender"], row["io_capacity_max"]) == (contender.name, pair.io_capacity_max)
            and row["settled"]
        ]
        return pair, known[-1] if known else expected

    def _setting(self, contender: Contender) -> tuple[Capacity | None, float | None]:
        """Return what a contender sets C and M to, and the age ratio that it was seen to come to."""
        if contender.kind == "best static":
            begun = [row for row in self._bench.rows(self._plan, "block") if row["kind"] == contender.kind]
            # all blocks run with the same one
            row = begun[0] if begun else statics.best(self._bench.rows(self._plan, "search"))
            if row is None:
                return self._site.default, None
            return (
                Capacity(int(row["io_capacity"]), int(row["io_capacity_max"])),
                float(row["figures"]["age_ratio_mean"]),
            )
        if contender.kind == "folk":
            return folk(self._plan.disk.write_iops or 0), None
        if contender.kind in ("default", HIGH_CHECKPOINT):
            return self._site.default, None
        return contender.pair, None

    def _absent(self) -> list[str]:
        """Keep and return which contenders cannot run here, each with its reason."""
        known = [row["contender"] for row in self._bench.rows(self._plan, "left out")]
        for word in self._plan.contenders:
            contender = parse_contender(word)
            why = self._why_not(contender)
            if why and contender.name not in known:
                known.append(contender.name)
                self._bench.add(
                    self._plan,
                    {
                        "stage": "left out",
                        "block": 0,
                        "position": 0,
                        "contender": contender.name,
                        "kind": contender.kind,
                        "conditions": self._site.conditions(),
                        "why": why,
                    },
                )
        return known

    def _why_not(self, contender: Contender) -> str:
        if contender.kind == "folk" and self._site.server.borrowed:
            return "the write operations/s of your server's disk are not known; name C/M, such as 1200/2400"
        if contender.kind == "folk" and self._plan.disk.write_iops is None:
            return "the device's write operations/s are not known; set disk.write_iops"
        if contender.kind == HIGH_CHECKPOINT:
            return self._why_not_high_checkpoint()
        if contender.kind == "best static" and statics.best(self._bench.rows(self._plan, "search")) is None:
            return (
                "no static setting kept the rules: no sync flushing, a load served, the budgets for recovery"
                " and shutdown, and on a disk that does not alternate an even p1 and the alarm cap"
            )
        return ""

    def _why_not_high_checkpoint(self) -> str:
        law = self._law()
        if not law:
            return f"the server has no {FACTOR}; Percona Server has it"
        if law == HIGH_CHECKPOINT:
            return f"the server flushes by it already, and so does every contender; set {FACTOR} = legacy"
        if self._site.server.borrowed:
            return f"{FACTOR} is not set on a server of your own"
        return ""

    def _first(self) -> int:
        """Return where the search begins: twice what the server flushes at its default, pages/s."""
        known = self._bench.rows(self._plan, "block") + self._bench.rows(self._plan, "knee")
        rates = [row["figures"]["pages_per_second"] for row in known if row["kind"] == "default"]
        return statics.first(rates[0] if rates else self._site.flushing())
