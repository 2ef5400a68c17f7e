"""A real server behind the port: two cheap statements a reading, a third one now and then."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence

import pymysql
from msgspec.structs import replace
from pymysql.constants import ER

from tuner.records import (
    LOW_WATER_MARK,
    MILLIONTHS,
    Bounds,
    Capacity,
    Facts,
    Missed,
    Receipt,
    Sample,
)
from tuner.servers import redosize, writing
from tuner.servers.adapter import Adapter
from tuner.servers.detect import detect
from tuner.servers.endpoint import Endpoint
from tuner.servers.enginestatus import EngineStatus
from tuner.servers.failures import FIXES, NOT_READY, error_number, in_words, refusal
from tuner.servers.families.redo_capacity import RedoCapacityAdapter
from tuner.servers.identity import Identity
from tuner.servers.port import ServerError, Unreachable
from tuner.servers.session import Session
from tuner.servers.surroundings import Surroundings, UndoWatch, recovery_seconds
from tuner.servers.survey import Survey, survey
from tuner.servers.values import decimal, plain, plausible, whole
from tuner.servers.writerlock import WriterLock
from tuner.system.clock import Clock

DENIED = frozenset(
    {
        *(ER.SPECIFIC_ACCESS_DENIED_ERROR, ER.ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR),
        *(ER.PROCACCESS_DENIED_ERROR, ER.SP_DOES_NOT_EXIST, ER.NO_SUCH_USER),
    }
)
"""The server's errors for a privilege that is missing, or for a procedure, or its definer, that is gone."""

UNKNOWN = frozenset(
    {ER.UNKNOWN_SYSTEM_VARIABLE, ER.UNKNOWN_TABLE, ER.NO_SUCH_TABLE, ER.BAD_FIELD_ERROR, ER.PARSE_ERROR}
)
"""The server's errors for asking it what a server of another family knows."""

READ_BACK = "SELECT @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max"

ENABLE_SECONDS = 60.0
"""Between two tries to turn counters on that are off all the same."""


class RealServer:
    """One real server.

    Attributes:
        enables_counters: turn counters on that are found off; only where the operator allowed it.
        watches_latency: ask how long writing statements take at every reading, not only now and then.
        writes_low_water: the low-water mark may be written, with loop.low_water_mark or to put it back.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        clock: Clock,
        *,
        session: Session | None = None,
        name: str = "",
        beat: Callable[[float], None] | None = None,
    ) -> None:
        """Prepare, without connecting.

        Args:
            endpoint: where the server is.
            clock: whose time it is.
            session: a session to use instead of a new one to that endpoint.
            name: what a person calls a server that has no lasting identity; empty for none.
            beat: told before each wait for the server how long that may take, seconds; must never block.
        """
        self._session = session or Session(endpoint, clock.monotonic, beat=beat)
        self._clock = clock
        self._adapter: Adapter = RedoCapacityAdapter()
        self._lock = WriterLock(self._session, clock)
        self._surroundings = Surroundings()
        self._undo = UndoWatch()
        self._identity = Identity(name)
        self._engine = EngineStatus()
        self._enabled_at: float | None = None
        self._doubted = self._denied = False
        self._absent: tuple[str, ...] = ()
        self._procedure: Bounds | None = None
        self.enables_counters = False
        self.watches_latency = False
        self.writes_low_water = False

    @property
    def claims_writer(self) -> bool:
        """Tell whether the writer lock is taken at the next reading and kept; set in active mode."""
        return self._lock.wanted

    @claims_writer.setter
    def claims_writer(self, wanted: bool) -> None:
        self._lock.wanted = wanted

    def use_password(self, password: str) -> None:
        """Log in with another password from the next connection on; from any thread."""
        self._session.password = password

    def facts(self) -> Facts:
        """Return what this server is; see the port."""
        try:
            return plausible(self._facts())
        except ServerError:
            raise
        except Exception as error:
            raise Unreachable(self._unexpected(error)) from error

    def _facts(self) -> Facts:
        facts, adapter = detect(self._session)
        self._procedure = None if facts.procedure is None else writing.bounds(self._session)
        enables = facts.disabled_counters and self.enables_counters
        if enables:
            with contextlib.suppress(pymysql.MySQLError):
                self._enable_counters()
        if enables or facts.blockers:  # of several statements, between which a resize may have ended
            facts, adapter = detect(self._session)
        self._adapter, self._absent = adapter, facts.absent_counters
        identity = self._identity.of_facts(adapter, facts.identity)
        self._lock.identity = identity
        return replace(
            facts,
            identity=identity,
            calls_itself="" if adapter.lasting else facts.identity,
            procedure=self._procedure,
            sets_low_water=self._sets_low_water(),
            unseen=self._surroundings.look(self._session, adapter.parts, self._clock.monotonic()),
            recovery_seconds=recovery_seconds(self._session),
        )

    def read(self) -> Sample | Missed:
        """Return one reading; see the port."""
        started = self._clock.monotonic()
        try:
            self._lock.settle()
            if self._doubted:
                facts, self._adapter = detect(self._session)
                self._absent = facts.absent_counters
                self._doubted = False
            adapter = self._adapter
            answers = self._session.pairs(adapter.counter_query)
            now, wall = self._clock.monotonic(), self._clock.wall()
            off = adapter.missing_counters(answers)
            self._turn_on(tuple(one for one in off if one not in self._absent))
            self._lock.note_reading(elsewhere=answers.get("writer") == "0")
            answers |= self._session.pairs(adapter.status_query)
            self._must_serve(adapter, answers)
            if off and adapter.needs_engine_status(answers):
                answers |= self._engine.read(self._session, now)
            if off:
                now, wall = self._clock.monotonic(), self._clock.wall()
            seen = self._surroundings.read(self._session, now, latency=self.watches_latency)
            sample = adapter.sample(
                plain(answers),
                monotonic=now,
                wall=wall,
                read_seconds=self._clock.monotonic() - started,
                writer=not self._lock.refused,
                lock=self._lock.description,
                undo_truncating=self._undo.truncating(now, adapter.inactive_undo(answers)),
                **seen,
            )
            reading = plausible(sample)
            return self._identity.of_reading(self._session, adapter, reading, answers)
        except ServerError as error:
            reason = str(error)
        except pymysql.MySQLError as error:
            self._doubted = error_number(error) in UNKNOWN
            reason = f"{self._session.endpoint}: {in_words(error)}"
            if fix := refusal(self._session.endpoint, error_number(error), reason):
                reason += f"; {fix}"
        except Exception as error:  # noqa: BLE001 - an answer without sense ends in no traceback, whatever it is
            reason, self._doubted = self._unexpected(error), True
        return Missed(monotonic=self._clock.monotonic(), wall=self._clock.wall(), reason=reason)

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Carry out the SETs, by the procedure where there is one, read both values back; see the port."""
        started = self._clock.monotonic()
        asked = dict(steps).get(LOW_WATER_MARK)
        done, error, denied, answers = 0, "", False, True
        in_force: Capacity | None = None
        mark: int | None = None
        try:
            if self._denied:
                self._log_in_again()
            for name, value in steps:
                self._identity.require_same(self._session, self._adapter)
                writing.must_be_writable(name, optional=self.writes_low_water)
                called = self._procedure is not None
                self._session.query(writing.setting(name, int(value), called=called))
                done += 1
        except ServerError as failure:
            error, answers = str(failure), not isinstance(failure, Unreachable)
        except pymysql.MySQLError as failure:
            error, denied = in_words(failure), error_number(failure) in DENIED
            self._denied = denied
        except Exception as failure:  # noqa: BLE001 - an answer without sense ends in no traceback, whatever it is
            error, answers = self._unexpected(failure), False
        try:
            if answers:
                row = self._session.query(READ_BACK)[0]
                in_force = plausible(Capacity(whole(row[0]), whole(row[1])))
                mark = None if asked is None else self._low_water_mark()
        except Exception as failure:  # noqa: BLE001 - an answer without sense ends in no traceback, whatever it is
            error = error or f"read back: {in_words(failure)}"
        ended = self._clock.monotonic()
        return Receipt(
            monotonic=ended,
            requested=wanted,
            in_force=in_force,
            done=done,
            seconds=ended - started,
            error=error,
            denied=denied,
            low_water_asked=asked,
            low_water_mark=mark,
        )

    def _must_serve(self, adapter: Adapter, answers: Mapping[str, str]) -> None:
        if adapter.out_of_service(answers):
            raise Unreachable(f"{self._session.endpoint}: wsrep_ready is OFF", FIXES[NOT_READY])

    def _unexpected(self, error: Exception) -> str:
        """Drop a connection whose answer makes no sense; return what is said of it."""
        self._session.drop()
        return f"{self._session.endpoint}: unexpected answer: {in_words(error)}"

    def may_write(self) -> bool | None:
        """Tell whether the account may set C and M itself; None where the server does not say."""
        return writing.may_write(self._session)

    def set_by_us(self) -> frozenset[str]:
        """Return which of C and M this account set last; none where the server does not say."""
        return writing.set_by_us(self._session)

    def survey(self) -> Survey:
        """Return what else the server shows of how it flushes; not for the loop.

        Raises:
            Unreachable: nothing answers in time.
        """
        return survey(self._session, self._clock.monotonic(), self._adapter.counter_on)

    def redo_limit(self) -> int | None:
        """Return up to which size a procedure grows the redo log, bytes; None without one for this account.

        Raises:
            Unreachable: nothing answers in time.
        """
        return redosize.limit(self._session)

    def resize_redo(self, facts: Facts, size: int, seconds: float, *, called: bool = False) -> None:
        """Set the size of the redo log; never for the loop, and by no other thread's connection.

        MariaDB answers when the new log is in place: ``read`` may be called meanwhile.

        Args:
            facts: of the server that is meant.
            size: bytes.
            seconds: after which it is given up, by MariaDB itself.
            called: by the procedure of ``innobrim setup-sql``, which only grows it.

        Raises:
            ServerError: as ``redosize.resize``.
        """
        session = Session(replace(self._session.endpoint, timeout=seconds + redosize.GRACE_SECONDS))
        try:
            redosize.resize(session, self._adapter.identity, facts, size, seconds, called=called)
        finally:
            session.close()

    def resizing_redo(self, facts: Facts) -> bool:
        """Tell whether somebody's statement sets the size of the redo log right now."""
        return redosize.under_way(self._session, facts)

    def close(self) -> None:
        """Give the connection back, and the writer lock with it."""
        self._lock.close()
        self._session.close()

    def _log_in_again(self) -> None:
        """Connect anew, with the writer lock: a session keeps the global privileges of its login, SUPER too.

        The administrator may have made the procedure meanwhile, or done away with it.

        Raises:
            ServerError: there is no connection, or somebody else has the lock.
        """
        self._denied = False
        self._lock.give_back()
        self._session.close()
        self._lock.settle()
        if self._lock.refused and not self._lock.stranger:
            raise ServerError("another session took the writer lock while this one logged in again")
        self._procedure = writing.bounds(self._session)

    def _low_water_mark(self) -> int:
        row = self._session.query(f"SELECT @@GLOBAL.{LOW_WATER_MARK}")[0]
        return round(decimal(row[0]) * MILLIONTHS)

    def _sets_low_water(self) -> bool:
        """Tell whether a procedure sets the low-water mark; not asked where that is not to be written."""
        asked = self.writes_low_water and self._procedure is not None
        return asked and writing.sets_low_water(self._session)

    def _turn_on(self, off: tuple[str, ...]) -> None:
        """Turn counters on where allowed, as after a restart of mysqld; this reading is lost then.

        Raises:
            ServerError: it was tried; the message names the counters and the statements that turn them on.
        """
        if not off:
            self._enabled_at = None
        now = self._clock.monotonic()
        tried = self._enabled_at is not None and now - self._enabled_at < ENABLE_SECONDS
        if not off or not self.enables_counters or tried:
            return
        self._enabled_at = now
        said = f"counters are off: {', '.join(off)}"
        try:
            self._enable_counters()
        except pymysql.MySQLError as error:
            raise ServerError(f"{said}; turning them on was refused: {in_words(error)}") from error
        raise ServerError(f"{said}; turned on by {'; '.join(self._enabling)}")

    @property
    def _enabling(self) -> Sequence[str]:
        return writing.enabling(called=self._procedure is not None)

    def _enable_counters(self) -> None:
        for statement in self._enabling:
            self._session.query(statement)
