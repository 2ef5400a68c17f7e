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

import click

from tuner.cli.main import cli
from tuner.config.load import DEFAULT_PATH
from tuner.config.schema import DaemonSection
from tuner.system.version import program_version

EXITS = (
    ("0", "Fine."),
    ("1", "The answer is no, or the server refused."),
    ("2", "Wrong usage or configuration."),
    ("3", "The daemon or the server cannot be reached; the message says which."),
    ("4", "The time given to a bench or a comparison was up before its end."),
    ("130", "Ctrl-C ended a bench, a comparison or a simulation; SIGTERM gives 143, a lost terminal 129."),
)

ENVIRONMENT = (
    (
        "INNOBRIM_PASSWORD",
        "Password of the account. An option file or a systemd credential is the better place for it.",
    ),
    (
        "INNOBRIM_PASSWORD_FILE",
        "A file whose first line is that password, such as a container's secret; not beside the former.",
    ),
    (
        "MYSQL_UNIX_PORT",
        "The unix socket that host = localhost of an option file means, where the file names none.",
    ),
    (
        "INNOBRIM_IDENTITY",
        "What a MariaDB is known as, whose host name changes while its data stays; it has no server_uuid.",
    ),
    (
        "INNOBRIM_*",
        "Each key of the configuration has a variable, which beats the file. One misspelt is refused.",
    ),
    (
        "CREDENTIALS_DIRECTORY",
        "Set by systemd: credentials mysql-password (the bare password) and my.cnf (an option file).",
    ),
    ("NO_COLOR", "No colours."),
    (
        "SOURCE_DATE_EPOCH",
        "The date of this page, where it is set; seconds since 1970.",
    ),
)

FILES = (
    (DEFAULT_PATH, "Configuration, where no --config names another one."),
    (
        "/etc/innobrim/my.cnf",
        "The login of innobrim.service, root's; for commands that log in themselves, by --defaults-file.",
    ),
    (
        "/etc/innobrim/NAME.toml, /etc/innobrim/NAME.cnf",
        "The same of innobrim@NAME.service, one of several; its state is in /var/lib/innobrim-NAME.",
    ),
    (
        DaemonSection().state_directory,
        "State of the daemon: journal with the originals, tokens, unix socket of the API.",
    ),
)


def page() -> str:
    """Return the page as troff with the macros of man(7)."""
    return "\n".join(_lines()) + "\n"


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
    for heading, entries in (("EXIT STATUS", EXITS), ("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
        yield f".SH {heading}"
        for name, meaning in entries:
            yield from (".TP", f".B {_plain(name)}", _plain(meaning))
    yield ".SH SEE ALSO"
    yield ".BR systemctl (1),"
    yield ".BR journalctl (1),"
    yield "/usr/share/doc/innobrim/guide.md"


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
