"""How every command says that it did not do what was asked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.support import FakeServer
from tuner.cli import advise as advise_command
from tuner.cli.main import cli


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("restore", "--nonsense"),
        ("override", "--cancel", "--ttl", "10m"),
        ("check", "--port", "0"),
        ("replay", "nowhere"),
        ("simulate", "--scenario", "nope"),
        ("chek",),
        ("--nonsense",),
    ],
    ids=" ".join,
)
def test_every_error_has_the_programs_name(folder: Path, words: tuple[str, ...]) -> None:
    """Whatever is wrong, the line that says so begins the same way, also among others in a log."""
    env = {"INNOBRIM_DAEMON_STATE_DIRECTORY": str(folder)}

    result = CliRunner().invoke(cli, words, prog_name="innobrim", env=env)

    assert result.exit_code in {2, 3}
    assert result.stderr.splitlines()[-1].startswith("innobrim: ")
    assert "Error:" not in result.stderr


@pytest.mark.parametrize("name", ["status", "check"])
def test_every_problem_has_the_programs_name(name: str) -> None:
    """Two mistakes in the configuration are two lines, each with the name."""
    env = {"INNOBRIM_SERVER_PORT": "0", "INNOBRIM_API_PORT": "-1"}

    result = CliRunner().invoke(cli, [name], prog_name="innobrim", env=env)

    assert result.exit_code == 2
    assert [line.partition(" ")[0] for line in result.stderr.splitlines()] == ["innobrim:"] * 2


@pytest.mark.parametrize(
    ("word", "said"), [("chek", "did you mean check?"), ("tune", "there are advise, bench, check, ")]
)
def test_an_unknown_command_gets_a_suggestion(word: str, said: str) -> None:
    """A misspelt command is answered with the nearest one, or with all there are."""
    result = CliRunner().invoke(cli, [word], prog_name="innobrim")

    assert result.exit_code == 2
    assert f"innobrim: {word}: no such command; {said}" in result.stderr


def test_help_without_a_command_is_no_error() -> None:
    """The bare name shows what there is."""
    result = CliRunner().invoke(cli, [], prog_name="innobrim")

    assert "Commands:" in result.output
    assert "innobrim: " not in result.output


@pytest.mark.parametrize("env", [{}, {"INNOBRIM_SERVER_PORT": "0"}], ids=["no server", "wrong configuration"])
def test_advice_that_cannot_be_given_is_json_too(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str]
) -> None:
    """With --json advise prints an object with the reason also where it fails, as status does."""
    server = FakeServer(None)
    monkeypatch.setattr(advise_command, "real_server", lambda *_: server)

    result = CliRunner().invoke(cli, ["advise", "--json"], prog_name="innobrim", env=env)

    assert result.exit_code == (2 if env else 3)
    assert json.loads(result.stdout)["detail"] in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_an_output_that_takes_no_more_is_said_in_a_line() -> None:
    """Where the disk of the output is full, a command ends with 1 and says so, without a traceback."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        found = subprocess.run(
            [sys.executable, "-c", "from tuner.cli.main import main; main()", "simulate", "--list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    assert found.returncode == 1
    assert found.stderr.startswith("innobrim: cannot write: No space left on device; make room")
    assert found.stderr.count("\n") == 1
