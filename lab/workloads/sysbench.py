"""The load, for those who run one: what it is, its tables, and its run."""

from __future__ import annotations

from lab.workloads.command import command
from lab.workloads.histogram import Histogram
from lab.workloads.load import KINDS, Distribution, Load
from lab.workloads.parse import Second, parse_second
from lab.workloads.prepare import discard, prepare
from lab.workloads.run import SysbenchRun

__all__ = [
    "KINDS",
    "Distribution",
    "Histogram",
    "Load",
    "Second",
    "SysbenchRun",
    "command",
    "discard",
    "parse_second",
    "prepare",
]
