"""The text of the procedures through which the daemon's account writes."""

from __future__ import annotations

from tuner.records import (
    CAPACITY_MINIMUM,
    LOW_WATER_MARK,
    LOWEST_ABOVE_ZERO,
    SET_GLOBAL,
    SET_LOW_WATER,
    Bounds,
    login,
    percent,
)
from tuner.servers.procedure import DEFINER, ENABLES, SCHEMA

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
