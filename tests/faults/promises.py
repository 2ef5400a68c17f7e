"""What ``docs/safety.md`` promises beside the faults: invariants and holds."""

from __future__ import annotations

from tuner.core.holds import PARKED_ON_ENTRY
from tuner.records import HoldCode

INVARIANTS = {
    1: (
        "Both variables stay inside the configured limits and the server's own at every write. Only a "
        "restore may leave them: it goes back to what was there. C is never above M."
    ),
    2: (
        "In every finished pair M is a whole multiple of C; originals go back as they were. Between the two "
        "SETs the gain `C·⌊M/C⌋` stays between old and new. Both values are read back."
    ),
    3: (
        "No more changes than dwell and hourly budget allow, none larger than the step factor. Exempt: "
        "emergency raise; relief of a slow device and its end (at most 20 an hour); override; restore; "
        "the two changes of each pair of blocks of a trial; a park once the load has been measured. Of "
        "these relief alone uses up the budget. The way back from an emergency, down to what was in force "
        "before, is bound by the dwell alone."
    ),
    4: (
        "Advisory mode writes nothing. A hold permits one park on entry, where the table of holds says so "
        "and the values in force are the daemon's own, and a park or restore that somebody asks for. It "
        "permits no override, no relief, and no emergency raise but the one in 10."
    ),
    5: (
        "No decision on a stale, reset, reversed or non-finite sample, nor on rates across a gap in which "
        "clocks of daemon and server ran apart."
    ),
    6: (
        "After a change by somebody else the daemon yields. It takes over again from a declared baseline "
        "after a cool-down, three times an hour; anything else waits for a person."
    ),
    7: (
        "The originals are on disk before the first write, under the server's identity, and are taken "
        "anew after a restart of mysqld. Never `SET … DEFAULT`, never `SET PERSIST`."
    ),
    8: "A dead daemon leaves a parked setting, or one that was written while it was safe.",
    9: (
        "One connection, and another only for a step of `redo.grow_to`; a limit on every statement; bounded "
        "memory; no SQL in a health probe."
    ),
    10: (
        "One writer for each server: a second daemon only watches. Where a session that is not InnoBrim's "
        "has the writer lock, nothing is written but an emergency raise."
    ),
    11: "mysqld is never restarted, and nothing is written but the variables listed here.",
}

HOLDS = {
    HoldCode.STALE: ("no good sample for five seconds", "the first good sample"),
    HoldCode.RESTARTED: ("mysqld was restarted", "ten good readings, and the new originals on disk"),
    HoldCode.FOREIGN_CHANGE: (
        "somebody else changed one of the two variables",
        "`innobrim resume`; a restart of mysqld; for the declared `baseline` its cool-down",
    ),
    HoldCode.PAUSED: (
        (
            "a person asked, with `pause` or `park`; [`paused = true`](fleet.md#stop-all-of-them); or the "
            "journal could not be read, so that somebody may have"
        ),
        "`innobrim resume`; where the configuration pauses, `paused = false` alone",
    ),
    HoldCode.NOT_WRITER: (
        (
            "another session has the writer lock; the server is `read_only` or `super_read_only`; its "
            "provider lets no account set the two variables; limits and the procedure's bounds have no value "
            "in common; three writes in a row were refused; or the journal's thread is dead"
        ),
        (
            "the end of that session; `read_only` OFF, or `allow_read_only_writes`; other limits or bounds; "
            "`innobrim resume`; a restart of the daemon; nothing, if it is the provider"
        ),
    ),
    HoldCode.PRIVILEGE_LOST: (
        "the server refused a write for want of a privilege",
        "`innobrim resume`, after the `GRANT` or the `innobrim setup-sql` that the hold names",
    ),
    HoldCode.INERT: (
        "the two variables have no effect: redo logging or adaptive flushing is off",
        "the statement that the hold names",
    ),
    HoldCode.RESIZING: ("the redo log is being resized", "the end of that"),
    HoldCode.MODEL_MISMATCH: (
        (
            "the server's flush percentage is not the predicted one, or was not seen yet; or counters are "
            "off on a version that never matched"
        ),
        "readings that match, under load; for counters the statements that the hold names",
    ),
}
"""Why, and what clears it, by hold."""


def parked(code: HoldCode) -> str:
    """Return what entering a hold leaves in force, in words."""
    if code in PARKED_ON_ENTRY:
        return "parked"
    return "as it is; parked at the first contact" if code is HoldCode.STALE else "as it is"
