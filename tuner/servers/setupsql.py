"""The statements that make the daemon's account, and the procedures through which it writes.

Pure. The procedures run with the privileges of a definer that cannot log in, so that the account needs none
to write: their bounds hold for whoever has its password. ``SET GLOBAL`` in a stored procedure checks the
definer's privilege: so on MySQL 9.7, MySQL 5.6.24 and MariaDB 11.8 (tests/real/test_stolen.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from tuner.records import (
    CAPACITY_MINIMUM,
    GROW_REDO_LOG,
    LOW_WATER_MARK,
    LOWEST_ABOVE_ZERO,
    SET_GLOBAL,
    SET_LOW_WATER,
    Bounds,
    grant,
    is_local,
    literal,
    login,
    percent,
    revoke,
)
from tuner.servers.adapter import Family
from tuner.servers.families import recognise
from tuner.servers.families.mariadb import OLDEST
from tuner.servers.port import Unsupported
from tuner.servers.release import release_of, version_of
from tuner.servers.surroundings import ERROR_LOG
from tuner.servers.writing import DEFINER, ENABLES, SCHEMA
from tuner.system.printable import printable

NO_PASSWORD = "*" + 40 * "0"
"""A hash that no password is known to have, for MySQL 5.6, which locks no account."""

SINCE = {"error_log": (8, 0, 22)}
"""The release of MySQL that a table of the Performance Schema came with, where its family is older."""

BY_YEAR = (26, 7)
"""The first release of MySQL that is numbered by year and month; the one before was of 9.7."""

CLONES = "clone_status"
"""A table that is there while the clone plugin is loaded: elsewhere a GRANT on it would end the script."""

LASTS = (5, 7, 4)
"""The release of MySQL from which on a password expires by itself, unless its account says NEVER.

Every MariaDB that is supported has that as well: it came with 10.4.3.
"""

CONNECTIONS = 10
"""Sessions that the account may have at once: the daemon's, a few commands', and lost ones for 15 s."""

STRICT = "STRICT_ALL_TABLES"
"""The mode that a procedure is made in, and keeps: an argument that is no such number is an error."""

_READS = re.compile(r"\bperformance_schema\.(\w+)")


class Request(Struct, frozen=True):
    """What is to be made.

    Attributes:
        version: what ``SELECT VERSION()`` says.
        accounts: the daemon's, ``user@host``; several where daemons come from several hosts.
        password: theirs, where they are made.
        renewed: the password is a new one, which an account that is there gets as well.
        encrypted: an account for another machine is let in over TLS alone; the command's default.
        definer_password: that of the definer, which is locked; nobody needs to know it.
        bounds: what the procedure lets through.
        replica: on a replica alone, nothing of it in the binary log.
        direct: the privilege to write instead of the procedures.
        low_water: a procedure for MariaDB's low-water mark of dirty pages as well.
        grow_redo_to: a procedure that grows the redo log up to so many bytes as well; None for none.
        managed: as ``Facts.managed``, where something else than the version tells it.
    """

    version: str
    accounts: tuple[str, ...]
    password: str
    definer_password: str
    bounds: Bounds
    renewed: bool = False
    encrypted: bool = False
    replica: bool = False
    direct: bool = False
    low_water: bool = False
    grow_redo_to: int | None = None
    managed: str = ""

    @property
    def provider(self) -> str:
        """Return whose managed service it is for, where no account may SET GLOBAL; else empty.

        Raises:
            Unsupported: no server that can be sampled.
        """
        return self.managed or family_of(self.version).managed


class Step(Struct, frozen=True):
    """Some statements that belong together.

    Attributes:
        about: what they are for.
        statements: in order, without an end.
    """

    about: str
    statements: tuple[str, ...]


def family_of(version: str) -> Family:
    """Return what a server is by its version alone.

    Raises:
        Unsupported: none that can be sampled; the message says why.
    """
    try:
        whole = _whole(version_of(version))
    except ValueError as error:
        raise Unsupported(f"{error}; write what SELECT VERSION() says") from error
    release = release_of(whole)
    if (10,) <= release < BY_YEAR and "mariadb" not in version.lower():
        raise Unsupported(f"MySQL has no {version}; write {version}-MariaDB where it is a MariaDB")
    variables = {
        "version": whole,
        "innodb_page_size": "16384",
        "innodb_max_dirty_pages_pct_lwm": "0",
        "super_read_only": "OFF",
        "innodb_flush_sync": "ON",
    }
    if release >= (8, 0, 30) and "mariadb" not in version.lower():
        variables["innodb_redo_log_capacity"] = "104857600"
    return recognise(variables)


def _whole(version: str) -> str:
    """Return a version with its patch release: the first that is supported where only the series is named."""
    series = re.match(r"(\d+)\.(\d+)(?![\d.])", version)
    if series is None:
        return version
    first = OLDEST[2] if (int(series[1]), int(series[2])) == OLDEST[:2] else 0
    return f"{series[0]}.{first}{version[series.end() :]}"


def setup(request: Request) -> Iterator[Step]:
    """Return the statements, part by part; for a provider's server that takes no SET GLOBAL only what reads.

    Raises:
        Unsupported: no server that can be sampled, or whose redo log can be grown as asked for.
    """
    family = family_of(request.version)
    if request.grow_redo_to and (request.provider or not family.adapter.redo_dynamic):
        raise Unsupported(
            f"{request.provider or request.version} is not known to grow its redo log safely by SET GLOBAL: "
            "leave --grow-redo-to out, or write the whole version, such as 8.0.46, in place of a series"
        )
    yield from _session(request)
    if not (request.direct or request.provider):
        yield Step("A schema for the procedures; nothing else is in it.", (_SCHEMA,))
        yield Step(
            f"Whose privileges they use: {DEFINER}, which cannot log in.", tuple(_definer(request, family))
        )
        yield Step(
            "The only way to write, with its bounds.",
            _remade(SET_GLOBAL, set_global(request.bounds, moves=family.name == "mariadb")),
        )
        if family.name == "mariadb":
            yield _low_water(request)
        if family.adapter.redo_dynamic:
            yield _growing(request, family)
        yield Step(
            "InnoDB's counters, which are off again after each start where my.cnf does not turn them on.",
            _remade(f"{SCHEMA}.{ENABLES}", enable_counters(family.adapter.counter_on)),
        )
    for account in request.accounts:
        about = _reading(family)
        if requires_tls(request, account):
            about += " It is let in over TLS alone."
        yield Step(about, tuple(_account(request, family, account)))
        if request.provider:
            continue
        if request.direct:
            about = "What it writes with. It is the privilege to set every global variable, to anything."
            yield Step(about, (grant(family.write_privilege, account),))
            continue
        calls = [SET_GLOBAL, f"{SCHEMA}.{ENABLES}"]
        calls += [SET_LOW_WATER] if _marks(request, family) else []
        calls += [GROW_REDO_LOG] if request.grow_redo_to else []
        yield Step(
            "What it writes with.", tuple(grant("EXECUTE", account, f"PROCEDURE {one}") for one in calls)
        )


def removal(request: Request) -> Iterator[Step]:
    """Return the statements that undo ``setup``; the schema stays: somebody may have put something into it.

    Raises:
        Unsupported: no server that can be sampled.
    """
    family = family_of(request.version)
    there = "" if _oldest(family, request) else "IF EXISTS "
    marked = (SET_LOW_WATER,) if family.name == "mariadb" else ()
    grows = (GROW_REDO_LOG,) if family.adapter.redo_dynamic else ()
    procedures = (SET_GLOBAL, f"{SCHEMA}.{ENABLES}", *marked, *grows)
    yield from _session(request)
    yield Step(
        f"The schema {SCHEMA} stays: DROP DATABASE {SCHEMA} once nothing is in it.",
        tuple(f"DROP PROCEDURE IF EXISTS {one}" for one in procedures),
    )
    yield Step(
        "The accounts.",
        tuple(f"DROP USER {there}{login(one)}" for one in (*request.accounts, DEFINER_ACCOUNT)),
    )


def _marks(request: Request, family: Family) -> bool:
    return request.low_water and family.name == "mariadb"


def _low_water(request: Request) -> Step:
    if request.low_water:
        return Step("The low-water mark of dirty pages: 0 or 0.001.", _remade(SET_LOW_WATER, set_low_water()))
    gone = f"DROP PROCEDURE IF EXISTS {SET_LOW_WATER}"
    return Step("Without --low-water-mark that one is not to be written.", (gone,))


def _growing(request: Request, family: Family) -> Step:
    if request.grow_redo_to:
        made = grow_redo_log(family.adapter.redo_variable, request.grow_redo_to)
        why = "The size of the redo log: larger only, and no larger than this."
        return Step(why, _remade(GROW_REDO_LOG, made))
    gone = f"DROP PROCEDURE IF EXISTS {GROW_REDO_LOG}"
    return Step("Without --grow-redo-to the redo log is not to be grown.", (gone,))


def superfluous(request: Request) -> tuple[str, ...]:
    """Return the statements that take away the privilege that the procedures make unnecessary.

    Raises:
        Unsupported: no server that can be sampled.
    """
    privilege = family_of(request.version).write_privilege
    return tuple(revoke(privilege, one) for one in request.accounts)


_SCHEMA = f"CREATE DATABASE IF NOT EXISTS {SCHEMA}"


def _session(request: Request) -> Iterator[Step]:
    yield Step("The mode that the procedures keep.", (f"SET SESSION sql_mode = '{STRICT}'",))
    if request.replica:
        yield Step(
            "This server alone: nothing of what follows is a transaction of its own to its source.",
            ("SET SESSION sql_log_bin = 0",),
        )


def _oldest(family: Family, request: Request) -> bool:
    """Tell whether it is MySQL 5.6, which locks no account and knows no IF NOT EXISTS for one."""
    return family.name != "mariadb" and release_of(_whole(request.version)) < (5, 7)


def _definer(request: Request, family: Family) -> Iterator[str]:
    name = login(DEFINER_ACCOUNT)
    if _oldest(family, request):
        yield f"GRANT USAGE ON *.* TO {name} IDENTIFIED BY PASSWORD '{NO_PASSWORD}'"
    else:
        secret = literal(request.definer_password)
        yield f"CREATE USER IF NOT EXISTS {name} IDENTIFIED BY {secret} ACCOUNT LOCK"
        yield f"ALTER USER {name} ACCOUNT LOCK"
    yield grant(f"PROCESS, {family.write_privilege}", DEFINER_ACCOUNT)


def _reading(family: Family) -> str:
    about = "The daemon's account, which reads."
    if "clone" not in family.adapter.parts:
        return about
    return f"{about} With the clone plugin also: GRANT SELECT ON performance_schema.{CLONES}."


def _account(request: Request, family: Family, account: str) -> Iterator[str]:
    """Return the statements for one account.

    A new password is set once it is there for certain, and it is made with another one: a server that keeps
    old passwords from being used again would refuse the same one twice. Whether it has to use TLS is said
    again as well: to an account that is there the first statement means nothing.
    """
    name, release, oldest = login(account), release_of(_whole(request.version)), _oldest(family, request)
    renewed = request.renewed and not oldest
    first = request.definer_password if renewed else request.password
    tls = "" if is_local(account) else f" REQUIRE {'SSL' if request.encrypted else 'NONE'}"
    made = "GRANT USAGE ON *.* TO" if oldest else "CREATE USER IF NOT EXISTS"
    yield f"{made} {name} IDENTIFIED BY {literal(first)}{tls} WITH MAX_USER_CONNECTIONS {CONNECTIONS}"
    changes = f" IDENTIFIED BY {literal(request.password)}" if renewed else ""
    changes += "" if oldest else tls
    if family.name == "mariadb" or release >= LASTS:
        changes += " PASSWORD EXPIRE NEVER"
    if changes:
        yield f"ALTER USER {name}{changes}"
    yield grant("PROCESS", account)
    for table in tables(family, release):
        yield grant("SELECT", account, f"performance_schema.{table}")


def requires_tls(request: Request, account: str) -> bool:
    """Tell whether an account is let in over TLS alone: over a network its password must not go in clear."""
    return request.encrypted and not is_local(account)


def tables(family: Family, release: tuple[int, ...]) -> tuple[str, ...]:
    """Return the tables of the Performance Schema that are read and that not every account may read.

    Args:
        family: of the server.
        release: of the server.
    """
    read = [one.statement for one in family.adapter.parts.values()]
    if family.name != "mariadb":
        read.append(ERROR_LOG)
    named = {name for statement in read for name in _READS.findall(statement)}
    return tuple(sorted(one for one in named - {CLONES} if release >= SINCE.get(one, (0,))))


def _remade(name: str, made: str) -> tuple[str, ...]:
    """Return what makes a procedure anew; its definer needs EXECUTE as well."""
    return f"DROP PROCEDURE IF EXISTS {name}", made, grant("EXECUTE", DEFINER_ACCOUNT, f"PROCEDURE {name}")


def comment(words: str) -> str:
    """Return words as a comment of a script: what is in them ends neither the line nor the comment."""
    return f"-- {printable(words)}"


def script(parts: Iterator[Step]) -> str:
    """Return the parts as the client programs mysql and mariadb read them."""
    lines: list[str] = []
    for part in parts:
        lines.append(f"\n{comment(part.about)}")
        for statement in part.statements:
            if "\nBEGIN\n" in statement:
                lines += ["DELIMITER //", f"{statement} //", "DELIMITER ;"]
            else:
                lines.append(f"{statement};")
    return "\n".join(lines) + "\n"


DEFINER_ACCOUNT = f"{DEFINER}@localhost"

_RELEASE = f"IF @innobrim_lock = 1 THEN EXECUTE IMMEDIATE 'DO RELEASE_LOCK(''{SET_GLOBAL}'')'; END IF;"
_HANDLER = f"""\
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
    {_RELEASE}
    RESIGNAL;
  END;
"""
_LOCK = f"""\
    BEGIN
      DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET @innobrim_lock = NULL;
      EXECUTE IMMEDIATE 'SET @innobrim_lock = GET_LOCK(''{SET_GLOBAL}'', 0)';
    END;
    IF @innobrim_lock = 0 THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'another session is setting one of the two';
    END IF;
"""
_UNLOCK = f"    {_RELEASE}\n"


def set_global(bounds: Bounds, *, moves: bool) -> str:
    """Return the procedure that sets C or M; with NULL for both it says what it lets through.

    Neither variable is set past the other, so that no server changes the one that was not named: MySQL would
    cut the new value, MariaDB would move the other one. Between that check and the SET another session could
    change it. MySQL's cut stays within the bounds; where MariaDB would double M beyond them, a named lock
    keeps the account's sessions apart. Not so in MySQL 5.6: a session has one such lock there, and the
    daemon's is the writer's. A server that gives no named lock, as some builds in a Galera cluster, is
    written to without it: only a lock that another session has is a reason to refuse. It is asked for by a
    statement of its own, for such a build may refuse the very name as it reads the procedure.

    Args:
        bounds: what it lets through.
        moves: the server moves one variable where the other is set past it, as MariaDB does.
    """
    opened, closed = (_LOCK, _UNLOCK) if moves else ("", "")
    handler = _HANDLER if moves else ""
    return f"""\
CREATE DEFINER = {login(DEFINER_ACCOUNT)} PROCEDURE {SET_GLOBAL}(
  IN variable_name VARCHAR(64), IN pages BIGINT UNSIGNED
)
  SQL SECURITY DEFINER
  COMMENT 'InnoBrim writes through this; NULL, NULL: what it lets through'
BEGIN
  DECLARE lowest_max BIGINT UNSIGNED DEFAULT {bounds.lowest_io_capacity_max};
  DECLARE highest_max BIGINT UNSIGNED DEFAULT {bounds.highest_io_capacity_max};
  DECLARE lowest BIGINT UNSIGNED DEFAULT {CAPACITY_MINIMUM};
  DECLARE highest BIGINT UNSIGNED DEFAULT {bounds.highest_io_capacity};
  DECLARE refusal VARCHAR(128);
{handler}  IF variable_name IS NULL AND pages IS NULL THEN
    SELECT lowest_max, highest_max, highest;
  ELSEIF variable_name = 'innodb_io_capacity_max' THEN
{opened}    IF pages IS NULL OR pages NOT BETWEEN lowest_max AND highest_max THEN
      SET refusal = CONCAT('innodb_io_capacity_max = ', COALESCE(pages, 'NULL'),
        ': must be from ', lowest_max, ' to ', highest_max);
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = refusal;
    ELSEIF pages < @@GLOBAL.innodb_io_capacity THEN
      SET refusal = CONCAT('innodb_io_capacity_max = ', pages,
        ': must not be below innodb_io_capacity, now ', @@GLOBAL.innodb_io_capacity);
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = refusal;
    END IF;
    SET GLOBAL innodb_io_capacity_max = pages;
{closed}  ELSEIF variable_name = 'innodb_io_capacity' THEN
{opened}    IF pages IS NULL OR pages NOT BETWEEN lowest AND highest THEN
      SET refusal = CONCAT('innodb_io_capacity = ', COALESCE(pages, 'NULL'),
        ': must be from ', lowest, ' to ', highest);
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = refusal;
    ELSEIF pages > @@GLOBAL.innodb_io_capacity_max THEN
      SET refusal = CONCAT('innodb_io_capacity = ', pages,
        ': must not be above innodb_io_capacity_max, now ', @@GLOBAL.innodb_io_capacity_max);
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = refusal;
    END IF;
    SET GLOBAL innodb_io_capacity = pages;
{closed}  ELSE
    SIGNAL SQLSTATE '45000'
      SET MESSAGE_TEXT = 'only innodb_io_capacity and innodb_io_capacity_max can be set';
  END IF;
END"""


def set_low_water() -> str:
    """Return the procedure that sets MariaDB's low-water mark of dirty pages, to 0 or to 0.001."""
    return f"""\
CREATE DEFINER = {login(DEFINER_ACCOUNT)} PROCEDURE {SET_LOW_WATER}(
  IN above_zero TINYINT UNSIGNED
)
  SQL SECURITY DEFINER
  COMMENT 'InnoBrim sets the low-water mark through this: 0, or with 1 {percent(LOWEST_ABOVE_ZERO)}'
BEGIN
  IF above_zero = 1 THEN
    SET GLOBAL {LOW_WATER_MARK} = {percent(LOWEST_ABOVE_ZERO)};
  ELSEIF above_zero = 0 THEN
    SET GLOBAL {LOW_WATER_MARK} = 0;
  ELSE
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'only 0 and 1 are taken';
  END IF;
END"""


def grow_redo_log(variable: str, largest: int) -> str:
    """Return the procedure that sets the redo log's size, up to so many bytes; NULL has it say how many."""
    return f"""\
CREATE DEFINER = {login(DEFINER_ACCOUNT)} PROCEDURE {GROW_REDO_LOG}(
  IN bytes BIGINT UNSIGNED
)
  SQL SECURITY DEFINER
  COMMENT 'InnoBrim grows the redo log through this; NULL: up to which size'
BEGIN
  DECLARE largest BIGINT UNSIGNED DEFAULT {largest};
  DECLARE refusal VARCHAR(128);
  IF bytes IS NULL THEN
    SELECT largest;
  ELSEIF bytes > largest OR bytes <= @@GLOBAL.{variable} THEN
    SET refusal = CONCAT('{variable} = ', bytes,
      ': must be above ', @@GLOBAL.{variable}, ', as it is, and at most ', largest);
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = refusal;
  ELSE
    SET GLOBAL {variable} = bytes;
  END IF;
END"""


def enable_counters(counter_on: str) -> str:
    """Return the procedure that turns the counters on; where all are on it leaves the error log alone.

    Args:
        counter_on: condition for a counter that is on.
    """
    return f"""\
CREATE DEFINER = {login(DEFINER_ACCOUNT)} PROCEDURE {SCHEMA}.{ENABLES}()
  READS SQL DATA
  SQL SECURITY DEFINER
  COMMENT 'InnoBrim turns InnoDB counters on through this'
BEGIN
  IF EXISTS (
    SELECT * FROM information_schema.innodb_metrics
    WHERE subsystem IN ('log', 'recovery', 'buffer') AND NOT ({counter_on})
  ) THEN
    SET GLOBAL innodb_monitor_enable = 'module_log';
    SET GLOBAL innodb_monitor_enable = 'module_buffer';
  END IF;
END"""
