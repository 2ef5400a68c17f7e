"""What ``docs/safety.md`` promises beside the faults: invariants, holds, budgets, and what can be written."""

from __future__ import annotations

from tuner.core.holds import NEVER_PARKED, PARKED_ON_ENTRY
from tuner.records import HoldCode

INVARIANTS = {
    1: (
        "C and M stay inside the configured limits and the server's own at every write but a restore's, "
        "which goes back to what was there; C is never above M."
    ),
    2: (
        "Every pair that was finished has M a whole multiple of C; between the two SETs the gain "
        "`C·⌊M/C⌋` stays between old and new; both values are read back. Originals go back as they were."
    ),
    3: (
        "No more changes than dwell and hourly budget allow, and none larger than the step factor. "
        "Exempt: emergency raise, relief of a slow device and its end (20 begin in an hour at most), "
        "override, restore, the two ways of each pair of blocks of a trial, and a park by rates that are "
        "known. None of them but relief uses up the "
        "budget, and the way back from an emergency, to no less than was in force before it, is bound by "
        "the dwell alone."
    ),
    4: (
        "Advisory mode writes nothing. A hold permits one park on entry, where the table of holds says so"
        " and the values in force are the daemon's own, and an explicit park or restore; no override, no "
        "emergency raise but beside a stranger (10), no relief."
    ),
    5: (
        "Nothing is decided on a stale, reset, reversed or non-finite sample, nor by rates across a gap in "
        "which one of the daemon's clocks, or the server's, counted seconds that another did not."
    ),
    6: (
        "A change by somebody else makes the loop yield. A declared baseline is taken over again after "
        "its cool-down, three times an hour; anything else waits for a person."
    ),
    7: (
        "The originals are on disk before the first write, under the server's identity, and are taken "
        "anew after a restart of mysqld. Never `SET … DEFAULT`, never `SET PERSIST`."
    ),
    8: "A dead daemon leaves a parked setting, or one that was written while it was safe.",
    9: (
        "One connection, and another only for a step of `redo.grow_to`; a limit on every statement, bounded "
        "memory, no SQL in a health probe."
    ),
    10: (
        "One writer for each server: a second daemon only watches. Where a session that is no InnoBrim's has "
        "the writer lock, nobody writes but an emergency raise."
    ),
    11: "mysqld is never restarted, and nothing is written but the variables listed here.",
}

HOLDS = {
    HoldCode.STALE: ("no good sample for five seconds", "the first good sample, which parks"),
    HoldCode.RESTARTED: (
        "mysqld was restarted: version, limits and originals are taken anew",
        "ten good readings, and the new originals on disk",
    ),
    HoldCode.FOREIGN_CHANGE: (
        "C or M changed, and it was not the daemon",
        "`innobrim resume`; for the declared `baseline` its cool-down as well; a restart of mysqld",
    ),
    HoldCode.PAUSED: (
        "a person asked, with `pause` or `park`; or what stood could not be read, so that it may have been",
        "`innobrim resume`",
    ),
    HoldCode.NOT_WRITER: (
        (
            "another daemon has the writer lock, the server is `read_only` or `super_read_only`, no M is "
            "within both the limits and the procedure's bounds, three writes in a row were refused, or the "
            "daemon's thread that keeps originals and decisions is dead"
        ),
        (
            "the other one's end; `read_only` OFF, or `allow_read_only_writes`; other limits or bounds; "
            "after refusals `innobrim resume`; for a dead thread a restart of the daemon"
        ),
    ),
    HoldCode.PRIVILEGE_LOST: (
        "the server refused a write for want of a privilege",
        "`innobrim resume`, after the `GRANT`, or the `innobrim setup-sql`, that the hold names",
    ),
    HoldCode.INERT: (
        "C and M have no effect: redo disabled, or adaptive flushing off",
        "the statement that the hold names",
    ),
    HoldCode.RESIZING: ("the redo capacity is being changed", "the server, when it is done"),
    HoldCode.MODEL_MISMATCH: (
        (
            "the server's flush percentage is not the predicted one, or was not seen yet; or the counters "
            "are off on a version whose law was never seen to match"
        ),
        "readings that match, under load; for counters the statements that the hold names",
    ),
}
"""Why, and what clears it, by hold."""

BUDGETS = (
    "max_changes_per_hour",
    "dwell_seconds",
    "step_factor",
    "max_checkpoint_age_ratio",
    "max_recovery_seconds",
    "max_shutdown_seconds",
    "max_replica_set_point",
    "park_slack",
)
"""Keys of ``[loop]`` that bound what the loop may do or lead to."""


def parked(code: HoldCode) -> str:
    """Return what entering a hold leaves in force, in words."""
    if code in PARKED_ON_ENTRY:
        return "parked on entry where it is the daemon's and not safe already; else as it is"
    if code is HoldCode.STALE:
        return "as it is; parked at the first good contact"
    return "as it is: nothing is written" if code in NEVER_PARKED else "as it is"
