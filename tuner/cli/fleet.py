"""``innobrim fleet``: many servers, by what Prometheus knows of them; it logs in nowhere."""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import click
from msgspec import Meta, Struct
from msgspec.structs import replace

from tuner.cli.answer import (
    FINE,
    NO,
    UNFINISHED,
    UNREACHABLE,
    Group,
    Unreachable,
    Unusable,
    answering,
    say,
    say_json,
)
from tuner.cli.options import Duration, json_option, with_options
from tuner.cli.wording import columns, counted
from tuner.config.fleet import belongs
from tuner.config.load import examine
from tuner.config.schema import ConfigError
from tuner.fleet.calls import Told, tell
from tuner.fleet.hosts import Host, View, history, hosts, view
from tuner.fleet.sources import Prometheus, SourceError, Target, client, targets
from tuner.fleet.stage import Count, Verdict, at_most, evidence, following, judged
from tuner.system.files import read_whole, require_plain

SHOWN = 5
"""Names in a line of text; --json has all."""

ALONE = (
    "a daemon that is not reached keeps its own guards: limits, budget of changes, baseline. A daemon that "
    "is down has parked. Set paused = true in [fleet] of the group's file for these"
)

_STAGE = re.compile(r"(\s*active_percent\s*=\s*)([0-9._eE+-]+)")

EXITS = {Verdict.PROCEED: FINE, Verdict.WAIT: UNFINISHED, Verdict.STOP: NO}


class Stage(Struct, frozen=True):
    """What ``fleet activate`` prints."""

    verdict: Annotated[Verdict, Meta(description="whether the next stage may begin")]
    why: str
    percent: Annotated[float, Meta(description="active_percent of the file")]
    next_percent: Annotated[float | None, Meta(description="the stage that may begin; none after the last")]
    members: Annotated[list[str], Meta(description="servers that belong to the stage")]
    active: Annotated[int, Meta(description="of these, active at any time")]
    observed: Annotated[int, Meta(description="of these, active for the whole time of observation, or worse")]
    worse: Annotated[list[str], Meta(description="of these, back at their originals as they did worse")]
    missing: Annotated[list[str], Meta(description="of these, not active, or not for long enough")]
    evidence: Annotated[float, Meta(description="likelihood ratio of 3 % worse against 0.2 %; stop at 20")]
    at_most: Annotated[float, Meta(description="share that gets worse at the most, by 95 %")]
    written: Annotated[bool, Meta(description="the next stage was written to the file")] = False


class Switched(Struct, frozen=True):
    """What ``fleet pause``, ``park`` and ``resume`` print."""

    asked: str
    done: int
    unreachable: int
    refused: int
    hosts: list[Told]
    seconds: float


@dataclass(frozen=True, slots=True)
class Sources:
    """What the command line says of where to ask."""

    prometheus: str
    selector: str
    targets: str | None
    token_file: str | None
    ca_file: str | None

    def read(self) -> tuple[Prometheus, list[Target]]:
        """Return Prometheus and the targets that are listed."""
        asking = client(_tokens(self.token_file).get("", ""), _trust(self.ca_file))
        return Prometheus(self.prometheus, asking), targets(self.targets, asking) if self.targets else []


_ca_option = click.option(
    "--ca-file", metavar="FILE", help="Whom to trust for https besides the system, PEM."
)
_targets_option = partial(
    click.option,
    "--targets",
    metavar="FILE|URL",
    help="The targets of Prometheus: a JSON file of file_sd, or the URL of http_sd.",
)
_sources = with_options(
    click.option("--prometheus", metavar="URL", help="Prometheus, such as http://127.0.0.1:9090."),
    click.option("--selector", default='job="innobrim"', show_default=True, help="Labels of the fleet."),
    _targets_option(),
    click.option("--token-file", metavar="FILE", help="Bearer token for Prometheus and http_sd."),
    _ca_option,
    json_option,
)


def _asking(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say where to ask, and hand them over as one ``sources``."""

    @wraps(function)
    def command(**given: Any) -> None:  # noqa: ANN401 - click hands over every option
        names = ("prometheus", "selector", "targets", "token_file", "ca_file")
        sources = Sources(**{name: given.pop(name) for name in names})
        context = click.get_current_context()
        if context.invoked_subcommand is not None:
            return
        if not sources.prometheus:
            raise click.UsageError(
                "--prometheus is missing: the address of Prometheus, such as http://127.0.0.1:9090"
            )
        with answering(as_json=given["as_json"]), _reached():
            function(sources, **given)

    return _sources(command)


class _reached:  # noqa: N801 - used as a statement
    """Ends a command with an exit code where a source fails."""

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Say what failed."""
        if isinstance(error, SourceError):
            raise (Unusable if error.reached else Unreachable)(str(error)) from error


@click.group(cls=Group, invoke_without_command=True)
@_asking
def fleet(sources: Sources, *, as_json: bool) -> None:
    """Show all servers that Prometheus scrapes: the worst, who is held, changes, saved writes, versions.

    Exit 1: a server does not answer, gave its originals back, or is held so that somebody has to look.

    Example: innobrim fleet --prometheus http://127.0.0.1:9090
    """
    prometheus, listed = sources.read()
    found = view(hosts(prometheus, sources.selector, listed))
    if as_json:
        say_json(found)
    else:
        say(*_shown(found))
    sys.exit(NO if found.troubled else FINE)


def _shown(found: View) -> Iterator[str]:
    yield from columns(
        [
            ("hosts", f"{found.hosts}; {found.answering} answer, {found.writing} may write"),
            ("modes", _numbers(found.modes)),
            ("changes", f"{found.changes_last_hour:.0f} in the last hour"),
            ("saved", f"{found.saved_pages:,.0f} page writes since activation, likely"),
            ("versions", _numbers(found.versions)),
            ("servers", _numbers(found.servers)),
        ],
        indent="",
    )
    for held in found.held:
        yield f"held      {held.code} ({held.why}): {_names(held.hosts)}"
    if found.unscraped:
        yield f"no figures of {_names(found.unscraped)}"
    yield f"worst of {found.hosts}:" if found.worst else "no server has any trouble"
    yield from columns([(one.name, one.trouble) for one in found.worst]) if found.worst else ()


def _numbers(found: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in found.items())


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more or "none"


@fleet.command("activate")
@click.option(
    "--group", "path", required=True, metavar="FILE", help="The file that has [fleet] active_percent."
)
@click.option("--observe", type=Duration(30 * 86_400), default="24h", show_default=True, help="How long.")
@click.option(
    "--observed",
    "least",
    type=click.FloatRange(1.0, 100.0),
    default=95.0,
    show_default=True,
    help="Percent of the stage that has to be active for as long.",
)
@click.option("--write", is_flag=True, help="Write the next stage into the file where it may begin.")
@_asking
def activate(
    sources: Sources, *, path: str, observe: float, least: float, write: bool, as_json: bool
) -> None:
    """Say whether the next stage of active servers may begin: 0, 1, 10, then 100 percent.

    It stops where servers did worse than with their originals, by a sequential test. Exit 0: proceed, or all
    are active. Exit 4: wait. Exit 1: stop.

    Example: innobrim fleet activate --prometheus http://127.0.0.1:9090 --group group.toml
    """
    percent, file, line = _percent(path)
    prometheus, listed = sources.read()
    found = hosts(prometheus, sources.selector, listed)
    then, back = history(prometheus, sources.selector, found, max(1, round(observe)))
    members = [one for one in found if one.identity and belongs(one.identity, percent)]
    unknown = [one.name for one in found if not one.identity]
    stage = judge(members, then, back, percent=percent, least=least / 100.0)
    if stage.verdict is Verdict.PROCEED and len(unknown) > (1.0 - least / 100.0) * len(found):
        why = f"of {len(unknown)} of {len(found)} servers Prometheus has no identity: {_names(unknown)}"
        stage = replace(stage, verdict=Verdict.WAIT, why=why)
    if write and stage.verdict is Verdict.PROCEED and stage.next_percent is not None:
        _write(file, line, percent, stage.next_percent)
        stage = replace(stage, written=True)
    if as_json:
        say_json(stage)
    else:
        say(*_said(stage))
    sys.exit(EXITS[stage.verdict])


def judge(members: Sequence[Host], then: set[str], back: set[str], *, percent: float, least: float) -> Stage:
    """Return whether the stage after this one may begin.

    Args:
        members: servers of the stage.
        then: names of those that were active for the whole time of observation.
        back: of those whose originals came back meanwhile.
        percent: of the stage.
        least: share of its members that have to be observed.
    """
    worse = [one.name for one in members if one.baseline_back or one.name in back]
    now = {one.name for one in members if one.mode == "active"}
    active = now | (then & {one.name for one in members}) | set(worse)
    observed = (now & then) | set(worse)
    count = Count(len(members), len(active), len(observed), len(worse))
    verdict, why = judged(count, least_observed=least)
    return Stage(
        verdict=verdict,
        why=why,
        percent=percent,
        next_percent=following(percent),
        members=sorted(one.name for one in members),
        active=count.active,
        observed=count.observed,
        worse=worse,
        missing=sorted(one.name for one in members if one.name not in observed),
        evidence=evidence(count.active, count.worse),
        at_most=at_most(count.active, count.worse),
    )


def _percent(path: str) -> tuple[float, str, int | None]:
    """Return the stage that a file names, the file that it stands in, and the line."""
    if not Path(path).is_file():
        raise Unusable(f"--group {path}: no such file; give it the file that has active_percent in [fleet]")
    found = examine(path, environ={}, flags={})
    if found.faults:
        raise ConfigError(found.faults)
    source, percent = found.sources.get("fleet.active_percent"), found.config.fleet.active_percent
    if source is None or percent is None:
        raise Unusable(f"{path}: no active_percent in [fleet]; begin with active_percent = 0")
    return percent, source.origin, source.line


def _write(path: str, line: int | None, percent: float, new_percent: float) -> None:
    """Put the next stage into its line of a file, whose other content, mode and owner stay.

    Raises:
        Unusable: the stage does not stand there, or is another one by now, or the file cannot be written.
    """
    file = Path(path).resolve()
    draft = file.with_name(f".{file.name}.{os.getpid()}")  # who reads meanwhile must not find half a file
    try:
        lines = read_whole(file).decode("utf-8").split("\n")
        found = _STAGE.match(lines[line - 1]) if line is not None and line <= len(lines) else None
        if line is None or found is None:
            raise Unusable(
                f"{path}: active_percent must stand in a line of its own below [fleet], to be written there"
            )
        if float(found[2]) != percent:
            raise Unusable(f"{path}: active_percent was {percent:g}, and is {found[2]} now; begin again")
        lines[line - 1] = f"{found[1]}{new_percent:g}{lines[line - 1][found.end() :]}"
        was = file.stat()
        with draft.open("xb") as new:
            if (was.st_uid, was.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(new.fileno(), was.st_uid, was.st_gid)
            os.fchmod(new.fileno(), was.st_mode & 0o7777)
            new.write("\n".join(lines).encode())
            new.flush()
            os.fsync(new.fileno())
        draft.replace(file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise Unusable(
            f"{path}: the next stage, {new_percent:g}, cannot be written: {error.strerror}"
        ) from error


def _said(stage: Stage) -> Iterator[str]:
    following_stage = "none, all are active" if stage.next_percent is None else f"{stage.next_percent:g} %"
    yield f"{stage.verdict.value}: {stage.why}"
    rows = [
        ("stage", f"{stage.percent:g} %, {counted(len(stage.members), 'server')}; next: {following_stage}"),
        ("worse", f"{_names(stage.worse)}; of all servers at most {stage.at_most:.1%}, with 95 % confidence"),
        ("evidence", f"{stage.evidence:.3g}; above 1 it waits, from 20 on it stops"),
        ("unobserved", _names(stage.missing)),
    ]
    yield from columns(rows)
    if stage.written:
        yield f"active_percent = {stage.next_percent:g} is written"


def _switch(action: Literal["pause", "park", "resume"], text: str) -> None:
    """Add a command that asks every target for the same."""

    @click.option("--reason", default="", help="Why, for the record.")
    @_targets_option(required=True)
    @click.option(
        "--token-file", required=True, metavar="FILE", help="One token, or lines of: instance token."
    )
    @_ca_option
    @json_option
    def command(*, reason: str, targets: str, token_file: str, ca_file: str | None, as_json: bool) -> None:
        with answering(as_json=as_json), _reached():
            _switched(action, reason, targets, token_file, ca_file, as_json=as_json)

    command.__doc__ = f"""{text}

    All are asked at once, for 5 s at most; it may be repeated. Exit 0: all did it. Exit 1: some refuse. Exit
    3: some do not answer.

    Example: innobrim fleet {action} --targets targets.json --token-file token
    """
    fleet.command(action)(command)


def _switched(
    action: Literal["pause", "park", "resume"],
    reason: str,
    source: str,
    token_file: str,
    ca_file: str | None,
    *,
    as_json: bool,
) -> None:
    trust = _trust(ca_file)
    listed, tokens = targets(source, client("", trust)), _tokens(token_file)
    if not listed:
        raise Unusable(f"--targets {source} lists no target")
    began = time.monotonic()
    told = asyncio.run(tell(listed, action, tokens=tokens, reason=reason, verify=trust))
    numbers = [sum(one.outcome == outcome for one in told) for outcome in ("done", "unreachable", "refused")]
    done, unreachable, refused = numbers
    answer = Switched(action, done, unreachable, refused, told, round(time.monotonic() - began, 2))
    if as_json:
        say_json(answer)
    else:
        say(*columns([(one.host, one.outcome, one.said) for one in told if one.outcome != "done"] or [("",)]))
        say(f"{action}: {done} done, {unreachable} unreachable, {refused} refused, in {answer.seconds:g} s")
        if unreachable and action != "resume":
            say(f"unreachable: {ALONE}")
    sys.exit(UNREACHABLE if answer.unreachable else NO if answer.refused else FINE)


_switch("pause", "Have every daemon park, and write nothing until it is resumed.")
_switch("park", "Have every daemon write a setting that is safe without it, and then write nothing.")
_switch("resume", "End the pause of every daemon, and every hold that waits for a person.")


def _tokens(path: str | None) -> Mapping[str, str]:
    """Return the tokens of a file by the host's name; under "" the one for all others.

    Raises:
        Unusable: it cannot be read, or a line is neither.
    """
    if path is None:
        return {}
    try:
        lines = [line.split() for line in read_whole(path).decode("ascii").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise Unusable(
            f"--token-file {path}: {getattr(error, 'strerror', None) or 'no token, not ASCII'}"
        ) from error
    if not lines or any(len(words) > 2 for words in lines):  # noqa: PLR2004 - a name and a token
        right = "a token, or an instance, such as db1:8633, and its token"
        raise Unusable(f"--token-file {path}: each line must be {right}")
    return {"" if len(words) == 1 else words[0]: words[-1] for words in lines}


def _trust(path: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if path is not None:
        try:
            require_plain(path)
            context.load_verify_locations(cafile=path)
        except (OSError, ssl.SSLError) as error:
            raise Unusable(f"--ca-file {path} holds no certificates: {error}") from error
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context
