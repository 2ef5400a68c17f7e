"""``innobrim setup-sql``: what is printed, and what is asked back."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cli.support import free_port
from tuner.cli.main import cli
from tuner.cli.setup_sql import drawn
from tuner.config.optionfile import read_options

KNOWN = "told-before"


def call(*words: str, password: str | None = KNOWN) -> Result:
    """Run the command, with a password that the daemon is configured with."""
    return CliRunner().invoke(cli, ["setup-sql", *words], env={"INNOBRIM_PASSWORD": password})


def test_a_script_for_a_server_that_is_not_there_yet() -> None:
    """With the version nothing is asked, and the SQL is on stdout; the password is the daemon's."""
    done = call("--server-version", "9.7.4")

    assert done.exit_code == 0, done.output
    assert "CREATE USER IF NOT EXISTS 'innobrim'@'localhost'" in done.stdout
    assert "DEFAULT 20000;" in done.stdout
    assert "IDENTIFIED BY 'told-before'" in done.stdout
    assert done.stderr == ""
    assert done.stdout.startswith("-- InnoBrim on MySQL")
    assert "-- REVOKE SYSTEM_VARIABLES_ADMIN ON *.* FROM 'innobrim'@'localhost';" in done.stdout


def test_the_bounds_are_the_configurations(tmp_path: Path) -> None:
    """What the procedure lets through is what the loop would keep to, with C by the ratio."""
    config = tmp_path / "innobrim.toml"
    config.write_text(
        "[loop]\nmin_io_capacity_max = 600\nmax_io_capacity_max = 8000\nratio = 2\n", encoding="utf-8"
    )
    done = call("--server-version", "9.7.4", "--config", str(config), "--json")
    found = json.loads(done.stdout)["bounds"]

    assert found == {
        "lowest_io_capacity_max": 600,
        "highest_io_capacity_max": 8000,
        "highest_io_capacity": 4000,
    }


def test_a_providers_server_gets_an_account_that_reads() -> None:
    """Where SET GLOBAL is refused to everybody the head says so, and no bounds or privileges are promised."""
    done = call("--server-version", "8.0.31-google")
    told = json.loads(call("--server-version", "8.0.31-google", "--json").stdout)

    assert "an account that reads, as Google Cloud SQL takes no SET GLOBAL" in done.stdout
    assert "SYSTEM_VARIABLES_ADMIN" not in done.stdout
    assert told["bounds"] is None


def test_no_account_without_a_password() -> None:
    """Without one nothing is printed: an account that anybody could use is worse than none."""
    done = call("--server-version", "9.7.4", password=None)

    assert done.exit_code == 2
    assert done.stdout == ""
    assert "--new-password FILE" in done.stderr


def test_a_new_password_goes_into_a_file_for_the_daemon(tmp_path: Path) -> None:
    """It is written where the daemon reads it, for its owner alone, and never over a file that is there."""
    file = tmp_path / "client.cnf"
    words = ("--server-version", "9.7.4", "--new-password", str(file))
    done = call(*words, password=None)
    options = read_options(file.read_text(encoding="utf-8"), "client")

    assert options["user"] == "innobrim"
    assert f"IDENTIFIED BY '{options['password']}'" in done.stdout
    assert file.stat().st_mode & 0o777 == 0o600
    again = call(*words, password=None)
    assert again.exit_code == 2
    assert "not there yet" in again.stderr


def test_a_new_password_goes_into_the_file_that_the_configuration_names(tmp_path: Path) -> None:
    """The file may be named there before it is made; afterwards its password is the one to go on with."""
    file, config = tmp_path / "client.cnf", tmp_path / "innobrim.toml"
    config.write_text(f'[server]\ndefaults_file = "{file}"\n', encoding="utf-8")
    words = ("--server-version", "9.7.4", "--config", str(config))
    first = call(*words, "--new-password", str(file), password=None)
    made = file.read_text(encoding="utf-8")
    drawn_for_it = read_options(made, "client")["password"]

    assert f"IDENTIFIED BY '{drawn_for_it}'" in first.stdout
    again = call(*words, "--new-password", str(file), password=None)
    assert again.exit_code == 2
    assert f"from {file} already: leave --new-password out" in again.stderr
    assert drawn_for_it not in again.stderr
    assert file.read_text(encoding="utf-8") == made
    assert f"IDENTIFIED BY '{drawn_for_it}'" in call(*words, password=None).stdout


def test_no_new_password_beside_one_that_would_overrule_it(tmp_path: Path) -> None:
    """A password from the environment is taken before the file's: nothing is made, its source is named."""
    file = tmp_path / "client.cnf"
    done = call("--server-version", "9.7.4", "--new-password", str(file))

    assert done.exit_code == 2
    assert "INNOBRIM_PASSWORD" in done.stderr
    assert not file.exists()


def test_a_drawn_password_is_another_one_each_time_and_no_policy_refuses_it() -> None:
    """Long, with letters of both cases, a digit and a sign, and nothing that a shell or SQL would read."""
    first, second = drawn(), drawn()

    assert first != second
    assert len(first) > 40
    assert all(re.search(one, first) for one in ("[a-z]", "[A-Z]", r"\d", "[-_]"))
    assert re.fullmatch(r"[\w-]+", first)


@pytest.mark.parametrize("account", ["innobrim", "innobrim@", "innobrim_definer@localhost"])
def test_an_account_that_is_none_is_refused(account: str) -> None:
    """An account has a user and a host, and is not the definer."""
    done = call("--server-version", "9.7.4", "--account", account)

    assert done.exit_code == 2
    assert f"--account {account}" in done.stderr


def test_another_machine_needs_the_hosts_name() -> None:
    """Where the daemon comes from is not known here, and nothing is guessed."""
    words = ("--server-version", "9.7.4", "--host", "db1.example")

    assert call(*words).exit_code == 2
    assert "--account innobrim@ADDRESS" in call(*words).stderr
    assert "'innobrim'@'10.0.0.5'" in call(*words, "--account", "innobrim@10.0.0.5").stdout


def test_a_version_that_is_none_is_refused() -> None:
    """A version of nothing that is supported is exit 2, with what would be right."""
    done = call("--server-version", "10.11.6")

    assert done.exit_code == 2
    assert "10.11.6-MariaDB" in done.stderr


def test_a_server_that_does_not_answer_is_said_to() -> None:
    """Without a version the server is asked, and where that fails the option is named: exit 3."""
    done = call("--host", "127.0.0.1", "--port", str(free_port()))

    assert done.exit_code == 3
    assert "--server-version" in done.stderr


def test_what_undoes_it_needs_no_password() -> None:
    """Removing draws nothing and says nothing of passwords."""
    done = call("--server-version", "8.4.6", "--remove", password=None)

    assert done.exit_code == 0
    assert "DROP PROCEDURE IF EXISTS innobrim.set_global;" in done.stdout
    assert "IDENTIFIED" not in done.stdout
    assert done.stderr == ""
