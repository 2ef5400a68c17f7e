"""Which load: kind, keys, size, closed (it waits for answers) or open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Distribution = Literal["uniform", "zipf", "special"]

OLTP = ("write_only", "update_index", "update_non_index", "read_write")
"""Kinds that sysbench ships, on its tables ``sbtest1`` and so on."""

MIXED = ("read_mostly",)
"""Kinds of our own on sysbench's tables, with its keys; their reads are timed apart."""

OWN = ("many_indexes", "tpcc")
"""Kinds with scripts of our own, which draw their keys by rules of their own."""

KINDS = (*OLTP, *MIXED, *OWN)


@dataclass(frozen=True, slots=True)
class Load:
    """Which load.

    Attributes:
        kind: ``write_only``, ``update_index``, ``update_non_index`` and ``read_write`` are sysbench's;
            ``read_mostly`` is four point reads to one of the updates of ``update_non_index``, each a
            transaction of its own, in random order;
            ``many_indexes`` inserts a row a transaction into one table with six wide secondary indexes over
            random values; ``tpcc`` is a mix after TPC-C, without its think times, so its numbers compare with
            nobody's tpmC.
        distribution: how often which row is touched. ``zipf`` has the exponent 0.8 and lets low ids be the
            frequent ones, as ``--rand-type=zipfian`` of later sysbench does; ``special`` gives three quarters
            of the draws to the middle hundredth of the rows.
        tables: number of tables; warehouses for ``tpcc``; without meaning for ``many_indexes``.
        rows: rows per table at the start; for ``tpcc`` rows per warehouse, 500,000 being the standard's size.
        threads: connections at work; ``many_indexes`` always has one, whatever is given.
        rate: offered transactions per second; 0 is a closed load, as many as the server lets through.

    Raises:
        ValueError: a value is out of its range.
    """

    kind: str = "update_non_index"
    distribution: Distribution = "uniform"
    tables: int = 4
    rows: int = 400_000
    threads: int = 16
    rate: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"load kind {self.kind!r} is unknown: one of {', '.join(KINDS)}")
        if self.distribution not in get_args(Distribution):
            known = ", ".join(get_args(Distribution))
            raise ValueError(f"load distribution {self.distribution!r} is unknown: one of {known}")
        if self.kind in OWN and self.distribution != "uniform":
            raise ValueError(
                f"load {self.kind} draws its keys by its own rules: leave its distribution uniform,"
                f" not {self.distribution}"
            )
        for name, value, least in (
            ("tables", self.tables, 1),
            ("rows", self.rows, 1),
            ("threads", self.threads, 1),
            ("rate", self.rate, 0),
        ):
            if value < least:
                raise ValueError(f"load {name} is {value}: at least {least}")
        if self.kind == "many_indexes":
            object.__setattr__(self, "threads", 1)  # one inserting thread is what this load is about

    @property
    def script(self) -> str:
        """Name of the sysbench test behind it, as the field knows it."""
        return f"oltp_{self.kind}" if self.kind in OLTP else self.kind
