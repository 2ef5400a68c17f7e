"""What is predicted: suites, on which servers, and with what parameters."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from lab.bench.plan import Plan
from lab.scenarios import Scenario, load_scenario
from lab.workloads.sysbench import FILL_FACTOR

FOLDER = Path(__file__).parents[1] / "docs/results/predictions"


class Setting(NamedTuple):
    """A contender of a variant."""

    variant: str
    contender: str


class Case(NamedTuple):
    """A suite on a server.

    Attributes:
        name: of the directory with its real rows, and of the file with its predictions.
        suite: what is run.
        like: parameters of the simulated server, a scenario in ``FOLDER``.
        order: settings by the throughput that somebody else measured, lowest first.
        rows: patterns of the directories with its real rows; empty: its name, and that with ``-first``.
        variants: of the suite that the simulated server has everything of; empty for all of them.
        others: parameters for a kind of load of its own, by the kind.
        in_memory: the prediction is of a disk in memory, whose rows alone are held against it.
        filled: percent to which indexes were filled in the rows that are held against it; None: not said.
        fitted: parameters were read off all of the rows that they are compared with: no prediction.
    """

    name: str
    suite: str
    like: str
    order: tuple[Setting, ...] = ()
    rows: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    in_memory: bool = False
    filled: int | None = None
    fitted: bool = False

    @property
    def file(self) -> Path:
        """Return the file with its predictions."""
        return FOLDER / f"{self.name}.jsonl"

    def parameters(self, plan: Plan) -> Scenario:
        """Return the parameters of the simulated server for a plan."""
        return load_scenario(str(FOLDER / f"{dict(self.others).get(plan.load.kind, self.like)}.toml"))


SIZES = (
    "1 GiB, 1200 writes/s, write_only",
    "1 GiB, 1200 writes/s, update_non_index",
    "1 GiB, 3000 writes/s, write_only",
    "1 GiB, 3000 writes/s, update_non_index",
    "4 GiB, 3000 writes/s, write_only",
)
"""Variants of the suite ``sizes`` that were predicted first, on tables that were just filled."""

OPEN = tuple(f"1 GiB, 1200 writes/s, write_only, open, {share} %" for share in (50, 90))
"""Further ones that can be predicted; a disk without writes/s, reads and TPC-C cannot."""

KILLED = ("1 GiB, 1200 writes/s, write_only, killed",)
"""That whose rows end in a kill, predicted up to there."""

ONE_GIB = (*(name for name in SIZES if name.startswith("1 GiB")), *OPEN)
"""Those of 1 GiB, which are measured before those of 4."""

CASES = (
    *(Case(name, "redo-sizes", name) for name in ("mysql-8.0.31", "mysql-8.0.15", "mysql-5.7.22")),
    Case(
        "seed-000",
        "seed-000",
        "mysql-8.0.31",
        (
            Setting("redo 20 GB, adaptive hash index", "280/280"),
            Setting("redo 20 GB", "320/320"),
            Setting("redo 20 GB", "280/280"),
            Setting("redo 20 GB", "260/260"),
            Setting("redo 40 GB", "280/280"),
            Setting("redo 40 GB", "180/180"),
        ),
    ),
    Case("mysql-8.0.31-mended", "redo-sizes", "mysql-8.0.31-mended"),
    Case("mysql-5.7.22-neighbors-0", "flush-neighbors", "mysql-5.7.22"),
    Case(
        "mysql-5.7.22-mended",
        "flush-neighbors",
        "mysql-5.7.22-mended",
        rows=("mysql-5.7.22-neighbors-0",),
    ),
    *(
        Case(
            f"sizes-{server}",
            "sizes",
            f"{server}-binlog",
            variants=SIZES,
            others=(("write_only", f"{server}-binlog-write-only"),),
        )
        for server in ("8.0.31", "9.7")
    ),
    Case(
        "sizes-8.0.31-mended",
        "sizes",
        "8.0.31-binlog",
        rows=("sizes-8.0.31",),
        variants=tuple(name for name in SIZES if name.endswith("write_only")),
        others=(("write_only", "8.0.31-binlog-write-only-mended"),),
    ),
    *(
        Case(
            f"sizes-{server}-worn",
            "sizes",
            f"{server}-binlog-mended",
            rows=(f"sizes-{server}*",),
            variants=ONE_GIB,
            others=(("write_only", f"{server}-binlog-write-only-worn"),),
            filled=FILL_FACTOR,
        )
        for server in ("8.0.31", "9.7")
    ),
    Case(
        "sizes-8.0.31-memory",
        "sizes",
        "8.0.31-memory-write-only",
        rows=("sizes-8.0.31*",),
        variants=tuple(name for name in ONE_GIB if "update_non_index" not in name),
        in_memory=True,
        filled=FILL_FACTOR,
    ),
    *(
        Case(
            f"{suite}-9.7", suite, "mysql-9.7", rows=(f"{suite}-9.7*",), variants=variants, filled=FILL_FACTOR
        )
        for suite, variants in (
            ("contenders", ()),
            ("alternating", ()),
            ("disks", ("600 writes/s", "3000 writes/s")),
            ("open", ()),
            ("nothing-to-gain", ("redo log too small",)),
            ("claims", ("offered, 70 %",)),
        )
    ),
    Case("mariadb-11.8", "mariadb", "mariadb-11.8", rows=("mariadb-11.8*",), filled=FILL_FACTOR),
    *(
        Case(
            f"sizes-{server}-killed{place}",
            "sizes",
            f"{server}-{like}",
            rows=(f"sizes-{server}*",),
            variants=KILLED,
            in_memory=bool(place),
            filled=FILL_FACTOR,
        )
        for server, place, like in (
            ("8.0.31", "", "binlog-write-only-worn"),
            ("8.0.31", "-memory", "memory-write-only"),
            ("9.7", "", "binlog-write-only-worn"),
        )
    ),
    *(Case(f"binary-log-{server}", "binary-log", f"{server}-binlog") for server in ("8.0.31", "9.7")),
    *(
        Case(
            f"binary-log-{server}-mended",
            "binary-log",
            f"{server}-binlog-mended",
            rows=(f"binary-log-{server}",),
            fitted=True,
        )
        for server in ("8.0.31", "9.7")
    ),
)
