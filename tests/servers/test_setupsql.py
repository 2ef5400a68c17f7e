"""The statements of ``innobrim setup-sql``, by family and topology."""

from __future__ import annotations

import re

import pytest

from tuner.records import LOW_WATER_MARK, Bounds
from tuner.servers.families import recognise
from tuner.servers.port import Unsupported
from tuner.servers.setupsql import Request, family_of, removal, script, setup, superfluous, tables

VERSIONS = (
    "5.6.24",
    "5.7.44-48-log",
    "8.0.16",
    "8.0.29",
    "8.0.46",
    "8.4.6",
    "9.7.4",
    "26.7.0",
    "10.5.23-MariaDB",
    "11.8.6-MariaDB",
)
NEW, OLD, MARIADB = "9.7.4", "5.6.24", "11.8.6-MariaDB"


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


@pytest.mark.parametrize("version", VERSIONS)
def test_the_account_reads_and_calls(version: str) -> None:
    """On every family the account is granted what is read, two procedures, and nothing that sets anything."""
    granted = [one for one in statements(version) if one.startswith("GRANT") and "'innobrim'@" in one]
    shape = re.compile(r"GRANT (\w+) ON (?:PROCEDURE )?([\w.*]+)")
    privileges = {(found[1], found[2]) for one in granted if (found := shape.match(one))}

    assert {("PROCESS", "*.*"), ("EXECUTE", "innobrim.set_global")} <= privileges
    assert {one for one, _ in privileges} <= {"PROCESS", "SELECT", "EXECUTE", "USAGE"}
    assert all(on.startswith("performance_schema.") for one, on in privileges if one == "SELECT")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_bounds_are_literals_of_the_procedure(version: str) -> None:
    """The bounds are numbers in the text, checked before anything is set, and refused with their words."""
    (made,) = [one for one in statements(version) if "PROCEDURE innobrim.set_global(" in one]

    assert "lowest_max BIGINT UNSIGNED DEFAULT 400;" in made
    assert "highest_max BIGINT UNSIGNED DEFAULT 12000;" in made
    assert "highest BIGINT UNSIGNED DEFAULT 6000;" in made
    assert made.count("SET GLOBAL") == 2
    assert made.index("SIGNAL") < made.index("SET GLOBAL")
    assert "SQL SECURITY DEFINER" in made
    assert "PREPARE" not in made


@pytest.mark.parametrize("version", VERSIONS)
def test_nobody_can_log_in_as_the_definer(version: str) -> None:
    """The definer is locked; MySQL 5.6 locks no account, and gives it a hash that no password has."""
    found = [one for one in statements(version) if "innobrim_definer" in one]
    locked = [one for one in found if "ACCOUNT LOCK" in one or f"'*{40 * '0'}'" in one]

    assert locked[0] == found[0]
    assert ("PASSWORD '*000" in locked[0]) == (version == OLD)


def test_each_family_has_its_privilege() -> None:
    """The definer has the privilege to write that its family knows, and PROCESS for the counters."""
    found = {
        one: next(line for line in statements(one) if line.startswith("GRANT PROCESS, ")) for one in VERSIONS
    }

    assert {one for one, line in found.items() if "SYSTEM_VARIABLES_ADMIN" in line} == {
        one for one in VERSIONS if one.startswith(("8.", "9.", "26."))
    }
    assert all(("SUPER" in line) != ("SYSTEM_VARIABLES_ADMIN" in line) for line in found.values())


def test_mariadb_keeps_sessions_apart() -> None:
    """Only where one variable moves the other there is a lock, and it is given back on every way out."""
    (made,) = [one for one in statements(MARIADB) if "PROCEDURE innobrim.set_global(" in one]

    assert made.count("GET_LOCK") == 2
    assert made.count("RELEASE_LOCK") == 3
    assert not any("_LOCK(" in one for version in (NEW, OLD) for one in statements(version))


def test_a_server_that_gives_no_lock_is_written_to_without() -> None:
    """Only a lock that another session has refuses a write; one that is refused, or NULL, is done without."""
    (made,) = [one for one in statements(MARIADB) if "PROCEDURE innobrim.set_global(" in one]
    refusals = re.findall(r"IF (@innobrim_lock .*) THEN\n\s+SIGNAL", made)

    assert refusals == ["@innobrim_lock = 0"] * 2
    assert made.count("DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET @innobrim_lock = NULL") == 2
    assert not re.search(r"_LOCK\('(?!')", made), "the name is read only where it is carried out"


def test_a_replica_alone_leaves_no_transaction() -> None:
    """With --replica the binary log is off before the first statement that makes anything."""
    primary, replica = statements(), statements(replica=True)

    assert replica[1] == "SET SESSION sql_log_bin = 0"
    assert [one for one in replica if one != replica[1]] == primary


def test_the_direct_grant_is_the_second_choice() -> None:
    """With --direct there is no procedure and no definer, and the privilege is the family's."""
    found = statements(MARIADB, direct=True)

    assert not any("PROCEDURE" in one or "definer" in one for one in found)
    assert found[-1] == "GRANT SUPER ON *.* TO 'innobrim'@'localhost'"


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


@pytest.mark.parametrize("version", VERSIONS)
def test_only_tables_that_are_read_and_there_are_granted(version: str) -> None:
    """Each table of the Performance Schema is one that a statement of the daemon's reads, on this release."""
    release = tuple(int(one) for one in re.findall(r"\d+", version)[:3])
    found = tables(family_of(version), release)

    assert "events_statements_summary_global_by_event_name" in found
    assert ("error_log" in found) == (version in {"8.0.29", "8.0.46", "8.4.6", "9.7.4", "26.7.0"})
    assert "clone_status" not in found  # it is there with its plugin alone
    assert not any("history" in one for one in found)


def test_secrets_are_quoted() -> None:
    """A password with quote and backslash is the same one on the server."""
    assert any(r"IDENTIFIED BY 'it''s \\ secret'" in one for one in statements())


def test_what_was_made_can_be_undone() -> None:
    """Every account and procedure is dropped again; the schema stays, and how it goes is said."""
    found = script(removal(asked()))

    for name in (
        "innobrim.set_global",
        "innobrim.enable_counters",
        "'innobrim'@'localhost'",
        "'innobrim_definer'@",
    ):
        assert re.search(rf"^DROP .*{re.escape(name)}", found, re.MULTILINE), name
    assert "DROP DATABASE innobrim once" in found
    assert "IF EXISTS 'innobrim'" not in script(removal(asked(OLD)))


def test_the_privilege_of_before_has_its_revoke() -> None:
    """Who wrote with a privilege until now is told how it goes."""
    assert superfluous(asked(OLD)) == ("REVOKE SUPER ON *.* FROM 'innobrim'@'localhost'",)


@pytest.mark.parametrize("version", [NEW, OLD, MARIADB])
def test_a_script_is_what_the_client_program_reads(version: str) -> None:
    """The client programs, which end a statement at a delimiter, send these statements and no other."""
    assert _sent(script(setup(asked(version)))) == statements(version)


def _sent(text: str) -> list[str]:
    """Return what the client program makes of a script."""
    found, lines, delimiter = [], [], ";"
    for line in text.splitlines():
        if line.startswith("DELIMITER "):
            delimiter = line.split()[1]
        elif line.endswith(delimiter):
            found.append("\n".join([*lines, line.removesuffix(delimiter).rstrip()]))
            lines = []
        elif line and not line.startswith("--"):
            lines.append(line)
    assert lines == []
    return found


@pytest.mark.parametrize(
    ("version", "family"),
    [
        ("5.6", "mysql"),
        ("8.0", "mysql"),
        ("9.7", "mysql"),
        ("26.10", "mysql"),
        ("10.5-MariaDB", "mariadb"),
        ("10.11-MariaDB", "mariadb"),
        ("11.8-MariaDB", "mariadb"),
    ],
)
def test_a_series_is_version_enough(version: str, family: str) -> None:
    """Who knows only the series is understood, with what its first supported release had."""
    assert statements(version)
    assert family_of(version).name == family


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


def test_a_version_alone_tells_the_family() -> None:
    """By its version a server is taken for what its variables would say, as far as statements go."""
    variables = {
        "version": NEW,
        "innodb_page_size": "16384",
        "innodb_redo_log_capacity": "1",
        "super_read_only": "0",
    }
    by_both, by_version = recognise(variables), family_of(NEW)

    assert type(by_both.adapter) is type(by_version.adapter)
    assert by_both.write_privilege == by_version.write_privilege


@pytest.mark.parametrize("version", [*VERSIONS, "5.7.3", "5.7.4"])
def test_the_password_lasts(version: str) -> None:
    """Wherever a password can expire by itself the daemon's does not: it would be locked out one day."""
    found = [one for one in statements(version) if "PASSWORD EXPIRE NEVER" in one]

    assert len(found) == (0 if version in {OLD, "5.7.3"} else 1)
    assert all(one.startswith("ALTER USER 'innobrim'@'localhost' ") for one in found)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_new_password_is_set_once_the_account_is_there(version: str) -> None:
    """It is set by the one statement that no account of before escapes; MySQL 5.6 has GRANT for both."""
    found = [one for one in statements(version, renewed=True) if "IDENTIFIED BY 'it''s" in one]

    assert len(found) == 1
    assert found[0].startswith("GRANT USAGE" if version == OLD else "ALTER USER 'innobrim'@'localhost' ")


@pytest.mark.parametrize("version", VERSIONS)
def test_an_account_for_another_machine_requires_tls(version: str) -> None:
    """Made or given a new password, it is let in over TLS alone; without the switch in any way, and here."""
    far: dict[str, object] = {"accounts": ("innobrim@%",)}
    found = statements(version, renewed=True, encrypted=True, **far)
    passwords = [one for one in found if "'innobrim'@'%' IDENTIFIED" in one]

    assert len(passwords) == (1 if version == OLD else 2)
    assert all("' REQUIRE SSL" in one for one in passwords)
    assert not any("REQUIRE SSL" in one for one in statements(version, encrypted=False, **far))
    assert not any("REQUIRE" in one for one in statements(version, encrypted=True))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("renewed", [False, True])
@pytest.mark.parametrize("encrypted", [False, True])
def test_an_account_that_is_there_is_let_in_as_is_said(
    version: str, *, renewed: bool, encrypted: bool
) -> None:
    """What an account of before keeps is not what is asked for: the last word on TLS is one that it obeys."""
    far: dict[str, object] = {"accounts": ("innobrim@10.0.0.5", "innobrim@localhost")}
    found = statements(version, renewed=renewed, encrypted=encrypted, **far)
    obeyed = [one for one in found if "'innobrim'@'10.0.0.5'" in one and not one.startswith("CREATE")]
    words = [one for one in obeyed if f" REQUIRE {'SSL' if encrypted else 'NONE'} " in f"{one} "]

    assert len(words) == 1
    assert words[0].startswith("GRANT USAGE" if version == OLD else "ALTER USER")
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
