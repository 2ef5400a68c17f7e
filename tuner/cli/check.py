"""``innobrim check``: may this server be controlled, and what is in the way."""

from __future__ import annotations

import sys

import click
from msgspec.structs import replace

from tuner.cli.answer import FINE, NO, UNREACHABLE, Unusable, answering, say, say_json
from tuner.cli.options import configuration, endpoint, json_option, real_server, server_options
from tuner.config.checks import unusable_extra
from tuner.findings.check import Report
from tuner.findings.check import check as look
from tuner.findings.preconditions import connection_line
from tuner.hosted.opened import line as hosted_line
from tuner.settings import Mode
from tuner.system.clock import SystemClock


class Answer(Report, frozen=True):
    """What ``--json`` prints.

    Attributes:
        controllable: nothing stands in the way of active mode.
    """

    controllable: bool = True


MARKS = {"ok": "ok      ", "warning": "warning ", "problem": "PROBLEM ", "untested": "untested"}


@click.command()
@server_options
@click.option(
    "--active",
    is_flag=True,
    help='Prove the privilege to write by writing the current value back; so does mode = "active".',
)
@json_option
def check(config_path: str | None, *, active: bool, as_json: bool, **server_flags: object) -> None:
    """Say in one line each whether this server can be controlled, with the fix.

    Exit 0: it can, or advisory mode works and a warning says what active mode lacks. Exit 1: it cannot, or
    active mode is asked for and the account may not write; the line marked PROBLEM says why. Exit 3: nothing
    answers.

    Example: innobrim check --socket /run/mysqld/mysqld.sock --user innobrim
    """
    with answering(as_json=as_json):
        config = configuration(config_path, server_flags)
        if lacking := unusable_extra(config.loop.policy):
            raise Unusable(f"loop.policy = {config.loop.policy} {lacking}")
        server = real_server(config, SystemClock())
        connection = connection_line(endpoint(config, noted=lambda _: None))
        server.writes_low_water = config.loop.low_water_mark
    proved = active or config.loop.mode is Mode.ACTIVE
    try:
        report = look(
            server,
            active=proved,
            settings=config.loop,
            connection=connection,
            grow_to=config.redo.goal,
        )
        if config.hosted is not None and report.reachable:
            host = endpoint(config, noted=lambda _: None).tcp_host
            line = hosted_line(config.hosted, server.facts(), host)
            report = replace(report, findings=(*report.findings, line))
    finally:
        server.close()
    if as_json:
        say_json(Answer(report.findings, report.reachable, report.lacking, report.controllable))
    else:
        show(report)
    sys.exit(UNREACHABLE if not report.reachable else FINE if report.fine else NO)


def show(report: Report) -> None:
    """Print a line for each precondition, its fix and its SQL below it."""
    for line in report.findings:
        say(f"{MARKS[line.severity]} {line.id}: {': '.join(filter(None, (line.title, line.reason)))}")
        if line.fix:
            say(f"           → {'; '.join(filter(None, (line.fix, line.effect, line.risk)))}")
        for statement in line.sql:
            say(f"             {statement}{';' if statement.split()[0].isupper() else ''}")
    if report.fine and report.lacking:
        names = " and ".join(f'"{name}"' for name in report.lacking)
        lines = "lines" if len(report.lacking) > 1 else "line"
        say(f"advisory mode works here; what active mode lacks is in the {lines} {names}")
    elif report.fine and any(
        line.id == "authority" and line.severity == "warning" for line in report.findings
    ):
        say('this server can be written to; how far that controls it is in the line "authority"')
    elif report.fine:
        say("this server can be controlled")
    elif report.reachable:
        say("this server cannot be controlled as it is")
