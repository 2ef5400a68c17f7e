"""The statements of ``innobrim setup-sql``, by family and topology."""

from __future__ import annotations

import re

import pytest

from tuner.records import LOW_WATER_MARK, Bounds
from tuner.servers.port import Unsupported
from tuner.servers.setupsql import Request, family_of, removal, script, setup, superfluous, tables

NEW, OLD, MARIADB = "9.7.4", "5.6.24", "11.8.6-MariaDB"
MODERN = ("8.0.16", "8.0.29", "8.0.46", "8.4.6", NEW, "26.7.0")
VERSIONS = (OLD, "5.7.44-48-log", *MODERN, "10.5.23-MariaDB", MARIADB)


def asked(version: str = NEW, **changes: object) -> Request:
    """Return what is to be made."""
    given: dict[str, object] = {
        "version": version,
        "accounts": ("innobrim@localhost",),
        "password": "it's \\ secret",
        "definer_password": "nobody's",
        "bounds": Bounds(400, 12_000, 6000),
    }
    return Request(**{**given, **changes})  # type: ignore[arg-type]  # a test's own table


def statements(version: str = NEW, **changes: object) -> list[str]:
    """Return all of them."""
    return [one for part in setup(asked(version, **changes)) for one in part.statements]


def procedure(version: str, name: str = "set_global") -> str:
    """Return the statement that makes one."""
    (made,) = [one for one in statements(version) if f"PROCEDURE innobrim.{name}(" in one]
    return made


@pytest.mark.parametrize("version", VERSIONS)
def test_the_account_reads_and_calls(version: str) -> None:
    """It is granted what this release has to read, two procedures, and nothing that sets anything."""
    granted = [one for one in statements(version) if one.startswith("GRANT") and "'innobrim'@" in one]
    shape = re.compile(r"GRANT (\w+) ON (?:PROCEDURE )?([\w.*]+)")
    privileges = {(found[1], found[2]) for one in granted if (found := shape.match(one))}
    release = tuple(int(one) for one in re.findall(r"\d+", version)[:3])
    read = tables(family_of(version), release)

    assert {("PROCESS", "*.*"), ("EXECUTE", "innobrim.set_global")} <= privileges
    assert {one for one, _ in privileges} <= {"PROCESS", "SELECT", "EXECUTE", "USAGE"}
    assert {on for one, on in privileges if one == "SELECT"} == {f"performance_schema.{one}" for one in read}
    assert "events_statements_summary_global_by_event_name" in read
    assert ("error_log" in read) == (version in {*MODERN} - {"8.0.16"})
    assert "clone_status" not in read  # it is there with its plugin alone


@pytest.mark.parametrize("version", VERSIONS)
def test_the_definer_writes_within_bounds_and_nobody_can_be_it(version: str) -> None:
    """Bounds are literals checked before anything is set; MySQL 5.6, which locks none, has a dead hash."""
    made, found = procedure(version), [one for one in statements(version) if "innobrim_definer" in one]
    privilege = next(one for one in found if one.startswith("GRANT PROCESS, "))

    for name, bound in (("lowest_max", 400), ("highest_max", 12_000), ("highest", 6000)):
        assert f"{name} BIGINT UNSIGNED DEFAULT {bound};" in made
    assert made.count("SET GLOBAL") == 2
    assert made.index("SIGNAL") < made.index("SET GLOBAL")
    assert "SQL SECURITY DEFINER" in made
    assert "PREPARE" not in made
    assert (f"PASSWORD '*{40 * '0'}'" if version == OLD else "ACCOUNT LOCK") in found[0]
    assert ("SYSTEM_VARIABLES_ADMIN" in privilege) == (version in MODERN) != ("SUPER" in privilege)


def test_mariadb_keeps_sessions_apart_where_it_gives_a_lock() -> None:
    """It is given back on every way out; only one that another session has refuses a write."""
    made = procedure(MARIADB)

    assert (made.count("GET_LOCK"), made.count("RELEASE_LOCK")) == (2, 3)
    assert not any("_LOCK(" in one for version in (NEW, OLD) for one in statements(version))
    assert re.findall(r"IF (@innobrim_lock .*) THEN\n\s+SIGNAL", made) == ["@innobrim_lock = 0"] * 2
    assert made.count("DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET @innobrim_lock = NULL") == 2
    assert not re.search(r"_LOCK\('(?!')", made), "the name is read only where it is carried out"


def test_a_replica_alone_leaves_no_transaction() -> None:
    """With --replica the binary log is off before the first statement that makes anything."""
    primary, replica = statements(), statements(replica=True)

    assert replica[1] == "SET SESSION sql_log_bin = 0"
    assert [one for one in replica if one != replica[1]] == primary


def test_the_direct_grant_is_the_second_choice() -> None:
    """With --direct there is no procedure and no definer; who wrote so until now is told how it goes."""
    found = statements(MARIADB, direct=True)

    assert not any("PROCEDURE" in one or "definer" in one for one in found)
    assert found[-1] == "GRANT SUPER ON *.* TO 'innobrim'@'localhost'"
    assert superfluous(asked(OLD)) == ("REVOKE SUPER ON *.* FROM 'innobrim'@'localhost'",)


@pytest.mark.parametrize("version", ["8.0.31-google", "8.0.37-azure", "8.0.36-u2-cloud"])
@pytest.mark.parametrize("direct", [False, True])
def test_where_the_provider_takes_no_set_global_the_account_reads(version: str, *, direct: bool) -> None:
    """No statement is one that its administrator may not run: the script would end there."""
    found = statements(version, direct=direct)

    assert any(one.startswith("CREATE USER IF NOT EXISTS 'innobrim'@") for one in found)
    assert "GRANT PROCESS ON *.* TO 'innobrim'@'localhost'" in found
    assert not any("PROCEDURE" in one or "definer" in one or "SYSTEM_VARIABLES" in one for one in found)


def test_several_accounts_share_the_procedures() -> None:
    """Daemons from several hosts get a grant each, as a procedure that is made anew takes all along."""
    found = statements(accounts=("innobrim@10.0.0.1", "innobrim@10.0.0.2"))

    assert sum("CREATE DEFINER" in one for one in found) == 2
    assert sum(one.startswith("GRANT EXECUTE") and "'innobrim'@" in one for one in found) == 4


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (NEW, "innodb_redo_log_capacity"),
        (MARIADB, "innodb_log_file_size"),
        *((one, "") for one in ("8.0.29", "8.0", "10.11-MariaDB", "10.5.23-MariaDB", OLD)),
    ],
)
def test_the_redo_log_is_grown_by_a_procedure_that_was_asked_for_alone(version: str, name: str) -> None:
    """Larger only and up to the size given, where the release can do that while it runs; else refused."""
    without = [one for one in statements(version) if "grow_redo_log" in one]
    if not name:
        assert without == []
        with pytest.raises(Unsupported, match=rf"{re.escape(version)} .*--grow-redo-to"):
            statements(version, grow_redo_to=2**31)
        return

    made = [one for one in statements(version, grow_redo_to=2**31) if "grow_redo_log" in one]
    assert without == ["DROP PROCEDURE IF EXISTS innobrim.grow_redo_log"]
    assert "GRANT EXECUTE ON PROCEDURE innobrim.grow_redo_log TO 'innobrim'@'localhost'" in made
    body = made[1]
    assert "largest BIGINT UNSIGNED DEFAULT 2147483648;" in body
    assert body.index(f"bytes > largest OR bytes <= @@GLOBAL.{name}") < body.index(
        f"SET GLOBAL {name} = bytes"
    )
    assert body.count("SET GLOBAL") == 1


def test_what_was_made_can_be_undone() -> None:
    """Every account and procedure is dropped again; the schema stays, and how it goes is said."""
    found = script(removal(asked()))

    for name in ("innobrim.set_global", "innobrim.enable_counters", "'innobrim'@'localhost'", "'innobrim_d"):
        assert re.search(rf"^DROP .*{re.escape(name)}", found, re.MULTILINE), name
    assert "DROP DATABASE innobrim once" in found
    assert "IF EXISTS 'innobrim'" not in script(removal(asked(OLD)))


@pytest.mark.parametrize("version", [NEW, OLD, MARIADB])
def test_a_script_is_what_the_client_program_reads(version: str) -> None:
    """The client programs, which end a statement at a delimiter, send these statements and no other."""
    found, lines, delimiter = [], [], ";"
    for line in script(setup(asked(version))).splitlines():
        if line.startswith("DELIMITER "):
            delimiter = line.split()[1]
        elif line.endswith(delimiter):
            found.append("\n".join([*lines, line.removesuffix(delimiter).rstrip()]))
            lines = []
        elif line and not line.startswith("--"):
            lines.append(line)

    assert lines == []
    assert found == statements(version)


@pytest.mark.parametrize("series", ["5.6", "8.0", "9.7", "26.10", "10.5-MariaDB", "10.11-MariaDB"])
def test_a_series_is_version_enough(series: str) -> None:
    """Who knows only the series is understood, with what its first supported release had."""
    assert statements(series)
    assert family_of(series).name == ("mariadb" if "MariaDB" in series else "mysql")


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("5.5.62", "too old"),
        ("8.0.mysql_aurora.3.05.2", "Aurora flushes no pages"),
        ("8.0.11-TiDB-v8.1.0", "TiDB speaks MySQL's protocol and has no InnoDB"),
        ("5.7.25-OceanBase-v4.2.1", "OceanBase .* has no InnoDB"),
        ("8.0.", "no release can be read"),
        ("8.0..46", "no release can be read"),
        ("10.4.34-MariaDB", "too old"),
        ("10.11.6", "write 10.11.6-MariaDB"),
        ("10.11", "write 10.11-MariaDB"),
        ("12.3.1", "write 12.3.1-MariaDB"),
        ("new", "no version"),
        ("", "no version"),
    ],
)
def test_a_version_that_is_none_is_refused(version: str, said: str) -> None:
    """What cannot be made is said with what would be right."""
    with pytest.raises(Unsupported, match=said):
        family_of(version)


@pytest.mark.parametrize("version", [*VERSIONS, "5.7.3", "5.7.4"])
def test_the_password_lasts_and_a_new_one_counts(version: str) -> None:
    """Where one can expire the daemon's does not; a new one is set by what no account of before escapes."""
    lasting = [one for one in statements(version) if "PASSWORD EXPIRE NEVER" in one]
    renewed = [one for one in statements(version, renewed=True) if r"IDENTIFIED BY 'it''s \\ secret'" in one]

    assert len(lasting) == (0 if version in {OLD, "5.7.3"} else 1)
    assert all(one.startswith("ALTER USER 'innobrim'@'localhost' ") for one in lasting)
    assert len(renewed) == 1
    assert renewed[0].startswith("GRANT USAGE" if version == OLD else "ALTER USER 'innobrim'@'localhost' ")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("renewed", [False, True])
@pytest.mark.parametrize("encrypted", [False, True])
def test_an_account_for_another_machine_is_let_in_as_is_said(
    version: str, *, renewed: bool, encrypted: bool
) -> None:
    """Over TLS alone, or in any way: the last word is one that an account of before obeys."""
    far: dict[str, object] = {"accounts": ("innobrim@10.0.0.5", "innobrim@localhost")}
    found = statements(version, renewed=renewed, encrypted=encrypted, **far)
    word = f" REQUIRE {'SSL' if encrypted else 'NONE'} "
    there = [one for one in found if "'innobrim'@'10.0.0.5'" in one]
    words = [one for one in there if word in f"{one} " and not one.startswith("CREATE")]

    assert len(words) == 1
    assert words[0].startswith("GRANT USAGE" if version == OLD else "ALTER USER")
    assert all(word in f"{one} " for one in there if " IDENTIFIED BY " in one)
    assert not any("REQUIRE" in one for one in found if "'innobrim'@'localhost'" in one)


def test_the_low_water_marks_procedure_is_made_where_it_is_asked_for() -> None:
    """It is made on MariaDB with --low-water-mark, taken away without, and there is none elsewhere."""
    made, without = statements(MARIADB, low_water=True), statements(MARIADB)
    text = next(one for one in made if one.startswith("CREATE DEFINER") and "set_low_water" in one)
    granted = "GRANT EXECUTE ON PROCEDURE innobrim.set_low_water_mark TO 'innobrim'"
    gone = "DROP PROCEDURE IF EXISTS innobrim.set_low_water_mark"

    assert re.findall(rf"SET GLOBAL {LOW_WATER_MARK} = (.*);", text) == ["0.001", "0"]
    assert any(one.startswith(granted) for one in made)
    assert [one for one in without if "set_low_water" in one] == [gone]
    assert not any("set_low_water" in one for one in statements(NEW, low_water=True))
    assert gone in [one for part in removal(asked(MARIADB)) for one in part.statements]
