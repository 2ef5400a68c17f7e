"""Writes the manual page innobrim(1) from the commands themselves.

``python -m tools.manual > innobrim.1``
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click

from tuner.cli.main import cli
from tuner.system.version import program_version

END = Path(__file__).with_name("manual_end.man")
"""The sections after the commands: exit status, environment, files, see also."""


def page() -> str:
    """Return the page as troff with the macros of man(7)."""
    return "\n".join(_lines()) + "\n" + END.read_text(encoding="utf-8")


def commands(group: click.Group, context: click.Context) -> Iterator[tuple[click.Context, click.Command]]:
    """Yield every command below a group, in its order, with a context that has its full name."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        inside = click.Context(command, info_name=name, parent=context)
        yield inside, command
        if isinstance(command, click.Group):
            yield from commands(command, inside)


def _lines() -> Iterator[str]:
    context = click.Context(cli, info_name="innobrim")
    moment = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    date = time.strftime("%Y-%m-%d", moment)
    yield f'.TH INNOBRIM 1 "{date}" "innobrim {_plain(program_version())}" "InnoBrim"'
    yield ".SH NAME"
    yield "innobrim \\- closed\\-loop tuning of innodb_io_capacity and innodb_io_capacity_max"
    yield ".SH SYNOPSIS"
    yield ".B innobrim"
    yield ".I COMMAND"
    yield "[\\fIOPTION\\fR]..."
    yield ".SH DESCRIPTION"
    yield from _text(cli)
    yield ".SH COMMANDS"
    for inside, command in commands(cli, context):
        yield from _command(inside, command)


def _command(context: click.Context, command: click.Command) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(context))
    yield f".SS {_plain(context.command_path)}"
    yield f".B {_plain(context.command_path)}"
    yield f".RI {_quoted(usage)}"
    yield from (".PP", *_text(command))
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and parameter.name != "help":
            options, meaning = record
            yield from (".TP", f".B {_plain(options)}", _plain(meaning))


def _text(command: click.Command) -> Iterator[str]:
    """Yield a command's own words: paragraphs, and its example set apart."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", inspect.cleandoc(command.help or ""))):
        if number:
            yield ".PP"
        text = " ".join(paragraph.replace("\b", "").split())
        if text.startswith("Example: "):
            yield "Example:"
            yield from (".RS 4", ".nf", _plain(text.removeprefix("Example: ")), ".fi", ".RE")
        else:
            yield _plain(text)


def _quoted(text: str) -> str:
    return '"' + _plain(text).replace('"', "\\(dq") + '"'


def _plain(text: str) -> str:
    """Return text that troff takes for nothing but text: hyphens that can be copied, no control line."""
    found = " ".join(text.split()).replace("\\", "\\(rs").replace("-", "\\-").replace("'", "\\(aq")
    found = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in found)
    return f"\\&{found}" if found.startswith((".", "\\(aq")) else found


if __name__ == "__main__":
    sys.stdout.write(page())
