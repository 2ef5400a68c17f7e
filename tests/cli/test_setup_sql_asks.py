"""``innobrim setup-sql`` and what it is told, by servers as by people: nothing of it becomes a statement."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.servers.injected import EVIL, INJECTED
from tests.servers.sockets.mysqld import Mysqld
from tuner.cli.main import cli

SECRET = "told-before"  # noqa: S105 - made up


def call(*words: str, **environ: str | None) -> Result:
    """Run the command, with a password that the daemon is configured with."""
    given = {"INNOBRIM_PASSWORD": SECRET, "MYSQL_UNIX_PORT": None, **environ}
    return CliRunner().invoke(cli, ["setup-sql", *words], env=given)


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    """Return a unix socket that somebody may listen on."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "m.sock"))
        made.listen()
        yield made


@pytest.fixture
def mysqld(listener: socket.socket) -> Iterator[Mysqld]:
    """Return a server on that socket."""
    server = Mysqld(listener)
    yield server
    server.end()


def says(mysqld: Mysqld, version: str) -> None:
    """Have a server answer with a version."""
    mysqld.answers = lambda _statement: [(version,)]


@pytest.mark.parametrize("said", [one for one in INJECTED if one and len(one.encode()) < 200])
def test_a_servers_version_is_no_statement(mysqld: Mysqld, tmp_path: Path, said: str) -> None:
    """A server that answers with statements gets none into the script that root runs: there is no script."""
    says(mysqld, said)
    done = call("--socket", str(tmp_path / "m.sock"))

    assert done.exit_code == 1, done.output
    assert done.stdout == ""
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


@pytest.mark.parametrize("account", EVIL)
def test_an_account_is_no_statement(account: str) -> None:
    """An account with a line end or a quote too many is refused by name, on one line."""
    done = call("--server-version", "9.7.4", f"--account={account}")

    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert "--account" in done.stderr
    assert all(line.isprintable() for line in done.stderr.split("\n"))


def test_the_configured_user_is_no_statement(tmp_path: Path) -> None:
    """A user from an option file, where a line end can be written, is held to the same."""
    file = tmp_path / "my.cnf"
    file.write_text('[client]\nuser="a\\nCREATE USER evil"\n')
    file.chmod(0o600)
    done = call("--server-version", "9.7.4", "--defaults-file", str(file))

    assert done.exit_code == 2, done.output
    assert done.stdout == ""


@pytest.mark.parametrize("written", ["'innobrim'@'10.0.0.5'", "`innobrim`@`10.0.0.5`", "innobrim@10.0.0.5"])
def test_an_account_is_taken_as_show_grants_writes_it(written: str) -> None:
    """An administrator can paste what the server printed; the definer in quotes is refused all the same."""
    done = call("--server-version", "9.7.4", "--account", written)

    assert "GRANT PROCESS ON *.* TO 'innobrim'@'10.0.0.5';" in done.stdout
    assert call("--server-version", "9.7.4", "--account", "'innobrim_definer'@'localhost'").exit_code == 2


def test_a_password_that_is_not_to_be_seen_goes_into_no_statement(tmp_path: Path) -> None:
    """A line end or bytes in another encoding in the password are named, without showing it."""
    file = tmp_path / "my.cnf"
    for content in (b'[client]\npassword="a\\nb"\n', b"[client]\npassword=a\xffb\n"):
        file.write_bytes(content)
        file.chmod(0o600)
        done = call("--server-version", "9.7.4", "--defaults-file", str(file), INNOBRIM_PASSWORD=None)

        assert done.exit_code == 2, done.output
        assert done.stdout == ""
        assert f"{file}: the password" in done.stderr


def test_without_an_address_the_socket_is_asked_as_root_would(
    mysqld: Mysqld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root, who runs the script, gets to the server over the unix socket: that one's version counts."""
    says(mysqld, "8.4.6")
    monkeypatch.setattr(
        "tuner.servers.endpoint.SOCKETS", (str(tmp_path / "none.sock"), str(tmp_path / "m.sock"))
    )
    done = call()

    assert done.exit_code == 0, done.output
    assert " 8.4.6: " in done.stdout
    says(mysqld, "9.7.4")
    assert " 9.7.4: " in call(MYSQL_UNIX_PORT=str(tmp_path / "m.sock")).stdout


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
    words = ("--server-version", "9.7.4", "--account", "innobrim@10.0.0.5", "--account", "innobrim@localhost")
    done, plain = call(*words), call(*words, "--no-require-ssl")

    assert "'innobrim'@'10.0.0.5' IDENTIFIED BY 'told-before' REQUIRE SSL WITH" in done.stdout
    assert not any("@'localhost'" in one for one in done.stdout.splitlines() if "REQUIRE SSL" in one)
    assert "--no-require-ssl" in done.stdout
    assert "REQUIRE SSL" not in plain.stdout


@pytest.mark.parametrize("line", ["ssl-mode=DISABLED", "skip-ssl", "ssl=0", "[client-mariadb]\nskip-ssl"])
def test_an_option_file_without_tls_lets_nobody_in_who_needs_it(tmp_path: Path, line: str) -> None:
    """An account that the daemon could not use by its option file is not made; the file is named."""
    file = tmp_path / "my.cnf"
    file.write_text(f"[client]\nuser=innobrim\n{line}\n")
    file.chmod(0o600)
    words = ("--defaults-file", str(file), "--server-version", "9.7.4", "--account", "innobrim@10.0.0.5")
    done = call(*words)

    assert done.exit_code == 2
    assert str(file) in done.stderr
    assert "--no-require-ssl" in done.stderr
    assert call(*words, "--no-require-ssl").exit_code == 0
    assert call(*words, "--remove").exit_code == 0


def test_tls_that_is_off_lets_nobody_in_who_needs_it(tmp_path: Path) -> None:
    """An account that the configured daemon could not use is not made: both ways out are named."""
    config = tmp_path / "innobrim.toml"
    config.write_text('[server]\ntls = "off"\n')
    words = ("--config", str(config), "--server-version", "9.7.4", "--account", "innobrim@10.0.0.5")
    done = call(*words)

    assert done.exit_code == 2
    assert "server.tls" in done.stderr
    assert "--no-require-ssl" in done.stderr
    assert call(*words, "--no-require-ssl").exit_code == 0
    assert call(*words[:4]).exit_code == 0


def test_a_new_password_reaches_an_account_that_is_there(tmp_path: Path) -> None:
    """The file's password is the account's afterwards, whether the script made it or found it."""
    file = tmp_path / "client.cnf"
    done = call("--server-version", "9.7.4", "--new-password", str(file), INNOBRIM_PASSWORD=None)
    drawn = file.read_text().partition("password=")[2].strip()

    assert f"ALTER USER 'innobrim'@'localhost' IDENTIFIED BY '{drawn}' PASSWORD EXPIRE NEVER;" in done.stdout
    assert done.stdout.count(drawn) == 1
