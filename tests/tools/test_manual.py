"""The manual page that the Debian package brings."""

from __future__ import annotations

import re
import shutil
import subprocess

import click
import pytest

from tools.manual import commands, page
from tuner.cli import answer
from tuner.cli.main import COMMANDS, cli


def test_every_command_and_option_is_in_it() -> None:
    """Whatever --help knows can be looked up: each command, of groups as well, and each of its options."""
    text = page().replace("\\-", "-")

    found = list(commands(cli, click.Context(cli, info_name="innobrim")))
    assert {f"innobrim {name}" for name in COMMANDS} <= {context.command_path for context, _ in found}
    for context, command in found:
        _, _, part = text.partition(f".SS {context.command_path}\n")
        part = part.partition("\n.S")[0]
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.opts[0] in part, (context.command_path, parameter.opts)


def test_the_exit_codes_are_the_commands_own() -> None:
    """The codes that the page explains are those that commands end with."""
    said = re.findall(r"^\.B (\d+)$", page(), re.MULTILINE)

    assert {int(code) for code in said} == {
        value for name, value in vars(answer).items() if name[:1].isupper() and type(value) is int
    }


def test_the_date_can_be_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same source makes the same page, so that packages can be compared."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")

    assert '"2023-11-14"' in page().splitlines()[0]


def test_troff_has_nothing_to_warn_of() -> None:
    """The page is sound troff: no unknown macro, no control line by accident."""
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is missing (Debian package: groff-base)")
    command = [groff, "-man", "-Tutf8", "-ww", "-z"]
    done = subprocess.run(command, input=page(), capture_output=True, text=True, check=False)  # noqa: S603 - a formatter

    assert done.returncode == 0
    assert [
        line for line in done.stderr.splitlines() if "can't break" not in line and "adjust" not in line
    ] == []
