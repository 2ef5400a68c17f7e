"""Keys that are fine alone and wrong together."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import ipaddress
import re
import warnings
from collections.abc import Callable, Iterator, Mapping

from tuner.config.schema import PLAIN, ApiSection, Config
from tuner.core.ownership.foreign import baseline
from tuner.records import CAPACITY_MINIMUM
from tuner.settings import OUTER, Settings

BAYES_EXTRA = "pip install '.[bayes]'"
"""What brings in all that the policy bayes needs."""

STATEMENTS_OF_A_CONNECT = 4
"""The session's own limits; the look for a session that was lost, for a restart since, and its KILL."""

STATEMENTS_OF_A_READING = 4
"""The writer lock; counters; then status and surroundings, or the two that turn counters on again."""

STATEMENTS_OF_A_WRITE = 5
"""At most ``tuner.core.writes.plan.LONGEST`` SETs, and both values read back."""

STATEMENTS_OF_A_NEW_LOGIN = 5
"""Before a write that follows a refused one: the writer lock goes back, a session begins, and takes it; then
whether there is a procedure by now, and whether it is the same server."""

STATEMENTS_OF_THE_FACTS = 19
"""What server it is: five; two that turn counters on, or the procedure's bounds and its call that does; the
five again; the surroundings at once, and each of their five parts alone; the error log."""

CONNECTS_OF_A_TICK = 2
"""After a restart of mysqld or a resize no reading is taken and nothing written, but the facts are asked for:
once over a new connection, and the error log over another one where a part of the surroundings hung."""

STATEMENTS_OF_A_TICK = max(
    STATEMENTS_OF_A_CONNECT + STATEMENTS_OF_A_READING + STATEMENTS_OF_A_NEW_LOGIN + STATEMENTS_OF_A_WRITE,
    CONNECTS_OF_A_TICK * STATEMENTS_OF_A_CONNECT + STATEMENTS_OF_THE_FACTS,
)

_NAME = re.compile(r"(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?)+", re.IGNORECASE)


Shown = Callable[[str], str]
"""Returns a key, by its dotted name, with its value and where that came from."""


def contradictions(
    config: Config, *, sources: Mapping[str, str] | None = None, watchdog_seconds: float | None = None
) -> list[str]:
    """Return what contradicts what, one line each; empty when the configuration holds together.

    Args:
        config: values that are each inside their own bounds.
        sources: dotted key to where its value came from, for the messages.
        watchdog_seconds: after how many silent seconds the service manager kills us; None
            without a watchdog.
    """

    def shown(dotted: str) -> str:
        section, _, name = dotted.partition(".")
        value = getattr(getattr(config, section), name)
        return f"{dotted} = {value} ({(sources or {}).get(dotted, 'default')})"

    return [
        *_bounds(config.loop, shown),
        *_baseline(config.loop, shown),
        *_addresses(config, shown),
        *_watchdog(config, shown, watchdog_seconds),
    ]


def unencrypted(config: Config) -> str:
    """Return what else has to be said where the API serves other machines without encryption; or ""."""
    if not (config.api.public and config.api.tls == PLAIN):
        return ""
    return (
        f'api.host = {config.api.host} with api.tls = "{PLAIN}" serves other machines unencrypted: '
        "say --insecure-api as well where that is meant, or give api.tls a certificate and key"
    )


def worst_tick_seconds(config: Config) -> float:
    """Return the longest that one turn of the loop may take in the server's hands.

    The tick that asks again what server it is, with each connect and statement as long as its limit, which is
    one deadline for the whole of it; one that reads and writes sends fewer.
    """
    return (CONNECTS_OF_A_TICK + STATEMENTS_OF_A_TICK) * config.server.timeout


def missing_extra(policy: str) -> str:
    """Return what a policy needs that is not installed, and what brings it in; empty where nothing is."""
    if policy != OUTER or importlib.util.find_spec("skopt") is not None:
        return ""
    return f"needs scikit-optimize, which is not installed: {BAYES_EXTRA}"


def unusable_extra(policy: str) -> str:
    """Return as ``missing_extra`` what a policy lacks, what is installed and cannot be imported with it.

    It imports what it looks at, which takes a second and 125 MiB: for a command that is about to ask the
    policy or to list it, and not for the daemon, whose optimiser is a process of its own.
    """
    if missing := missing_extra(policy):
        return missing
    if policy != OUTER:
        return ""
    try:
        # a library that was built for another numpy says so in dozens of lines by itself
        with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _ = importlib.import_module("skopt").Optimizer
    except Exception as error:  # noqa: BLE001 - whatever a library of another build fails with
        return (
            f"needs scikit-optimize, which is installed and cannot be imported: {_reason(error)}; "
            f"{BAYES_EXTRA}, with --force-reinstall where that changes nothing"
        )
    return ""


def _reason(error: BaseException) -> str:
    """Return what an import failed by in the end, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).split("\n")
    return f"{type(error).__name__}: {next(filter(str.strip, lines), '').strip()[:200]}"


def _bounds(loop: Settings, shown: Shown) -> Iterator[str]:
    lowest, highest, ratio = loop.min_io_capacity_max, loop.max_io_capacity_max, loop.ratio or 1
    if lowest > highest:
        below, above = highest // ratio * ratio, -(-lowest // ratio) * ratio
        lower = f"lower the first to {below} or " if below >= CAPACITY_MINIMUM * ratio else ""
        yield (
            f"{shown('loop.min_io_capacity_max')} is above {shown('loop.max_io_capacity_max')}; "
            f"{lower}raise the second to {above}"
        )
    yield from _no_whole_ratio(loop, shown)
    if missing := missing_extra(loop.policy):
        yield f"{shown('loop.policy')} {missing}"
    if loop.policy == "fixed" and lowest <= highest:
        yield from _fixed(loop, shown)


def _fixed(loop: Settings, shown: Shown) -> Iterator[str]:
    fixed, lowest, highest = loop.fixed_io_capacity_max, loop.min_io_capacity_max, loop.max_io_capacity_max
    if fixed > highest:
        yield (
            f"{shown('loop.fixed_io_capacity_max')} is above {shown('loop.max_io_capacity_max')}; "
            f"lower the first to {highest} or raise the second to {fixed}"
        )
    if fixed < lowest:
        lower = f" or lower the second to {fixed}" if fixed >= CAPACITY_MINIMUM * (loop.ratio or 1) else ""
        yield (
            f"{shown('loop.fixed_io_capacity_max')} is below {shown('loop.min_io_capacity_max')}; "
            f"raise the first to {lowest}{lower}"
        )


def _baseline(loop: Settings, shown: Shown) -> Iterator[str]:
    pair = baseline(loop)
    if pair is not None and not CAPACITY_MINIMUM <= pair.io_capacity <= pair.io_capacity_max:
        yield (
            f"{shown('loop.baseline')} is no pair that a server takes: innodb_io_capacity is at least "
            f"{CAPACITY_MINIMUM} and at most innodb_io_capacity_max"
        )


def _no_whole_ratio(loop: Settings, shown: Shown) -> Iterator[str]:
    """Say where no M between the limits is a whole multiple of the ratio, of a C that a server takes."""
    lowest, highest, ratio = loop.min_io_capacity_max, loop.max_io_capacity_max, loop.ratio or 1
    below = highest // ratio * ratio
    if lowest <= highest < CAPACITY_MINIMUM * ratio:
        most = highest // CAPACITY_MINIMUM
        yield (
            f"{shown('loop.ratio')} times {CAPACITY_MINIMUM}, the least innodb_io_capacity, is above "
            f"{shown('loop.max_io_capacity_max')}; lower the first to {most} or raise the second to "
            f"{CAPACITY_MINIMUM * ratio}"
        )
    elif below < lowest <= highest:
        yield (
            f"no multiple of {shown('loop.ratio')} lies between {shown('loop.min_io_capacity_max')} and "
            f"{shown('loop.max_io_capacity_max')}; lower the first to {below} or raise the second to "
            f"{below + ratio}"
        )


def _addresses(config: Config, shown: Shown) -> Iterator[str]:
    if config.server.tls_ca is not None and config.server.tls in {None, "off", "preferred"}:
        given = "without server.tls" if config.server.tls is None else f"with {shown('server.tls')}"
        yield (
            f"{shown('server.tls_ca')} has no effect {given}: the server would not be checked; "
            'set tls = "required", or "verify_ca" where its certificate has no host name, or leave tls_ca out'
        )
    if config.api.port:
        yield from _api(config.api, shown)


def _api(api: ApiSection, shown: Shown) -> Iterator[str]:
    if not _is_address(api.address):
        yield (
            f"{shown('api.host')} does not begin with an address; expected 127.0.0.1, ::1, localhost or an "
            "address of this machine, and names after it with commas between"
        )
        return
    for name in api.names:
        if not _is_address(name) and not _NAME.fullmatch(name):
            yield f"{shown('api.host')}: {name!r} is no name of a machine, such as db1.example.com"
    if api.public and api.tls is None:
        yield (
            f"{shown('api.host')} is not a loopback address, so that other machines can reach it: give "
            "api.tls a certificate and key, or use 127.0.0.1; to do without encryption, say so twice: "
            f'api.tls = "{PLAIN}" and innobrim run --insecure-api'
        )


def _is_address(text: str) -> bool:
    try:
        return text == "localhost" or bool(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        return False


def _watchdog(config: Config, shown: Shown, seconds: float | None) -> Iterator[str]:
    if seconds is None:
        return
    worst = worst_tick_seconds(config)
    if worst >= seconds / 2:
        yield (
            f"{shown('server.timeout')} lets one tick take "
            f"{worst:g} s ({CONNECTS_OF_A_TICK} connects and {STATEMENTS_OF_A_TICK} statements), "
            f"which must stay below half of WatchdogSec={seconds:g}; lower it or raise WatchdogSec "
            f"above {2 * worst:g}"
        )
