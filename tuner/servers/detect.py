"""Which server this is, by what it can do, and whether the loop can control it."""

from __future__ import annotations

from collections.abc import Mapping

import pymysql

from tuner.records import CAPACITY_MINIMUM, Bounds, Facts, grant, is_account
from tuner.servers.adapter import SHOWN, Adapter, Family, quoted
from tuner.servers.exported import Comparison, reporting
from tuner.servers.failures import (
    CUT_SHORT,
    HANGS,
    WITHOUT_PRIVILEGE,
    error_number,
    in_words,
    refusal,
)
from tuner.servers.families import SUPPORTED, asked, recognise
from tuner.servers.port import ServerError, Unreachable, Unsupported
from tuner.servers.release import named, release_of, version_of
from tuner.servers.session import Session
from tuner.servers.values import decimal, plain, short, text, whole
from tuner.system.printable import printable


def detect(session: Session) -> tuple[Facts, Adapter]:
    """Return what this server is, and the adapter for its family.

    Args:
        session: an open or openable session.

    Raises:
        Unreachable: nothing answers in time, or the server cut a statement short that took too long.
        Unsupported: no server of a family that can be sampled, the account may not look, or the answers make
            no sense.
    """
    try:
        return _detect(session)
    except pymysql.MySQLError as error:
        raise _failed(session, error) from error
    except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError) as error:
        session.drop()
        raise Unsupported(
            f"{session.endpoint} gave an unexpected answer ({type(error).__name__}: {in_words(error)}); "
            "expected is a MySQL, Percona Server or MariaDB, without a proxy that rewrites statements"
        ) from error


def _failed(session: Session, error: pymysql.MySQLError) -> ServerError:
    """Return what a statement that the server did not carry out says of it."""
    number = error_number(error)
    if number in CUT_SHORT:
        return Unreachable(
            f"{session.endpoint}: no answer in time: {in_words(error)}", f"{HANGS}, or raise server.timeout"
        )
    if number in WITHOUT_PRIVILEGE:
        return Unsupported(
            f"{session.endpoint} may not look at what is needed ({in_words(error)}); it needs PROCESS on *.*"
        )
    words = in_words(error)
    if fix := refusal(session.endpoint, number, words):
        return Unreachable(f"{session.endpoint}: {words}", fix)
    return Unsupported(f"{session.endpoint} refuses what a server with InnoDB answers ({words}); {SUPPORTED}")


def _detect(session: Session) -> tuple[Facts, Adapter]:
    variables = short(_variables(session))
    plain({name: said for name, said in variables.items() if name.startswith("innodb_")})
    family = recognise(variables, session.endpoint.tcp_host)
    adapter = family.adapter
    states = _states(session, adapter)
    limits = _compared_limits(session, family, variables, states)
    started, account, *called = session.query(adapter.started)[0]
    facts = Facts(
        identity=printable(adapter.identity_of(variables)),
        endpoint=str(session.endpoint),
        version=version_of(variables["version"]),
        version_comment=printable(variables.get("version_comment", "")),
        family=family.name,
        flush_law=family.flush_law,
        page_size=adapter.page_size,
        capacity_minimum=CAPACITY_MINIMUM,
        capacity_maximum=family.capacity_maximum,
        started=decimal(started),
        disabled_counters=tuple(name for name in adapter.counters if states.get(name) is False),
        absent_counters=tuple(name for name in adapter.counters if name not in states),
        blockers=tuple(_blockers(variables, limits)),
        own_limits=limits.taken,
        lacks=tuple(f"{name}: {instead}" for name, instead in adapter.lacks.items()),
        account=text(account) if is_account(text(account)) else "",
        write_privilege=family.write_privilege,
        managed=family.managed,
        unverified=family.unverified,
        surroundings=adapter.surroundings,
        timed=variables.get("performance_schema", "ON") == "ON",
        redo_variable=adapter.redo_variable,
        redo_dynamic=adapter.redo_dynamic,
        names_setters=adapter.names_setters,
        procedure=Bounds() if called and whole(called[0]) else None,
        ages_need_counters=adapter.ages_need_counters and not _shows_ages(session, family),
        **adapter.checkpoints,
    )
    return facts, adapter


def _shows_ages(session: Session, family: Family) -> bool:
    """Tell whether a server whose ages are in InnoDB's counters shows them elsewhere as well."""
    names = family.adapter.percona_ages
    if family.name != "percona" or not names:
        return False
    return session.pairs(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({quoted(names)})").keys() >= set(names)


def _blockers(variables: Mapping[str, str], limits: Comparison) -> list[str]:
    """Return why this server cannot be controlled at all."""
    found = [limits.mismatch] if limits.mismatch else []
    if variables.get("innodb_read_only", "OFF") in {"ON", "1"}:
        found.insert(0, "innodb_read_only is ON: this server writes no pages")
    return found


def _compared_limits(
    session: Session, family: Family, variables: Mapping[str, str], states: Mapping[str, bool]
) -> Comparison:
    """Return what is to be said of the limits that the server shows: those whose counters are on."""
    adapter = family.adapter
    on = [name for name in adapter.limit_counters if states.get(name)]
    exported: dict[str, str] = {}
    if on:
        exported = session.pairs(
            f"SELECT name, {SHOWN} FROM information_schema.innodb_metrics WHERE name IN ({quoted(on)})"
        )
    status = session.pairs(adapter.limit_status) if adapter.limit_status else {}
    release = named(release_of(variables["version"]))
    report = reporting(str(session.endpoint), f"{family.name}-{release}")
    return adapter.compared_limits({**variables, **plain(exported), **plain(status)}, report)


def _variables(session: Session) -> dict[str, str]:
    return session.pairs(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({quoted(asked())})")


def _states(session: Session, adapter: Adapter) -> dict[str, bool]:
    """Return of each counter that there is whether it is on."""
    names = quoted((*adapter.counters, *adapter.limit_counters))
    try:
        rows = session.query(
            f"SELECT name, {adapter.counter_on} FROM information_schema.innodb_metrics"
            f" WHERE name IN ({names})"
        )
    except pymysql.MySQLError as error:
        if error_number(error) not in WITHOUT_PRIVILEGE:
            raise
        account = text(session.query("SELECT CURRENT_USER()")[0][0])
        raise Unsupported(
            f"{session.endpoint} may not read InnoDB's counters ({in_words(error)}); as an administrator: "
            f"{grant('PROCESS', account if is_account(account) else '…@…')}"
        ) from error
    return {text(name): text(state) == "1" for name, state in rows}
