"""``innobrim config``: is the configuration right, what is in force, and what does a key mean."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any

import click
import msgspec
from msgspec import Struct

from tuner.cli.answer import FINE, NO, USAGE, Group, Unusable, answering, say, say_json
from tuner.cli.options import SERVER_FLAGS, entered, json_option, server_options, with_options
from tuner.cli.wording import columns
from tuner.config.checks import unencrypted
from tuner.config.credentials import identity_of, read_credentials
from tuner.config.hooks import hook_faults, shown, unsigned
from tuner.config.keys import (
    ALONE,
    BRACKETS,
    BY_VARIABLE,
    FLEET,
    FLEET_KEYS,
    HOOK,
    HOSTED,
    KEYS,
    REMOVED,
    SCHEDULE,
    SECTIONS,
    WITHOUT_EFFECT,
    Key,
    nearest_key,
    toml,
)
from tuner.config.load import DEFAULT_PATH, Examined, Source, examine
from tuner.config.schema import Config, ConfigError, Fault, FleetTable, HookTable
from tuner.core.commands import overlay
from tuner.daemon.delivery import DeliveryError, deliver
from tuner.daemon.hooks import Told, event_of
from tuner.records.hook import HookType
from tuner.settings import as_formerly
from tuner.system.version import program_version

ALL = {**KEYS, **ALONE}
"""Every key by its dotted name."""

Value = str | int | float | bool | list[str] | None
"""Of a key; None where it is left out."""


class HookTried(Struct, frozen=True):
    """What came of a test event.

    Attributes:
        hook: its name.
        to: whom it tells.
        fine: the event was delivered.
        said: what came back, or why it was not.
    """

    hook: str
    to: str
    fine: bool
    said: str


class Checked(Struct, frozen=True):
    """What ``config check`` found.

    Attributes:
        fine: a daemon would start with it.
        file: that was read; None where there is none.
        faults: all that is wrong.
        warnings: what works, and should be otherwise.
        hooks: of each hook what came of its test event, with --hooks.
    """

    fine: bool
    file: str | None
    faults: tuple[Fault, ...]
    warnings: tuple[str, ...]
    hooks: tuple[HookTried, ...] = ()


class InForce(Struct, frozen=True):
    """A key and its value.

    Attributes:
        key: with its section.
        value: in force; None where it is left out.
        default: where nobody says anything; None where it is left out then.
        source: file, variable or option that says it; None for the default.
        line: of the file; None where unknown, and for what is no file.
    """

    key: str
    value: Value
    default: Value
    source: str | None
    line: int | None


class Shown(Struct, frozen=True):
    """What ``config show`` prints.

    Attributes:
        file: that was read; None where there is none.
        keys: the values in force.
        schedule: the tables of the schedule.
        hook: the hooks.
        hosted: the table of a hosted server; empty without one.
        server: as whom and where the daemon logs in.
        password_from: what its password is read from; empty without one.
    """

    file: str | None
    keys: tuple[InForce, ...]
    schedule: tuple[dict[str, Any], ...]
    hook: tuple[dict[str, Any], ...]
    hosted: dict[str, Any]
    server: str
    password_from: str


class Explained(Struct, frozen=True):
    """A key and what it means.

    Attributes:
        key: with its section.
        meaning: what it is and what it changes, with its unit.
        takes: its values.
        optional: it may be left out.
        default: where nobody says anything; None where it is left out then, or has none.
        required: it must be given.
        variable: of the environment that sets it; None for what stands in the file alone.
        reloads: a change takes effect while the daemon runs, with a reload.
        api: PATCH /v1/settings changes it for as long as the daemon runs.
        now: the value in force, and where it is set; None for what stands in the file alone.
    """

    key: str
    meaning: str
    takes: str
    optional: bool
    default: Value
    required: bool
    variable: str | None
    reloads: bool
    api: bool
    now: InForce | None


class Keys(Struct, frozen=True):
    """What ``config explain`` prints: the keys that were asked for."""

    keys: tuple[Explained, ...]


@click.group(cls=Group)
def config() -> None:
    """Check the configuration, show what is in force and from where, and explain its keys.

    Example: innobrim config check
    """


def _examining(*options: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that hands over the configuration as ``run`` would read it, in front of these."""

    def added(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(*, config_path: str | None, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - every option
            flags = {SERVER_FLAGS[name]: given.pop(name) for name in SERVER_FLAGS}
            with answering(as_json=as_json):
                function(examine(config_path, environ=os.environ, flags=flags), as_json=as_json, **given)

        decorated: Callable[..., None] = with_options(*options, server_options, json_option)(command)
        return decorated

    return added


@config.command("check")
@_examining(click.option("--hooks", is_flag=True, help="Send a test event by each [[hook]]."))
def check_config(found: Examined, *, hooks: bool, as_json: bool) -> None:
    """Say everything that is wrong with the configuration, as run would read it; no server is asked.

    Looked at are the file, the variables, the flags, the option file with the login, the certificates, and
    the commands and secrets of hooks. Exit 0: a daemon would start with it; there may be warnings.
    Exit 1: a hook did not deliver its test event. Exit 2: no daemon would start, and each line says why.

    Example: innobrim config check --config /etc/innobrim/innobrim.toml
    """
    faults, warnings = list(found.faults), list(found.notes)
    at_fault = {fault.key.partition(".")[0] for fault in faults}
    try:
        if "server" not in at_fault:
            warnings.extend(read_credentials(found.config.server, environ=os.environ).warnings)
    except ConfigError as error:
        faults.extend(error.faults)
    try:
        identity_of(os.environ)
    except ConfigError as error:
        faults.extend(error.faults)
    if "api" not in at_fault:
        faults.extend(_certificate(found))
    warnings.extend(filter(None, (unencrypted(found.config), as_formerly(found.config.loop))))
    faults.extend(hook_faults(found.config.hook, environ=os.environ))
    warnings.extend(unsigned(found.config.hook, environ=os.environ))
    if hooks and not found.config.hook:
        warnings.append("--hooks: the configuration has no table [[hook]], so nothing was sent")
    tried = tuple(_tried(found.config)) if hooks and not faults else ()
    answer = Checked(not faults, found.file, tuple(faults), tuple(warnings), tried)
    if as_json:
        say_json(answer)
    else:
        say(*_checked(answer))
    sys.exit(USAGE if faults else FINE if all(one.fine for one in tried) else NO)


def _tried(configuration: Config) -> Iterator[HookTried]:
    """Send a test event by each hook, once, as the daemon's account; yield what came of it."""
    program_version()  # while it can be read
    with entered(configuration.daemon.state_directory, shared=True):
        for table in configuration.hook:
            text = "a test, asked for by innobrim config check --hooks"
            event = event_of(HookType.TEST, "test", text, wall=time.time(), mode=configuration.loop.mode)
            fine, said = _sent(table, Told.now(event))
            yield HookTried(table.name, shown(table), fine, said)


def _sent(table: HookTable, one: Told) -> tuple[bool, str]:
    ends = time.monotonic() + table.timeout
    try:
        said = deliver(table, one.ident, one.event.type, one.body, ends=lambda: ends, environ=os.environ)
    except DeliveryError as error:
        return False, str(error)
    return True, said


def _certificate(found: Examined) -> Iterator[Fault]:
    files, source = found.config.api.certificate, found.sources.get("api.tls")
    if not found.config.api.port or files is None or source is None:
        return
    from api.server import ApiServerError, Certificate  # noqa: PLC0415 - most have none, and need no server

    try:
        Certificate(files).context()
    except ApiServerError as error:
        yield Fault(str(error), source.origin, "api.tls", files, source.line)


def _checked(answer: Checked) -> Iterator[str]:
    for fault in answer.faults:
        yield f"PROBLEM  {fault.text}" + (f" (line {fault.line})" if fault.line else "")
    for warning in answer.warnings:
        yield f"warning  {warning}"
    for one in answer.hooks:
        word = "delivered" if one.fine else "FAILED"
        yield f"hook     {one.hook}, {one.to}: {word}: {one.said}"
    file = answer.file or f"no file, as there is no {DEFAULT_PATH}"
    count = len(answer.faults)
    yield f"{file}: {f'{count} to mend' if count else 'a daemon would start with this configuration'}"


@config.command("show")
@_examining(click.option("--changed", is_flag=True, help="Only what is not the default."))
def show_config(found: Examined, *, changed: bool, as_json: bool) -> None:
    """Print the values in force as TOML, each with where it comes from; passwords are never shown.

    The URLs and commands of hooks are shown whole: a secret in them is to be taken out before others see it.
    The output is a configuration file with the same effect. Exit 2 where the configuration is wrong.

    Example: innobrim config show --changed
    """
    if found.faults:
        raise ConfigError(found.faults)
    login = read_credentials(found.config.server, environ=os.environ)
    known = {**KEYS, **({} if found.config.fleet == FleetTable() else FLEET_KEYS)}
    keys = tuple(_in_force(found, key) for key in known.values())
    answer = Shown(
        file=found.file,
        keys=tuple(one for one in keys if not changed or one.value != one.default),
        schedule=tuple(map(_given, found.config.schedule)),
        hook=tuple(map(_given, found.config.hook)),
        hosted={} if found.config.hosted is None else _given(found.config.hosted),
        server=str(login),
        password_from=login.password_from,
    )
    if as_json:
        say_json(answer)
    else:
        say(*_toml_of(answer))


def _given(table: Struct) -> dict[str, Any]:
    """Return the keys of a table that are not left out."""
    return {name: value for name, value in msgspec.to_builtins(table).items() if value not in (None, False)}


def _in_force(found: Examined, key: Key) -> InForce:
    source: Source | None = found.sources.get(key.dotted)
    value, default = (msgspec.to_builtins(one) for one in (_value(found, key), key.default))
    where = (None, None) if source is None else (source.origin, source.line)
    return InForce(key.dotted, value, default, *where)


def _value(found: Examined, key: Key) -> object:
    return getattr(getattr(found.config, key.section), key.name)


def _written(value: Value) -> str:
    return "left out" if value is None else toml(value)


def _from(one: InForce) -> str:
    if one.source is None:
        return "default"
    return one.source + (f":{one.line}" if one.line else "")


def _toml_of(answer: Shown) -> Iterator[str]:
    password = f"password from {answer.password_from}" if answer.password_from else "no password"
    yield f"# {answer.file or 'no file'}; the login is {answer.server}, {password}"
    for section in (*SECTIONS, FLEET):
        mine = [one for one in answer.keys if one.key.startswith(f"{section}.")]
        if mine:
            yield from ("", BRACKETS[section])
        texts = [_assigned(one.key.partition(".")[2], one.value) for one in mine]
        width = max(map(len, texts), default=0)
        yield from (f"{text:<{width}}  # {_from(one)}" for text, one in zip(texts, mine, strict=True))
    tables = [(HOSTED, one) for one in (answer.hosted,) if one]
    tables += [(SCHEDULE, one) for one in answer.schedule] + [(HOOK, one) for one in answer.hook]
    for section, table in tables:
        yield from ("", BRACKETS[section], *(_assigned(name, value) for name, value in table.items()))


def _assigned(name: str, value: object) -> str:
    return f"# {name} is left out" if value is None else f"{name} = {toml(value)}"


@config.command("explain")
@click.argument("name", metavar="KEY")
@_examining()
def explain_config(found: Examined, *, name: str, as_json: bool) -> None:
    """Say what a key means, what it takes, its default, when a change takes effect, and where it is set now.

    KEY is a key with or without its section, its variable, or the beginning of several, such as loop or
    loop.max, which lists these. Exit 2: there is no such key, and the nearest one is named.

    Example: innobrim config explain loop.set_point
    """
    names = named(name)
    answer = [_explained(found, dotted) for dotted in names]
    if as_json:
        say_json(Keys(tuple(answer)))
    elif len(answer) == 1:
        say(*_explanation(answer[0]))
    else:
        say(*columns([(one.key, one.meaning) for one in answer], indent=""))


def named(name: str) -> Sequence[str]:
    """Return the dotted names of the keys that a name means: one, or all that it is the beginning of.

    Raises:
        Unusable: there is none; the message has the nearest.
    """
    asked = name.strip().strip("[]")
    if asked in BY_VARIABLE:
        return [BY_VARIABLE[asked].dotted]
    asked = asked.lower().replace("-", "_")
    bare = {dotted: key.name for dotted, key in ALL.items()}
    groups = (
        [dotted for dotted in ALL if dotted == asked],
        [dotted for dotted in KEYS if bare[dotted] == asked],
        [dotted for dotted in ALL if bare[dotted] == asked],
        [dotted for dotted in ALL if dotted.startswith(asked)],
        [dotted for dotted in ALL if bare[dotted].startswith(asked)],
    )
    if asked and (found := next(filter(None, groups), [])):
        return found
    gone: Mapping[str, str] = {**REMOVED, **WITHOUT_EFFECT}
    near = nearest_key(asked)
    hint = f"did you mean {near}?" if near else f"a key begins with one of {', '.join(BRACKETS)}"
    raise Unusable(f"{name}: no key; {gone.get(asked, hint)}")


def _explained(found: Examined, dotted: str) -> Explained:
    key = ALL[dotted]
    in_file, required = dotted in ALONE, key.default is msgspec.NODEFAULT
    alone = in_file and key.section != FLEET
    return Explained(
        key=dotted,
        meaning=key.description,
        takes=key.accepts,
        optional=key.optional,
        default=None if required else msgspec.to_builtins(key.default),
        required=required,
        variable=None if in_file else key.variable,
        reloads=key.reloads,
        api=key.section == "loop" and key.name in overlay.NAMES,
        now=None if alone else _in_force(found, key),
    )


def _explanation(one: Explained) -> Iterator[str]:
    takes = f"{one.takes}; may be left out" if one.optional else one.takes
    when = "at the next start of the daemon"
    if one.reloads:
        when = "with a reload, while the daemon runs" + (
            "; until its end by PATCH /v1/settings" if one.api else ""
        )
    rows = [("takes", takes)]
    rows.append(("default", "none, it must be given" if one.required else _written(one.default)))
    if one.now is not None:
        rows.append(("now", f"{_written(one.now.value)} ({_from(one.now)})"))
    rows.append(("a change", when))
    table = BRACKETS[one.key.partition(".")[0]]
    rows.append(("variable", one.variable or f"none: it stands in a table {table} of the file"))
    yield one.key
    yield f"  {one.meaning}"
    yield from columns(rows)
