"""Which server this is, where it keeps nothing that says so: MariaDB has no server_uuid.

Its host name, port and data directory tell it from others, but a container that is made anew around the same
data has another host name, and two StatefulSets each have a ``mariadb-0``. So what lasts is asked as well:
when mysqld started, and InnoDB's log sequence number, which no restart takes back behind the last checkpoint.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tuner.records import Sample
from tuner.servers.adapter import OFF, Adapter, Answers
from tuner.servers.port import ServerError
from tuner.servers.session import Session
from tuner.servers.values import plain
from tuner.system.printable import shortened

SAME_START_SECONDS = 5.0
"""A start of mysqld that comes out this near to another is the same one; uptime counts whole seconds."""

ROOM = 256 * 1024**2
"""Redo that a server may have written beside any rate since it was seen last, bytes."""

FASTEST = 256 * 1024**2
"""Redo that a server writes at most, bytes/s."""


MOST_ROWS = 10_000_000
"""Rows that a server changes at most, 1/s, and that it may have changed beside any rate."""


class Seen(Struct, frozen=True):
    """What a reading says of who the server is.

    Attributes:
        sample: the reading.
        number: ``server_id``; empty where that is not known.
        cluster: it is a node of a Galera cluster, whose nodes can be copies of each other.
        kept: it came over the connection of the reading before.
    """

    sample: Sample
    number: str
    cluster: bool
    kept: bool

    @property
    def named(self) -> str:
        """Return what it calls itself: host name, port and data directory."""
        return self.sample.identity

    @property
    def started(self) -> float:
        """Return when it started, on our monotonic clock, seconds."""
        return self.sample.monotonic - self.sample.uptime


class Identity:
    """What a server is known as, one reading after the other.

    Attributes:
        name: what a person called it, for a server without a lasting identity; empty where nobody did.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._last: Seen | None = None
        self._known = ""
        self._read_in = 0

    def of_facts(self, adapter: Adapter, named: str) -> str:
        """Return what a server is known as that calls itself so, before a reading or after it."""
        last = self._last
        if adapter.lasting:
            return named
        return (self.name or named) if last is None or last.named != named else self._known

    def of_reading(self, session: Session, adapter: Adapter, sample: Sample, answers: Answers) -> Sample:
        """Return a reading with what the server is known as that gave it.

        Args:
            session: that it came over.
            adapter: of the server's family.
            sample: with what the server calls itself.
            answers: that it was made of.
        """
        now = Seen(
            sample=sample,
            number=answers.get("server_id", ""),
            cluster=answers.get("wsrep_on", "0") not in OFF,
            kept=session.connections == self._read_in,
        )
        self._read_in, last, self._last = session.connections, self._last, now
        if adapter.lasting:
            return sample
        if last is None:
            self._known = self.name or now.named
        elif not self._same(last, now):
            begun = round(sample.wall - sample.uptime)
            twin = now.named in {last.named, self._known}
            self._known = f"{self.name or now.named}, started at {begun}" if twin else now.named
        return replace(sample, identity=self._known)

    def require_same(self, session: Session, adapter: Adapter) -> None:
        """Require that a write reaches the server of the last reading; asked over a new connection alone.

        Raises:
            ServerError: another server answers, or none.
            ValueError: its log sequence number is no number.
            pymysql.MySQLError: the server refused the statement.
        """
        last = self._last
        if last is None or (session.current is not None and session.connections == self._read_in):
            return
        answers = plain(session.pairs(adapter.counter_query))
        named, lsn = answers.get("identity", ""), answers.get("log_lsn_current")
        before = last.sample
        back = lsn is not None and int(lsn) < before.lsn_checkpoint
        jumps = lsn is not None and int(lsn) > before.lsn_current + ROOM
        if named != last.named or (not adapter.lasting and (back or jumps)):
            raise ServerError(
                f"{shortened(named)} answers over a new connection, and the last reading was of {last.named}"
                f"{' with another log' if named == last.named else ''}: nothing is written"
            )
        self._read_in = session.connections

    def _same(self, last: Seen, now: Seen) -> bool:
        """Tell whether two readings are of one server: of one start, or with a start of it between them."""
        if now.named == last.named and abs(now.started - last.started) <= SAME_START_SECONDS:
            return True
        since = now.started >= last.sample.monotonic - SAME_START_SECONDS
        if now.named == last.named:
            return _goes_on(last, now) and (since or _counts_on(last, now))
        if self.name:
            return since
        apart = now.cluster or last.cluster or now.number != last.number
        return since and not apart and _place(now) == _place(last) and _goes_on(last, now)


def _place(seen: Seen) -> str:
    """Return port and data directory, which a container made anew keeps."""
    return seen.named.partition(":")[2]


def _goes_on(last: Seen, now: Seen) -> bool:
    """Tell whether the log goes on where it was: what no checkpoint covered may be lost in a crash."""
    before, after = last.sample, now.sample
    most = before.lsn_current + ROOM + FASTEST * _elapsed(last, now)
    return before.lsn_checkpoint <= after.lsn_current <= most


def _counts_on(last: Seen, now: Seen) -> bool:
    """Tell whether the rows count on from where they were: a clock that was set starts no count anew."""
    more = now.sample.row_changes - last.sample.row_changes
    return 0 <= more <= MOST_ROWS * (1.0 + _elapsed(last, now))


def _elapsed(last: Seen, now: Seen) -> float:
    """Return the seconds between two readings, by the clock that counted more.

    Ours may both stand still, as on a suspended machine; the server's counts over one connection alone, since
    another server may have been up for longer.
    """
    before, after = last.sample, now.sample
    served = after.uptime - before.uptime if now.kept else 0.0
    return max(after.monotonic - before.monotonic, after.wall - before.wall, served, 0.0)
