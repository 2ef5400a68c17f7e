"""What somebody with the daemon's password might try, and what the server says to it.

``{admin}`` is the number of another account's session, ``{user}`` the stolen account's name.
"""

from __future__ import annotations

from dataclasses import dataclass

from lab.servers.spec import MARIADB, MYSQL, MYSQL_56, Kind

MAY_NOT = frozenset({1044, 1045, 1095, 1142, 1143, 1227, 1370, 1410})
"""Access to a schema, server, table, column, operation, routine denied; another's session; no GRANT."""

BEYOND = frozenset({1264, 1318, 1366, 1406, 1644})
"""No such number, too few arguments, no number, too long; the procedure's own refusal."""


@dataclass(frozen=True, slots=True)
class Try:
    """One statement.

    Attributes:
        statement: as it is sent.
        on: where it is a statement at all.
    """

    statement: str
    on: tuple[Kind, ...] = (MYSQL, MYSQL_56, MARIADB)


ROWS = (
    Try("INSERT INTO innobrim_lab.precious VALUES (2, 'theirs')"),
    Try("REPLACE INTO innobrim_lab.precious VALUES (1, 'theirs')"),
    Try("UPDATE innobrim_lab.precious SET secret = 'theirs'"),
    Try("DELETE FROM innobrim_lab.precious"),
    Try("TRUNCATE TABLE innobrim_lab.precious"),
    Try("LOAD DATA INFILE '/etc/passwd' INTO TABLE innobrim_lab.precious"),
    Try("LOCK TABLES innobrim_lab.precious WRITE"),
    Try("DELETE FROM mysql.user"),
    Try("INSERT INTO mysql.db (host, db, user) VALUES ('%', '%', '{user}')"),
    Try("UPDATE performance_schema.setup_consumers SET enabled = 'NO'"),
    Try("TRUNCATE TABLE performance_schema.events_statements_summary_global_by_event_name"),
)

DEFINITIONS = (
    Try("CREATE DATABASE stolen"),
    Try("DROP DATABASE innobrim_lab"),
    Try("DROP DATABASE innobrim"),
    Try("ALTER DATABASE innobrim_lab CHARACTER SET latin1"),
    Try("CREATE TABLE innobrim_lab.stolen (id INT)"),
    Try("CREATE TABLE innobrim.stolen (id INT)"),
    Try("CREATE TEMPORARY TABLE innobrim_lab.stolen (id INT)"),
    Try("ALTER TABLE innobrim_lab.precious ADD COLUMN stolen INT"),
    Try("RENAME TABLE innobrim_lab.precious TO innobrim_lab.stolen"),
    Try("DROP TABLE innobrim_lab.precious"),
    Try("CREATE INDEX stolen ON innobrim_lab.precious (id)"),
    Try("ANALYZE TABLE innobrim_lab.precious"),
    Try("CREATE VIEW innobrim.stolen AS SELECT 1"),
    Try("CREATE TRIGGER innobrim_lab.stolen BEFORE INSERT ON innobrim_lab.precious FOR EACH ROW SET @a = 1"),
    Try("CREATE EVENT innobrim.stolen ON SCHEDULE EVERY 1 SECOND DO SET @a = 1"),
    Try("CREATE PROCEDURE innobrim.stolen() SET @a = 1"),
    Try("CREATE FUNCTION innobrim.stolen() RETURNS INT DETERMINISTIC RETURN 1"),
    Try("CREATE FUNCTION stolen RETURNS INTEGER SONAME 'stolen.so'"),
    Try("ALTER PROCEDURE innobrim.set_global SQL SECURITY INVOKER"),
    Try("DROP PROCEDURE innobrim.set_global"),
    Try("INSTALL PLUGIN stolen SONAME 'stolen.so'"),
    Try("CREATE SERVER stolen FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h')"),
)

GLOBALS = (
    Try("SET GLOBAL innodb_io_capacity = 300"),
    Try("SET GLOBAL innodb_io_capacity_max = 600"),
    Try("SET @@GLOBAL.innodb_io_capacity_max = 4000000"),
    Try("SET GLOBAL innodb_monitor_enable = 'all'"),
    Try("SET GLOBAL innodb_monitor_disable = 'all'"),
    Try("SET GLOBAL innodb_monitor_reset_all = 'all'"),
    Try("SET GLOBAL innodb_flush_log_at_trx_commit = 0"),
    Try("SET GLOBAL innodb_adaptive_flushing = OFF"),
    Try("SET GLOBAL innodb_max_dirty_pages_pct = 1"),
    Try("SET GLOBAL innodb_fast_shutdown = 2"),
    Try("SET GLOBAL max_connections = 10"),
    Try("SET GLOBAL read_only = ON"),
    Try("SET GLOBAL general_log = ON"),
    Try("SET GLOBAL sql_mode = ''"),
    Try("SET GLOBAL wait_timeout = 1"),
    Try("SET GLOBAL init_connect = 'SET @a = 1'"),
    Try("SET SESSION sql_log_bin = 0"),
    Try("SET PERSIST innodb_io_capacity = 300", (MYSQL,)),
    Try("SET GLOBAL innodb_redo_log_capacity = 8388608", (MYSQL,)),
    Try("BEGIN NOT ATOMIC SET GLOBAL innodb_io_capacity = 300; END", (MARIADB,)),
)

GRANTS = (
    Try("GRANT SELECT ON *.* TO '{user}'@'%'"),
    Try("GRANT SUPER ON *.* TO '{user}'@'%'"),
    Try("GRANT EXECUTE ON PROCEDURE innobrim.set_global TO 'lab_admin'@'%'"),
    Try("GRANT PROCESS ON *.* TO 'lab_admin'@'%' WITH GRANT OPTION"),
    Try("REVOKE ALL PRIVILEGES, GRANT OPTION FROM 'lab_admin'@'%'"),
    Try("CREATE USER 'stolen'@'%'"),
    Try("DROP USER 'lab_admin'@'%'"),
    Try("RENAME USER 'lab_admin'@'%' TO 'stolen'@'%'"),
    Try("SET PASSWORD FOR 'innobrim_definer'@'localhost' = 'known'", (MYSQL,)),
    Try("SET PASSWORD FOR 'innobrim_definer'@'localhost' = PASSWORD('known')", (MYSQL_56, MARIADB)),
    Try("ALTER USER 'innobrim_definer'@'localhost' ACCOUNT UNLOCK", (MYSQL, MARIADB)),
    Try("ALTER USER 'lab_admin'@'%' PASSWORD EXPIRE"),
    Try("CREATE ROLE stolen", (MYSQL, MARIADB)),
)

FLUSHES = (
    Try("FLUSH TABLES"),
    Try("FLUSH TABLES WITH READ LOCK"),
    Try("FLUSH PRIVILEGES"),
    Try("FLUSH LOGS"),
    Try("FLUSH STATUS", (MYSQL, MYSQL_56)),
    Try("PURGE BINARY LOGS BEFORE NOW()"),
    Try("RESET MASTER", (MYSQL_56, MARIADB)),
    Try("RESET BINARY LOGS AND GTIDS", (MYSQL,)),
    Try("RESET QUERY CACHE", (MYSQL_56, MARIADB)),
    Try("LOCK INSTANCE FOR BACKUP", (MYSQL,)),
    Try("BACKUP STAGE START", (MARIADB,)),
)

ENDS = (
    Try("SHUTDOWN", (MYSQL, MARIADB)),
    Try("RESTART", (MYSQL,)),
    Try("ALTER INSTANCE DISABLE INNODB REDO_LOG", (MYSQL,)),
    Try("ALTER INSTANCE ROTATE INNODB MASTER KEY", (MYSQL,)),
    Try("STOP SLAVE", (MARIADB,)),
    Try("STOP REPLICA", (MYSQL,)),
    Try("CHANGE MASTER TO MASTER_HOST = 'stolen'", (MYSQL_56, MARIADB)),
    Try("CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'stolen'", (MYSQL,)),
    Try("KILL {admin}"),
    Try("KILL QUERY {admin}"),
)

READS = (
    Try("SELECT * FROM innobrim_lab.precious"),
    Try("SELECT COUNT(*) FROM innobrim_lab.precious"),
    Try("HANDLER innobrim_lab.precious OPEN"),
    Try("USE innobrim_lab"),
    Try("SHOW TABLES FROM innobrim_lab", (MYSQL,)),
    Try("SHOW CREATE TABLE innobrim_lab.precious"),
    Try("SHOW COLUMNS FROM innobrim_lab.precious"),
    Try("SELECT 1 INTO OUTFILE '/tmp/stolen'"),
    Try("SELECT 1 INTO DUMPFILE '/tmp/stolen'"),
    Try("SELECT * FROM mysql.user"),
    Try("SELECT * FROM mysql.db"),
    Try("SHOW GRANTS FOR 'lab_admin'@'%'"),
    Try("SELECT sql_text FROM performance_schema.events_statements_history"),
)

BOUNDS = (
    Try("CALL innobrim.set_global('innodb_io_capacity_max', 199)"),
    Try("CALL innobrim.set_global('innodb_io_capacity_max', 20001)"),
    Try("CALL innobrim.set_global('innodb_io_capacity_max', 0)"),
    Try("CALL innobrim.set_global('innodb_io_capacity_max', -1)"),
    Try("CALL innobrim.set_global('innodb_io_capacity_max', NULL)"),
    Try("CALL innobrim.set_global('innodb_io_capacity_max', 'all')"),
    Try("CALL innobrim.set_global('innodb_io_capacity_max', 18446744073709551615)"),
    Try("CALL innobrim.set_global('innodb_io_capacity_max', 1e30)"),
    Try("CALL innobrim.set_global('innodb_io_capacity_max', 999)"),  # below C, which is 1000
    Try("CALL innobrim.set_global('innodb_io_capacity', 99)"),
    Try("CALL innobrim.set_global('innodb_io_capacity', 2001)"),  # above M, which is 2000
    Try("CALL innobrim.set_global('innodb_io_capacity', 10001)"),
    Try("CALL innobrim.set_global('innodb_io_capacity', NULL)"),
    Try("CALL innobrim.set_global('innodb_flush_log_at_trx_commit', 300)"),
    Try("CALL innobrim.set_global('max_connections', 300)"),
    Try("CALL innobrim.set_global(NULL, 300)"),
    Try("CALL innobrim.set_global('', 300)"),
    Try("CALL innobrim.set_global('innodb_io_capacity = 300, GLOBAL read_only', 1)"),
    Try("CALL innobrim.set_global('innodb_io_capacity_max')"),
)

ATTEMPTS = {
    "rows": (ROWS, MAY_NOT),
    "definitions": (DEFINITIONS, MAY_NOT),
    "global variables": (GLOBALS, MAY_NOT),
    "grants": (GRANTS, MAY_NOT),
    "flushes": (FLUSHES, MAY_NOT),
    "the server's end, others' sessions": (ENDS, MAY_NOT),
    "tables and files": (READS, MAY_NOT),
    "the procedure out of bounds": (BOUNDS, BEYOND),
}
"""By what they are after: the statements, and the errors that refuse them."""

EVERYBODY = (
    Try("SET SESSION sort_buffer_size = 1048576"),
    Try("SET SESSION sql_mode = ''"),
    Try("SET NAMES utf8mb4"),
    Try("SET @stolen = REPEAT('x', 1000)"),
    Try("SELECT SLEEP(0.01)"),
    Try("SELECT BENCHMARK(10, 1 + 1)"),
    Try("SELECT GET_LOCK('innobrim.stolen', 0)"),
    Try("SELECT RELEASE_LOCK('innobrim.stolen')"),
    Try("SHOW GLOBAL VARIABLES LIKE 'innodb%'"),
    Try("SHOW GLOBAL STATUS LIKE 'Innodb%'"),
    Try("SHOW GRANTS"),
    Try("START TRANSACTION"),
    Try("ROLLBACK"),
    Try("DO 1"),
)
"""What docs/security-model.md says of every account."""

ITS_OWN = (
    Try("SHOW FULL PROCESSLIST"),
    Try("SHOW ENGINE INNODB STATUS"),
    Try("SELECT COUNT(*) FROM information_schema.innodb_metrics"),
    Try("SELECT COUNT(*) FROM performance_schema.events_statements_summary_global_by_event_name"),
    Try("CALL innobrim.set_global(NULL, NULL)"),
    Try("CALL innobrim.set_global('innodb_io_capacity_max', 2200)"),
    Try("CALL innobrim.set_global('innodb_io_capacity', 1100)"),
    Try("CALL innobrim.set_global('innodb_io_capacity', 1000)"),
    Try("CALL innobrim.set_global('innodb_io_capacity_max', 2000)"),
    Try("CALL innobrim.enable_counters()"),
)
"""What that page says of this account."""


def of(tries: tuple[Try, ...], kind: Kind) -> list[str]:
    """Return the statements that a server of this kind knows."""
    return [one.statement for one in tries if kind in one.on]
