"""Options of ``innobrim bench`` that replace keys of a suite's plans, and the server that it has."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import click
import msgspec

from lab.bench import plan
from lab.bench.plan import Plan, Suite
from lab.bench.store import PlanError
from lab.keys import hint_at, wrong
from lab.servers.base import LabServerError, ServerSpec
from lab.servers.choose import Kind, choose, kind_of
from lab.servers.existing import PASSWORD_PLACES
from tuner.cli.options import refuse_given

MEBIBYTE = 1024 * 1024


class Option(NamedTuple):
    """An option: its name among the command's, the key that it replaces, as it is typed, and itself."""

    name: str
    place: str
    flag: str
    option: Callable[..., Any]


def _option(name: str, place: str, said: str, **how: Any) -> Option:  # noqa: ANN401 - as click has it
    flag = f"--{how.pop('flag', name.replace('_', '-'))}"
    return Option(name, place, flag, click.option(flag, name, help=said, **({"type": int} | how)))


def _choice(kind: Any) -> click.Choice[str]:  # noqa: ANN401 - a literal type
    return click.Choice(get_args(kind))


OPTIONS = (
    _option(
        "contenders",
        "contenders",
        "default, C/M such as 2000/4000, best-static, ours, or a policy's name; repeat it for each.",
        flag="contender",
        type=str,
        multiple=True,
        metavar="NAME",
    ),
    _option("blocks", "blocks", "How often each contender runs."),
    _option("redo", "server.redo_capacity", "Redo log capacity.", metavar="MIB"),
    _option("buffer_pool", "server.buffer_pool", "Buffer pool size.", metavar="MIB"),
    _option(
        "settings",
        "server.set",
        "Another variable of mysqld.",
        flag="set",
        type=str,
        multiple=True,
        metavar="NAME=VALUE",
    ),
    _option("write_iops", "disk.write_iops", "Limit the disk to N write operations/s.", metavar="N"),
    _option("write_mib", "disk.write_mib", "Limit the disk to N MiB written/s.", metavar="N"),
    _option("kind", "load.kind", "Which transactions.", flag="load", type=_choice(plan.Kind)),
    _option(
        "distribution",
        "load.distribution",
        "Which rows the transactions touch.",
        type=_choice(plan.Distribution),
    ),
    _option("threads", "load.threads", "Connections of the load."),
    _option("rate", "load.rate", "Offered transactions/s; 0 is as many as possible."),
    _option("tables", "load.tables", "Tables of the load."),
    _option("rows", "load.rows", "Rows in each table."),
    _option(
        "crash",
        "crash",
        "Time crash recovery in odd blocks, and shutdown in even ones, each from the age held.",
        type=None,
        is_flag=True,
        default=None,
    ),
)
"""Options that replace a key of a suite's plans."""


def plan_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that replace keys of a suite's plan."""
    for one in reversed(OPTIONS):
        command = one.option(command)
    return command


def changed(suite: Suite, changes: dict[str, Any]) -> Suite:
    """Return a suite with the keys that options replace, in every plan.

    Raises:
        PlanError: a value that no plan takes.
    """
    given = {one: value for one in OPTIONS if (value := changes.get(one.name)) not in (None, ())}
    if not given:
        return suite
    given = {one: list(value) if isinstance(value, tuple) else value for one, value in given.items()}
    lines = [
        line
        for one, value in given.items()
        if one.name != "settings"
        for line in wrong(value, hint_at(Plan, one.place), one.flag)
    ]
    if lines:
        raise PlanError("\n".join(lines))
    plans: list[Plan] = []
    for one in suite.plans:
        raw = msgspec.to_builtins(one)
        for option, value in given.items():
            *tables, key = option.place.split(".")
            table = raw[tables[0]] if tables else raw
            table[key] = table[key] | dict(map(_pair, value)) if option.name == "settings" else value
        plans.append(msgspec.convert(raw, Plan))
    plan.check(plans, suite.name)
    about = f"{suite.about} Changed: {', '.join(sorted(one.name for one in given))}."
    return Suite(name=suite.name, about=about, plans=tuple(plans))


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise PlanError(f"--set {text}: write a variable and its value, such as innodb_doublewrite_pages=128")
    return name.strip(), value.strip()


_ELSEWHERE = {
    "innodb_redo_log_capacity": "server.redo_capacity (--redo), MiB",
    "innodb_log_file_size": "server.redo_capacity (--redo), MiB",
    "innodb_log_files_in_group": "server.redo_capacity (--redo), MiB",
    "innodb_buffer_pool_size": "server.buffer_pool (--buffer-pool), MiB",
    "innodb_io_capacity": "a contender C/M",
    "innodb_io_capacity_max": "a contender C/M",
}
"""Variables of mysqld that a plan has under names of its own."""


def specification(one: Plan) -> ServerSpec:
    """Return how a plan's server is started.

    Raises:
        PlanError: a variable in ``server.set`` that is none, or that is not to be set there.
    """
    # InnoDB of MySQL says only then how long it took; MariaDB does by itself, and knows no such variable.
    verbose = ("--loose-log-error-verbosity=3",) if one.crash else ()
    for name in one.server.set:
        if (place := _ELSEWHERE.get(name.replace("-", "_").lower())) is not None:
            raise PlanError(f"server.set.{name}: ages are worked out with it; say it as {place}")
    spec = ServerSpec(
        redo_capacity=one.server.redo_capacity * MEBIBYTE,
        buffer_pool=one.server.buffer_pool * MEBIBYTE,
        extra=verbose,
    )
    try:
        return spec.with_parameters({name: str(value) for name, value in one.server.set.items()})
    except LabServerError as error:
        raise PlanError(f"server.set: {error}") from error


_NOT_OURS = {
    "server_words": "no other server is started",
    "redo": "its redo log stays as it is",
    "buffer_pool": "its buffer pool stays as it is",
    "settings": "no variable of it is set but C and M",
    "write_iops": "its disk is not limited",
    "write_mib": "its disk is not limited",
}
"""Options that a server of the user's own leaves without effect."""


def refuse_beside_own(context: click.Context) -> None:
    """End where an option is given that ``--dsn`` would leave without effect."""
    for name, why in _NOT_OURS.items():
        others = {str(one.name) for one in context.command.params} - {name}
        refuse_given(context, others, f" beside --dsn: {why}; leave one of the two out")


def check_named(suite: Suite, dsn: str | None, words: str) -> None:
    """Return when a suite can be run on the server that ``--dsn``, else ``--server``, names.

    Raises:
        PlanError: it asks of one of the user's own what is never done to that, or ``--server`` names one.
        LabServerError: ``--server`` names nothing that could be a server.
    """
    if dsn is not None:
        refuse_for_own(suite)
    elif words != "auto" and kind_of(words) is Kind.OWN:
        raise PlanError(
            f"--server {words}: a server of your own is no throw-away one; name it as --dsn mysql://USER@HOST:PORT"
            " or --dsn mysql://USER@/PATH/TO/SOCKET"
        )


def refuse_for_own(suite: Suite) -> None:
    """Return when a suite can be run on a server of the user's own, which is loaded and has its C and M set.

    Raises:
        PlanError: it would be killed, or rows would bear the name of something that was never set there.
    """
    own, plans = "a server of your own", suite.plans
    if any(one.surge for one in plans):
        raise PlanError(f"surge: the daemon is killed and the load grows, which is no test for {own}")
    if any(one.crash for one in plans):
        raise PlanError(f"--crash: {own} is never killed or shut down; leave --crash or --dsn out")
    if names := sorted({name for one in plans for name in one.server.set}):
        raise PlanError(f"server.set: {', '.join(names)} would not be set on {own}; leave it or --dsn out")
    if any(one.disk.alternate_iops is not None for one in plans):
        raise PlanError(f"disk.alternate_iops: the disk of {own} is not limited; leave it or --dsn out")
    if len({msgspec.json.encode((one.server, one.disk)) for one in plans}) > 1:
        raise PlanError(
            f"{suite.name}: its variants differ in server or disk, which stay as they are on {own};"
            " take a suite whose variants differ in the load alone, or leave --dsn out"
        )


def best_here() -> str:
    """Return the best real server that can be had without installing anything."""
    choice = choose()
    if choice.kind == "none":
        refusals = "".join(f"\n  {refusal}" for refusal in choice.refusals)
        raise LabServerError(f"no real server can be had here: {choice.why}{refusals}")
    return choice.name


def password(what: str) -> str:
    """Ask for a password, which may be none; without a terminal there is nobody to ask."""
    if not sys.stdin.isatty():
        click.echo(f"innobrim: {what}: none in {PASSWORD_PLACES}; trying without one", err=True)
        return ""
    return str(click.prompt(what, hide_input=True, err=True, default="", show_default=False))
