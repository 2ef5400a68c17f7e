"""``innobrim setup-sql``: what is printed and asked back, and that nothing it is told becomes a statement."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.support import ended, free_port, innobrim
from tests.servers.injected import EVIL, INJECTED
from tests.servers.sockets.mysqld import Mysqld
from tuner.cli.setup_sql import drawn
from tuner.config.optionfile import read_options

SECRET = "told-before"  # noqa: S105 - made up
VERSION = ("--server-version", "9.7.4")
ELSEWHERE = (*VERSION, "--account", "innobrim@10.0.0.5")


def call(*words: str, password: str | None = SECRET, **environ: str | None) -> Result:
    """Run the command, with a password that the daemon is configured with."""
    given = {"INNOBRIM_PASSWORD": password, "MYSQL_UNIX_PORT": None, **environ}
    return innobrim("setup-sql", *words, **given)


def refused(done: Result, *said: str) -> bool:
    """Tell whether it printed no script, and why on lines that a terminal can be shown."""
    plain = all(line.isprintable() for line in done.stderr.split("\n"))
    return done.exit_code == 2 and not done.stdout and plain and all(one in done.stderr for one in said)


def option_file(folder: Path, content: str | bytes) -> Path:
    """Write an option file that its owner alone can read."""
    file = folder / "my.cnf"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    file.chmod(0o600)
    return file


@pytest.fixture
def mysqld(tmp_path: Path) -> Iterator[Mysqld]:
    """Return a server on a unix socket."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "m.sock"))
        listener.listen()
        server = Mysqld(listener)
        yield server
        server.end()


def says(mysqld: Mysqld, version: str, basedir: str = "/usr/") -> None:
    """Have a server answer with a version, and with where it is installed."""
    mysqld.answers = lambda asked: [(version,)] if asked == "SELECT VERSION()" else [("basedir", basedir)]


def test_a_script_for_a_server_that_is_not_there_yet() -> None:
    """With the version nothing is asked, and the SQL is on stdout; the password is the daemon's."""
    done = call(*VERSION)

    ended(
        done,
        0,
        "CREATE USER IF NOT EXISTS 'innobrim'@'localhost'",
        "DEFAULT 20000;",
        f"IDENTIFIED BY '{SECRET}'",
        "-- REVOKE SYSTEM_VARIABLES_ADMIN ON *.* FROM 'innobrim'@'localhost';",
    )
    assert (done.stdout.partition(":")[0][:20], done.stderr) == ("-- InnoBrim on MySQL", "")


def test_the_bounds_are_the_configurations(tmp_path: Path) -> None:
    """What the procedure lets through is what the loop would keep to, with C by the ratio."""
    config = tmp_path / "innobrim.toml"
    config.write_text("[loop]\nmin_io_capacity_max = 600\nmax_io_capacity_max = 8000\nratio = 2\n")
    found = json.loads(call(*VERSION, "--config", str(config), "--json").stdout)["bounds"]

    assert found == {
        "lowest_io_capacity_max": 600,
        "highest_io_capacity_max": 8000,
        "highest_io_capacity": 4000,
    }


def test_a_providers_server_gets_an_account_that_reads() -> None:
    """Where SET GLOBAL is refused to everybody the head says so, and no bounds or privileges are promised."""
    words = ("--server-version", "8.0.31-google", "--account", "innobrim@%")
    done = call(*words)

    assert "an account that reads, as Google Cloud SQL takes no SET GLOBAL" in done.stdout
    assert "SYSTEM_VARIABLES_ADMIN" not in done.stdout
    assert json.loads(call(*words, "--json").stdout)["bounds"] is None


def test_a_managed_server_whose_version_says_nothing_is_told_all_the_same(
    mysqld: Mysqld, tmp_path: Path
) -> None:
    """Amazon RDS by what the server says of itself, or by its address: no script that ends half way."""
    says(mysqld, "8.0.40", "/rdsdbbin/mysql-8.0.40.R1/")
    there = call("--socket", str(tmp_path / "m.sock"), "--account", "innobrim@%")
    named = ("--host", "db1.c1.eu-west-1.rds.amazonaws.com", "--server-version", "8.0.40")
    before = call(*named, "--account", "innobrim@%")

    for done in (there, before):
        assert "an account that reads, as Amazon RDS takes no SET GLOBAL" in done.stdout
        assert "PROCEDURE" not in done.stdout


def test_a_server_at_a_socket_gets_the_script_of_ones_own(tmp_path: Path) -> None:
    """A provider's host in the configuration, which the socket overrules, makes no managed server of it."""
    config = tmp_path / "innobrim.toml"
    config.write_text('[server]\nhost = "db1.c1.eu-west-1.rds.amazonaws.com"\n')
    words = ("--config", str(config), "--socket", str(tmp_path / "m.sock"))
    done = call(*words, "--server-version", "8.0.40")

    assert "writes through a procedure alone" in done.stdout, done.stderr


def test_a_managed_server_gets_no_account_that_nobody_can_use() -> None:
    """Nobody comes there from its own machine, and none of its accounts leaves the binary log out."""
    words = ("--server-version", "8.0.31-google")

    assert refused(call(*words), "Google Cloud SQL", "--account innobrim@ADDRESS")
    assert refused(call(*words, "--account", "innobrim@%", "--replica"), "--replica", "on the primary")
    assert call(*words, "--remove").exit_code == 0


def test_no_account_without_a_password() -> None:
    """Without one nothing is printed: an account that anybody could use is worse than none."""
    assert refused(call(*VERSION, password=None), "--new-password FILE")


@pytest.mark.parametrize("named", [False, True], ids=["by the option", "in the configuration too"])
def test_a_new_password_goes_into_a_file_for_the_daemon(tmp_path: Path, *, named: bool) -> None:
    """It is the account's, new or old, and written for its owner alone, never over a file that is there."""
    file, config = tmp_path / "client.cnf", tmp_path / "innobrim.toml"
    config.write_text(f'[server]\ndefaults_file = "{file}"\n' if named else "")
    words = (*VERSION, "--config", str(config))
    done = call(*words, "--new-password", str(file), password=None)
    options = read_options(file.read_text(encoding="utf-8"), "client")
    alter = f"ALTER USER 'innobrim'@'localhost' IDENTIFIED BY '{options['password']}' PASSWORD EXPIRE NEVER;"

    assert alter in done.stdout
    assert done.stdout.count(options["password"]) == 1
    assert (options["user"], file.stat().st_mode & 0o777) == ("innobrim", 0o600)
    again = call(*words, "--new-password", str(file), password=None)
    assert refused(again, f"from {file} already: leave" if named else "not there yet")
    assert options["password"] not in again.stderr
    assert read_options(file.read_text(encoding="utf-8"), "client") == options
    if named:
        assert f"IDENTIFIED BY '{options['password']}'" in call(*words, password=None).stdout


def test_the_file_is_for_the_account_that_is_made(tmp_path: Path) -> None:
    """It logs in as the account that got the password, whoever asks; one file serves no two users."""
    file = tmp_path / "client.cnf"
    words = (*VERSION, "--user", "root", "--new-password", str(file), "--account", "io@localhost")

    assert refused(call(*words, "--account", "other@localhost", password=None), "io, other")
    assert call(*words, password=None).exit_code == 0
    assert read_options(file.read_text(encoding="utf-8"), "client")["user"] == "io"


def test_no_new_password_beside_one_that_would_overrule_it(tmp_path: Path) -> None:
    """A password from the environment is taken before the file's: nothing is made, its source is named."""
    file = tmp_path / "client.cnf"

    assert refused(call(*VERSION, "--new-password", str(file)), "INNOBRIM_PASSWORD")
    assert not file.exists()


def test_a_drawn_password_is_another_one_each_time_and_no_policy_refuses_it() -> None:
    """Long, with letters of both cases, a digit and a sign, and nothing that a shell or SQL would read."""
    first, second = drawn(), drawn()

    assert first != second
    assert len(first) > 40
    assert all(re.search(one, first) for one in ("[a-z]", "[A-Z]", r"\d", "[-_]"))
    assert re.fullmatch(r"[\w-]+", first)


@pytest.mark.parametrize(
    "account",
    ["innobrim", "innobrim@", "innobrim_definer@localhost", "'innobrim_definer'@'localhost'", *EVIL],
)
def test_an_account_that_is_none_is_refused(account: str) -> None:
    """An account has a user and a host, is not the definer, and is no statement."""
    assert refused(call(*VERSION, f"--account={account}"), "--account")


@pytest.mark.parametrize("written", ["'innobrim'@'10.0.0.5'", "`innobrim`@`10.0.0.5`", "innobrim@10.0.0.5"])
def test_an_account_is_taken_as_show_grants_writes_it(written: str) -> None:
    """An administrator can paste what the server printed."""
    assert "GRANT PROCESS ON *.* TO 'innobrim'@'10.0.0.5';" in call(*VERSION, "--account", written).stdout


def test_another_machine_needs_the_hosts_name() -> None:
    """Where the daemon comes from is not known here, and nothing is guessed."""
    words = (*VERSION, "--host", "db1.example")

    assert refused(call(*words), "--account innobrim@ADDRESS")
    assert "'innobrim'@'10.0.0.5'" in call(*words, "--account", "innobrim@10.0.0.5").stdout


def test_a_version_that_is_none_is_refused() -> None:
    """A version of nothing that is supported is exit 2, with what would be right."""
    assert refused(call("--server-version", "10.11.6"), "10.11.6-MariaDB")


def test_a_server_that_does_not_answer_is_said_to() -> None:
    """Without a version the server is asked, and where that fails the option is named: exit 3."""
    done = call("--host", "127.0.0.1", "--port", str(free_port()))

    ended(done, 3, "--server-version")


def test_what_undoes_it_needs_no_password() -> None:
    """Removing draws nothing and says nothing of passwords."""
    done = call("--server-version", "8.4.6", "--remove", password=None)

    assert (done.exit_code, done.stderr) == (0, "")
    assert "DROP PROCEDURE IF EXISTS innobrim.set_global;" in done.stdout
    assert "IDENTIFIED" not in done.stdout


@pytest.mark.parametrize("said", [one for one in INJECTED if one and len(one.encode()) < 200])
def test_a_servers_version_is_no_statement(mysqld: Mysqld, tmp_path: Path, said: str) -> None:
    """A server that answers with statements gets none into the script that root runs: there is no script."""
    says(mysqld, said)
    done = call("--socket", str(tmp_path / "m.sock"))

    assert (done.exit_code, done.stdout) == (1, ""), done.output
    assert "no version" in done.stderr
    assert "--server-version" in done.stderr
    assert all(line.isprintable() for line in done.stderr.split("\n"))


@pytest.mark.parametrize("said", [one for one in INJECTED if "\0" not in one])
@pytest.mark.parametrize("more", [(), ("--remove",), ("--direct",)])
def test_an_options_version_is_no_statement(said: str, more: tuple[str, ...]) -> None:
    """The same text given as --server-version makes no script either, or one without it."""
    done = call(f"--server-version={said}", *more)
    lines = done.stdout.split("\n")

    assert done.exit_code == 2 or not {"CREATE USER evil", "SELECT 1", "<b>"} & set(lines)
    assert all(line.isprintable() for line in lines)
    assert "evil" not in done.stdout
    assert "DROP DATABASE mysql" not in done.stdout


def test_the_version_in_the_script_is_what_was_understood() -> None:
    """A banner is taken as clients show it, and the head of the script names the release alone."""
    done = call("--server-version", "Server version: 5.5.5-10.6.16-MariaDB mariadb.org binary distribution")

    assert done.stdout.startswith("-- InnoBrim on MariaDB 10.6.16-MariaDB: ")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'[client]\nuser="a\\nCREATE USER evil"\npassword=x\n', "server.user"),
        (b'[client]\npassword="a\\nb"\n', "my.cnf: the password"),
        (b"[client]\npassword=a\xffb\n", "my.cnf: the password"),
    ],
    ids=["user", "line end", "encoding"],
)
def test_an_option_file_is_no_statement(tmp_path: Path, content: bytes, said: str) -> None:
    """A user or a password with a line end or bytes in another encoding is named, without showing it."""
    file = option_file(tmp_path, content)

    assert refused(call(*VERSION, "--defaults-file", str(file), password=None), said)


def test_without_an_address_the_socket_is_asked_as_root_would(
    mysqld: Mysqld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root, who runs the script, gets to the server over the unix socket: that one's version counts."""
    there = str(tmp_path / "m.sock")
    monkeypatch.setattr("tuner.servers.endpoint.SOCKETS", (str(tmp_path / "none.sock"), there))
    says(mysqld, "8.4.6")

    assert " 8.4.6: " in call().stdout
    says(mysqld, "9.7.4")
    assert " 9.7.4: " in call(MYSQL_UNIX_PORT=there).stdout


@pytest.mark.parametrize("words", [("--port", "1"), ("--host", "127.0.0.1", "--port", "1")])
def test_an_address_that_is_given_is_the_one_that_is_asked(
    mysqld: Mysqld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Whoever names an address, and be it the default one, is not answered by another server."""
    monkeypatch.setattr("tuner.servers.endpoint.SOCKETS", (str(tmp_path / "m.sock"),))
    call(*words)

    assert mysqld.logins == []


def test_other_machines_are_let_in_over_tls_alone() -> None:
    """Their passwords cross a network; the switch that leaves it out is named, and so is what it is for."""
    words = (*ELSEWHERE, "--account", "innobrim@localhost")
    done, plain = call(*words), call(*words, "--no-require-ssl")

    assert f"'innobrim'@'10.0.0.5' IDENTIFIED BY '{SECRET}' REQUIRE SSL WITH" in done.stdout
    assert not any("@'localhost'" in one for one in done.stdout.splitlines() if "REQUIRE SSL" in one)
    assert "--no-require-ssl" in done.stdout
    assert "REQUIRE SSL" not in plain.stdout


@pytest.mark.parametrize(
    "line", ["ssl-mode=DISABLED", "skip-ssl", "ssl=0", "[client-mariadb]\nskip-ssl", "server.tls"]
)
def test_tls_that_is_off_lets_nobody_in_who_needs_it(tmp_path: Path, line: str) -> None:
    """An account that the daemon could not use, by its option file or configuration, is not made."""
    config = tmp_path / "innobrim.toml"
    config.write_text('[server]\ntls = "off"\n')
    words: tuple[str, ...] = ("--config", str(config))
    if line != "server.tls":
        words = ("--defaults-file", str(option_file(tmp_path, f"[client]\nuser=innobrim\n{line}\n")))

    assert refused(call(*words, *ELSEWHERE), line if line == "server.tls" else words[1], "--no-require-ssl")
    for more in ((*ELSEWHERE, "--no-require-ssl"), (*ELSEWHERE, "--remove"), VERSION):
        assert call(*words, *more).exit_code == 0
