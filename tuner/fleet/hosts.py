"""Every server of a fleet by the figures that Prometheus has, and what they come to together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Protocol

from msgspec import Meta, Struct

from tuner.fleet.sources import Series, SourceError, Target
from tuner.records import HoldCode

NEEDED = ("innobrim_up", "innobrim_baseline_back", "innobrim_build_info", "innobrim_server_info")
"""Without these a server is not known."""

NUMBERS = (
    *("up", "innobrim_may_write", "innobrim_changes_last_hour"),
    *("innobrim_ledger_saved_pages", "innobrim_ledger_saved_ratio"),
    *NEEDED,
)
HOLDS: Mapping[str, str] = {
    HoldCode.STALE: "its server does not answer",
    HoldCode.RESTARTED: "mysqld was restarted; it goes on by itself",
    HoldCode.FOREIGN_CHANGE: "somebody else changed the values",
    HoldCode.PAUSED: "paused, or parked",
    HoldCode.NOT_WRITER: "the server is read-only, or another daemon writes",
    HoldCode.PRIVILEGE_LOST: "the account may no longer write",
    HoldCode.INERT: "the server does not flush by age",
    HoldCode.RESIZING: "the redo log is being resized",
    HoldCode.MODEL_MISMATCH: "the server does not flush as its source says",
}
"""Why a server is held, by the code of the hold."""

USUAL = frozenset({HoldCode.RESTARTED, HoldCode.NOT_WRITER, HoldCode.RESIZING})
"""Holds that end by themselves, or are a replica's."""

WORST = 10


class Asked(Protocol):
    """Whoever has the figures."""

    def query(self, expression: str) -> Sequence[Series]:
        """Return the series of an expression."""
        ...


class Host(Struct):
    """One server and its daemon; what is not known is none."""

    name: Annotated[str, Meta(description="label instance")]
    identity: Annotated[str, Meta(description="of the server; empty where unknown")] = ""
    server: Annotated[str, Meta(description="version of the server")] = ""
    version: Annotated[str, Meta(description="version of the daemon")] = ""
    mode: Annotated[str, Meta(description="advisory or active; empty where unknown")] = ""
    holds: Annotated[list[str], Meta(description="codes of what keeps it from writing")] = []
    may_write: Annotated[bool, Meta(description="active, and nothing holds")] = False
    changes_last_hour: float | None = None
    saved_pages: Annotated[float | None, Meta(description="likely page writes saved since activation")] = None
    saved_ratio: Annotated[float | None, Meta(description="the same as a share")] = None
    sync_pages_per_second: float = 0.0
    baseline_back: Annotated[bool, Meta(description="the originals are back, as it did worse")] = False
    answers: Annotated[bool, Meta(description="Prometheus scrapes the daemon")] = False
    scraped: Annotated[bool, Meta(description="Prometheus has it among its targets")] = True
    reads: Annotated[bool, Meta(description="the daemon reads its server")] = False
    trouble: Annotated[str, Meta(description="what is wrong with it, in words; empty for nothing")] = ""
    rank: Annotated[int, Meta(description="kind of the trouble, the worst is 0")] = 9


class Held(Struct):
    """Servers that one reason keeps from writing."""

    code: str
    why: str
    hosts: list[str]


class View(Struct):
    """A fleet at a glance."""

    hosts: int
    answering: int
    writing: Annotated[int, Meta(description="active, and nothing holds")]
    modes: dict[str, int]
    versions: Annotated[dict[str, int], Meta(description="of the daemons")]
    servers: Annotated[dict[str, int], Meta(description="versions of the servers")]
    held: list[Held]
    changes_last_hour: float
    saved_pages: float
    worst: list[Host]
    troubled: Annotated[int, Meta(description="servers with a trouble that is nothing usual")]
    unscraped: Annotated[list[str], Meta(description="targets that Prometheus has no figures of")]


def hosts(asked: Asked, selector: str, targets: Iterable[Target] = ()) -> list[Host]:
    """Return every server that Prometheus scrapes, and every target that it does not, worst first.

    Three queries, however many servers there are.

    Raises:
        SourceError: Prometheus does not answer, or has nothing of ours.
    """
    found: dict[str, Host] = {}

    def host(series: Series) -> Host:
        name = series.metric.get("instance", "")
        return found.setdefault(name, Host(name))

    seen = set[str]()
    names = "|".join(NUMBERS)
    for one in asked.query(f'{{__name__=~"{names}",bound=~"likely|",{selector}}}'):
        seen.add(one.metric["__name__"])
        _take(host(one), one)
    if "innobrim_up" not in seen:
        what = "no target at all" if "up" not in seen else "targets, and none of them exports innobrim_up"
        raise SourceError(
            f"Prometheus has {what} for {{{selector}}}; --selector is the label of the scrape job, such as "
            f"""'job="innobrim"'""",
            reached=True,
        )
    if absent := [name for name in NEEDED if name not in seen]:
        raise SourceError(
            f"Prometheus has no {absent[0]} for {{{selector}}}: its relabelling drops it, or the daemons are "
            "too old for it",
            reached=True,
        )
    for one in asked.query(f'{{__name__=~"innobrim_(mode|hold)",{selector}}} == 1'):
        labels = one.metric
        if "mode" in labels:
            host(one).mode = labels["mode"]
        else:
            host(one).holds = [*host(one).holds, labels["code"]]
    for one in asked.query(f"rate(innobrim_sync_flushed_pages_total{{{selector}}}[5m]) > 0"):
        host(one).sync_pages_per_second = one.number
    for target in targets:
        found.setdefault(target.name, Host(target.name, scraped=False))
    for known in found.values():
        known.rank, known.trouble = _trouble(known)
    return sorted(found.values(), key=lambda it: (it.rank, -it.sync_pages_per_second, it.saved_ratio or 0.0))


def _take(host: Host, series: Series) -> None:
    name, labels, number = series.metric["__name__"], series.metric, series.number
    match name:
        case "innobrim_build_info":
            host.version = labels.get("version", "")
        case "innobrim_server_info":
            host.identity, host.server = labels.get("identity", ""), labels.get("version", "")
        case "up":
            host.answers = number == 1.0
        case "innobrim_up":
            host.reads = number == 1.0
        case "innobrim_may_write" | "innobrim_baseline_back":
            setattr(host, name.removeprefix("innobrim_"), number == 1.0)
        case "innobrim_changes_last_hour":
            host.changes_last_hour = number
        case _:
            setattr(host, name.removeprefix("innobrim_ledger_"), number)


def _trouble(host: Host) -> tuple[int, str]:
    """Return how bad the worst is that is wrong with a server, 0 the worst and 9 nothing, and what it is."""
    unusual = [code for code in host.holds if code not in USUAL]
    active = host.mode == "active"
    kinds = (
        (not host.scraped, "is a target, and Prometheus has no figures of it"),
        (not host.answers, "Prometheus gets no answer of its daemon"),
        (not host.reads, HOLDS[HoldCode.STALE]),
        (host.baseline_back, "did worse than with its originals, which are back"),
        (active and bool(unusual), "; ".join(f"{code}: {HOLDS.get(code, 'held')}" for code in unusual)),
        (host.sync_pages_per_second > 0.0, f"sync flushing, {host.sync_pages_per_second:.3g} pages/s"),
        ((host.saved_ratio or 0.0) < 0.0, f"writes {-(host.saved_ratio or 0.0):.0%} more pages"),
    )
    return next(((rank, said) for rank, (is_so, said) in enumerate(kinds) if is_so), (9, ""))


GRAVE = 4
"""Ranks up to this one want somebody to look."""


def view(found: Sequence[Host]) -> View:
    """Return what the servers come to together."""
    held: dict[str, list[str]] = {}
    for host in found:
        for code in host.holds:
            held.setdefault(code, []).append(host.name)
    return View(
        hosts=len(found),
        answering=sum(host.answers for host in found),
        writing=sum(host.may_write for host in found),
        modes=_counted(host.mode for host in found),
        versions=_counted(host.version for host in found),
        servers=_counted(host.server for host in found),
        held=[Held(code, HOLDS.get(code, "held"), names) for code, names in sorted(held.items())],
        changes_last_hour=sum(host.changes_last_hour or 0.0 for host in found),
        saved_pages=sum(host.saved_pages or 0.0 for host in found),
        worst=[host for host in found if host.trouble][:WORST],
        troubled=sum(host.rank <= GRAVE for host in found),
        unscraped=[host.name for host in found if not host.scraped],
    )


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(word or "unknown" for word in words).items()))


def history(asked: Asked, selector: str, found: Iterable[Host], seconds: int) -> tuple[set[str], set[str]]:
    """Return the names of those that were active so long ago, and of those whose originals were back since.

    A server whose daemon does not answer now gets the identity that it had.

    Raises:
        SourceError: Prometheus does not answer.
    """
    silent = {host.name: host for host in found if not host.identity}
    for one in (
        asked.query(f"last_over_time(innobrim_server_info{{{selector}}}[{seconds}s])") if silent else ()
    ):
        if (host := silent.get(one.metric.get("instance", ""))) is not None:
            host.identity = one.metric.get("identity", "")
    then = asked.query(f'innobrim_mode{{mode="active",{selector}}} offset {seconds}s == 1')
    back = asked.query(f"max_over_time(innobrim_baseline_back{{{selector}}}[{seconds}s]) == 1")
    return _named(then), _named(back)


def _named(series: Iterable[Series]) -> set[str]:
    return {one.metric.get("instance", "") for one in series}
