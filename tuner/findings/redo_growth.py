"""What speaks against another size of the redo log, how far a resize is, and the lines for my.cnf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple, Protocol

from msgspec import Meta, Struct

from tuner.core.estimate.occurrences import FLAGS, MEANING, Occurrence
from tuner.core.state import SAME_START_SECONDS
from tuner.findings.evidence import local_places
from tuner.findings.finding import Finding
from tuner.findings.providers import way_of
from tuner.records import LOW_WATER_MARK, Facts, Sample
from tuner.servers.families.redo_capacity import REDO_VARIABLE
from tuner.servers.port import Unreachable
from tuner.servers.survey import Survey
from tuner.settings import GrowTo
from tuner.system.amounts import GIBIBYTE, MEBIBYTE, size
from tuner.system.storage import Room, room_of

Stands = Literal["in_force", "under_way", "not_in_force", "restarted", "changed"]
"""How far a resize is: the size wanted is in force, or that of an earlier step on the way; the server is at
it; the size found is in force, still or again; mysqld was restarted since; somebody else set another size."""

LEFT_FREE = 0.05
"""Share of the file system that a larger log must leave free, of at most ``MOST_LEFT_FREE`` bytes."""

MOST_LEFT_FREE = 10 * GIBIBYTE

GROW_TO = "grow_to"

SHRUNK_SHARE = 0.5
"""Of the size to go back to: with a checkpoint age up to there no limit of the smaller log is reached."""


COPYING = (Occurrence.BACKUP_LOCK, Occurrence.READ_LOCK, Occurrence.CLONE)
"""What may copy the redo log, and is broken by another size of it."""


class Resize(Struct, frozen=True):
    """A resize of a redo log that a person's command began, or a daemon with ``redo.grow_to``."""

    identity: Annotated[str, Meta(description="which server, whatever its address")]
    variable: Annotated[str, Meta(description="the variable that says how large the redo log is")]
    found: Annotated[
        int, Meta(description="its value before the first resize since the server started, bytes")
    ]
    wanted: Annotated[int, Meta(description="the value set, bytes")]
    started: Annotated[float, Meta(description="when the server had started, Unix time")]
    begun: Annotated[float, Meta(description="when the value was to be set, Unix time")]
    lsn: Annotated[int, Meta(description="the server's current LSN then")]
    goal: Annotated[int, Meta(description="redo.grow_to of the daemon that grew it, bytes; 0: none did")] = 0
    undone: Annotated[bool, Meta(description="it was set back: no daemon grows it to that goal again")] = (
        False
    )
    by_person: Annotated[
        bool, Meta(description="a person's command was among the resizes since: no restore takes it back")
    ] = False
    reached: Annotated[
        int, Meta(description="largest size seen in force since the server started, bytes; 0: not known")
    ] = 0


class Growing(Struct, frozen=True):
    """What becomes of ``redo.grow_to``."""

    grow_to: Annotated[int, Meta(description="size that the redo log is to grow to, bytes")]
    in_force: Annotated[int | None, Meta(description="its size now, bytes; none before the first reading")]
    step_to: Annotated[int | None, Meta(description="size that is being set now, bytes; none between steps")]
    text: Annotated[str, Meta(description="how far it is, and what it waits for, in words")]
    found: Annotated[
        int | None, Meta(description="its size before the first step, bytes; none before one was made")
    ] = None
    next_try: Annotated[
        float | None, Meta(description="when what failed is tried again, Unix time; none where nothing did")
    ] = None


def barred(facts: Facts, sample: Sample, wanted: int) -> str:
    """Return why this server's redo log cannot be made so large while it runs; empty where it can."""
    found, name = sample.redo_capacity, facts.redo_variable
    if facts.managed:
        by_restart, sql = facts.larger_redo(wanted)
        if not sql:
            return by_restart
        words, command = way_of(sql, facts) or (f"{facts.managed} takes no SET GLOBAL", ())
        return "\n".join((words, *command))
    if wanted <= found:
        return (
            f"the redo log has {size(found)}, and --to only grows it: for a smaller one the server flushes "
            "at once, at the cost of the load"
        )
    if sample.resizing:
        return f"{name} is being changed already, and {size(found)} is in force: wait for its end"
    return ""


def copied_by(sample: Sample) -> tuple[str, ...]:
    """Return what goes on that may copy the redo log, and would be broken by another size, in words."""
    return tuple(MEANING[one] for one in COPYING if FLAGS[one](sample))


class Growable(Protocol):
    """A server that can be asked what growing its redo log takes, as ``RealServer`` can."""

    def may_write(self) -> bool | None: ...
    def redo_limit(self) -> int | None: ...
    def survey(self) -> Survey: ...


def against(
    server: Growable, facts: Facts, sample: Sample, goal: GrowTo, resize: Resize
) -> Iterator[tuple[str, str]]:
    """Yield what keeps a daemon from a resize towards its goal, and what would be right.

    Raises:
        Unreachable: the server does not answer in time.
    """
    wanted, limit, megabytes = resize.wanted, server.redo_limit(), f"{goal.size // MEBIBYTE}M"
    remake = f"innobrim setup-sql --grow-redo-to {megabytes} prints a procedure that may"
    if why := barred(facts, sample, wanted):
        words, _, command = why.partition("\n")
        yield words, command
    if not facts.redo_dynamic:
        yield f"{facts.product} cannot safely grow its redo log while it runs", facts.larger_redo(wanted)[0]
    if limit is not None and wanted > limit:
        yield f"the procedure grows it to {size(limit)} at most", remake
    if limit is None and server.may_write() is False:
        yield f"the account {facts.named_account} may not set {facts.redo_variable}", remake
    # MySQL writes a file in its new size when its turn comes: earlier steps may be on no disk yet
    space = space_for(server.survey(), facts, resize.found, wanted)
    if space.why:
        yield f"{space.where}: {space.why}", ""
    if not space.where and not goal.unchecked:
        by_hand = f'grow it by innobrim redo --to, or write grow_to = "{megabytes} unchecked"'
        yield "the room on the server's disk cannot be seen from here", by_hand


def grow_to_line(server: Growable, facts: Facts, sample: Sample, goal: GrowTo) -> Finding:
    """Return whether a daemon in active mode gets to ``redo.grow_to`` here; a warning where it does not."""
    there, key = sample.redo_capacity, f"redo.grow_to = {size(goal.size)}"
    if goal.size == there:
        return Finding(GROW_TO, "ok", f"{key} is in force")
    if goal.size < there:
        found = f"{key} does nothing: the redo log has {size(there)}, and is never made smaller"
        return Finding(GROW_TO, "warning", found, fix="write a larger size, or leave it out")
    resize = to_keep(None, facts, sample, goal.size, wall=0.0)
    try:
        why = next(against(server, facts, sample, goal, resize), None)
    except Unreachable as error:
        return Finding(GROW_TO, "untested", f"{key}: {error}")
    if why is not None:
        return Finding(GROW_TO, "warning", f"{key} is not reached: {why[0]}", fix=why[1])
    return Finding(GROW_TO, "ok", f"{key}: active mode grows the redo log to it from {size(there)}, in steps")


def lines_for_my_cnf(facts: Facts, wanted: int) -> tuple[str, ...]:
    """Return the lines that have a server start with such a redo log, bytes."""
    if facts.redo_dynamic or facts.family == "mariadb":
        return "[mysqld]", f"{facts.redo_variable} = {wanted}"
    return "[mysqld]", f"innodb_log_file_size = {wanted // 2}", "innodb_log_files_in_group = 2"


def space_needed(facts: Facts, found: int, wanted: int) -> int:
    """Return the bytes that a larger log takes until it is in place: MariaDB writes it beside the old one."""
    return wanted if facts.family == "mariadb" else wanted - found


class Space(NamedTuple):
    """Room for a larger redo log."""

    where: str  # directory that was looked at; empty where none could be
    more: int  # bytes that are needed
    free: int = 0  # bytes
    why: str = ""  # why it is not enough; empty where it is


def space_for(look: Survey, facts: Facts, found: int, wanted: int) -> Space:
    """Return what there is for a log of ``wanted`` bytes in place of ``found``, as far as it can be seen."""
    more = space_needed(facts, found, wanted)
    place = local_places(look).get("redo")
    below = None if place is None or facts.family == "mariadb" else f"{place}/#innodb_redo"
    for one in filter(None, (below, place)):
        if (room := room_of(one)) is not None:
            return Space(one, more, room.free, too_little_room(more, room))
    return Space("", more)


def too_little_room(needed: int, room: Room) -> str:
    """Return why there is not enough room for so many bytes more; empty where there is."""
    left = round(min(LEFT_FREE * room.total, MOST_LEFT_FREE))
    if needed + left <= room.free:
        return ""
    return (
        f"{size(needed)} more are needed, {size(room.free)} are free, and {size(left)} of them are to stay so"
    )


def to_keep(
    before: Resize | None, facts: Facts, sample: Sample, wanted: int, *, wall: float, goal: int = 0
) -> Resize:
    """Return what is to be on disk before the log is made so large, bytes.

    After an earlier resize since the server's start it keeps what that one found.
    """
    found, by_person = sample.redo_capacity, not goal
    if (
        before is not None
        and not before.undone
        and stands(before, facts, sample, under_way=False) == "in_force"
    ):
        by_person |= before.by_person or not before.goal
        found, goal = before.found, goal or before.goal
    return Resize(
        facts.identity,
        facts.redo_variable,
        found,
        wanted,
        facts.started,
        wall,
        sample.lsn_current,
        goal,
        by_person=by_person,
        reached=sample.redo_capacity,
    )


def stands(resize: Resize, facts: Facts, sample: Sample, *, under_way: bool) -> Stands:
    """Return how far a resize is.

    Args:
        resize: as it was begun.
        facts: of the server.
        sample: of now.
        under_way: a statement that sets the size is at work.
    """
    if abs(resize.started - facts.started) > SAME_START_SECONDS:
        return "restarted"
    if sample.resizing or under_way:
        return "under_way"
    if resize.found < sample.redo_capacity <= resize.wanted:
        return "in_force"
    return "not_in_force" if sample.redo_capacity == resize.found else "changed"


def made_smaller(resize: Resize, facts: Facts, sample: Sample) -> bool:
    """Tell whether somebody made the log smaller, since no server does so itself before its next start."""
    same_start = abs(resize.started - facts.started) <= SAME_START_SECONDS
    return same_start and not sample.resizing and sample.redo_capacity < resize.reached


def told(resize: Resize, standing: Stands, sample: Sample) -> str:
    """Return a resize and how far it is, in a sentence."""
    now = size(sample.redo_capacity)
    ends = {
        "in_force": f"{now} is in force",
        "under_way": f"the server is at it: {how_far(resize, sample)}",
        "not_in_force": f"{now} is in force: the server never took it, gave it up, or it was undone",
        "restarted": f"mysqld was restarted since, which ended it, and has {now} by its configuration",
        "changed": f"{now} is in force, which somebody else set",
    }
    pair = f"{size(resize.found)} to {size(resize.wanted)}"
    by = "by the daemon (redo.grow_to)" if resize.goal and not resize.by_person else "by innobrim redo"
    return f"a resize of the redo log from {pair} was begun {by}: {ends[standing]}"


def kept_back(resize: Resize) -> str:
    """Return that a daemon's resize was undone, and what lets it grow the log again."""
    return (
        f"the redo log was set back after redo.grow_to = {size(resize.goal)}: it grows again once that key "
        "has another value, or by innobrim redo --to"
    )


def next_step(resize: Resize, standing: Stands, sample: Sample) -> str:
    """Return what a person does about it."""
    for_good = f"my.cnf needs {resize.variable} = {resize.wanted}"
    forgotten = "innobrim redo --undo forgets this"
    lacks = sample.redo_capacity != resize.wanted
    return {
        "in_force": f"innobrim redo --undo sets {size(resize.found)} back; {for_good} for the next start",
        "under_way": f"once it is there innobrim redo --undo sets {size(resize.found)} back",
        "not_in_force": forgotten,
        "restarted": f"{for_good}; {forgotten}" if lacks else forgotten,
        "changed": forgotten,
    }[standing]


def how_far(resize: Resize, sample: Sample) -> str:
    """Return in words how far a server is that changes the size."""
    if resize.variable == REDO_VARIABLE:
        return f"{size(sample.redo_capacity)} in force, on its way"
    left = resize.lsn - sample.lsn_checkpoint
    if left > 0:
        return f"the checkpoint has {size(left)} to go until the new log is in place"
    return "the new log is put in place at the next checkpoint"


def not_to_be_shrunk(resize: Resize, sample: Sample) -> str:
    """Return why the log found cannot be set back without sync flushing; empty where it can."""
    most = int(SHRUNK_SHARE * resize.found)
    if sample.checkpoint_age <= most:
        return ""
    age, limit = (size(one) for one in (sample.checkpoint_age, most))
    way = f"innobrim drain --to-age {most // MEBIBYTE}M --wait, or ask again at a quiet hour"
    if resize.variable != REDO_VARIABLE and sample.low_water_mark == 0:  # a MariaDB whose cleaner sleeps
        way = (
            f"SET GLOBAL {LOW_WATER_MARK} = 0.001, without which no quiet hour and no drain lowers the age "
            f"here; ask again at a quiet hour, and then set {LOW_WATER_MARK} = 0 again"
        )
    return (
        f"the checkpoint age is {age}, and a log of {size(resize.found)} is safely set below {limit}: above, "
        f"the server flushes for it as fast as it can. Flush first, by {way}"
    )
