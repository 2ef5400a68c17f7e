"""Every record that crosses a room's border, and the one table of their fields.

Each field carries its unit, help, metric kind and, where PMM charts the same thing, PMM's
name. Metrics, CSV header, JSON schema and the metrics reference are generated from here
(``tuner.records.fields``). Bytes, pages, seconds and their rates throughout.
"""

from tuner.records.account import account_of, grant, is_account, is_local, literal, login, revoke
from tuner.records.change import Change
from tuner.records.decision import (
    LONGEST_TTL,
    Acknowledgement,
    Command,
    Decision,
    DecisionKind,
    DrainProgress,
    Event,
    EventCode,
    Hold,
    HoldCode,
    Lifecycle,
    LowWaterMark,
    Overlay,
    Reason,
    Receipt,
    Remedy,
    RestoreProgress,
    Tick,
    TickRecord,
)
from tuner.records.estimate import Estimate
from tuner.records.optimiser import InUse, OptimiserHealth, OptimiserPhase, OptimiserProgress
from tuner.records.sample import STRANGER, Missed, Sample
from tuner.records.server import (
    CAPACITY_MINIMUM,
    ENABLE_COUNTERS,
    LOW_WATER_MARK,
    LOWEST_ABOVE_ZERO,
    MILLIONTHS,
    PRODUCTS,
    SET_GLOBAL,
    SET_LOW_WATER,
    WRITE_PRIVILEGE,
    Bounds,
    Capacity,
    Facts,
    percent,
)
from tuner.records.window import Window, effects, winners

__all__ = [
    "CAPACITY_MINIMUM",
    "ENABLE_COUNTERS",
    "LONGEST_TTL",
    "LOWEST_ABOVE_ZERO",
    "LOW_WATER_MARK",
    "MILLIONTHS",
    "PRODUCTS",
    "SET_GLOBAL",
    "SET_LOW_WATER",
    "STRANGER",
    "WRITE_PRIVILEGE",
    "Acknowledgement",
    "Bounds",
    "Capacity",
    "Change",
    "Command",
    "Decision",
    "DecisionKind",
    "DrainProgress",
    "Estimate",
    "Event",
    "EventCode",
    "Facts",
    "Hold",
    "HoldCode",
    "InUse",
    "Lifecycle",
    "LowWaterMark",
    "Missed",
    "OptimiserHealth",
    "OptimiserPhase",
    "OptimiserProgress",
    "Overlay",
    "Reason",
    "Receipt",
    "Remedy",
    "RestoreProgress",
    "Sample",
    "Tick",
    "TickRecord",
    "Window",
    "account_of",
    "effects",
    "grant",
    "is_account",
    "is_local",
    "literal",
    "login",
    "percent",
    "revoke",
    "winners",
]
