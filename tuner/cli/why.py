"""``innobrim why``: what was decided and why, in plain sentences, from the journal of days."""

from __future__ import annotations

import re
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import click

from tuner.cli.answer import FINE, NO, Unreachable, Unusable, say, say_json
from tuner.cli.client import DaemonClient, NoDaemon, Where, daemon_options
from tuner.cli.options import Duration, entered
from tuner.cli.wording import columns, duration
from tuner.journal.past import past_of
from tuner.journal.tables import JournalError
from tuner.why.model import Story, Why
from tuner.why.search import Past, of_change, of_moment, of_now, of_span

LONGEST = 366 * 86_400.0
WIDTH = 100
MINUTE = 60.0
MOST_IN_FULL = 3
"""Changes that are told in full where a minute has several."""

OLD_SECONDS = 60.0
"""A newest tick of so long ago is said to be the last one."""

WRITE = "a time of day such as 10:42 or 10:42:07, a date with it such as 2026-11-27T10:42:07, or 5m ago"

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_MINUTE = re.compile(r"(.*[T ])?\d{1,2}:\d{2}(Z|[+-]\d{2}:?\d{2})?")
_AGO = re.compile(r"(.+?)\s*ago")


@click.command()
@click.argument("journal", metavar="[FILE|DIRECTORY]", required=False, type=click.Path(path_type=Path))
@click.option("--at", metavar="TIME", help=f"A moment: {WRITE}.")
@click.option("--last", type=Duration(LONGEST), metavar="TIME", help="All changes of so long, such as 1h.")
@click.option("--change", type=click.IntRange(min=1), metavar="NUMBER", help="One change, by its number.")
@daemon_options
def why(
    where: Where,
    *,
    journal: Path | None,
    at: str | None,
    last: float | None,
    change: int | None,
    as_json: bool,
) -> None:
    """Say what was decided and why: the last change, and why nothing was done since.

    It only reads the journal of the state directory, whether a daemon runs or not; or a journal that you
    name, such as a copy from another machine. With --url or --api-socket it asks that daemon. Times of day
    are local, and count back from the journal's newest tick.

    Exit 0: answered. Exit 1: nothing is known of that time; the nearest known times are named. Exit 2: the
    time or the journal cannot be read. Exit 3: there is neither a journal nor a daemon.

    Example: innobrim why --at 10:42

    Example: innobrim why --last 1h /backup/monday.db
    """
    if sum(one is not None for one in (at, last, change)) > 1:
        raise click.UsageError("--at, --last and --change each ask for something else; give one of them")
    if journal is not None and where.named:
        raise click.UsageError(f"{journal} and {where.named}: a journal or a daemon; name one of them")
    question = _Question(at, last, change)
    question.when(time.time())  # what is no time asks nobody
    found = _asked(where, journal, question)
    if as_json:
        say_json(found)
    else:
        asked = question.when(_ends(found))
        say(*lines(found, now=time.time(), listed=last is not None, asked=asked))
    sys.exit(FINE if found.found else NO)


class _Question(NamedTuple):
    """What somebody wants to know: of a moment, a time or a change; of now where it is none of them."""

    at: str | None
    last: float | None
    change: int | None

    def when(self, ends: float) -> tuple[float, float] | None:
        """Return the moment that is meant and how long it lasts, counted from the newest tick, Unix time."""
        return None if self.at is None else moment(self.at, end=ends)

    def of(self, past: Past) -> Why:
        """Ask a journal."""
        if self.last is not None:
            return of_span(past, self.last)
        if self.change is not None:
            return of_change(past, self.change)
        known = past.known()
        meant = self.when(time.time() if known is None else known[1])
        return of_now(past) if meant is None else of_moment(past, meant[0], lasting=meant[1])

    def of_daemon(self, daemon: DaemonClient) -> Why:
        """Ask a daemon; a moment by its clock, which may be another than this machine's."""
        meant = None if self.at is None else self.when(_ends(_get(daemon, {"last": MINUTE})))
        if meant is not None:
            return _get(daemon, {"at": meant[0], "lasting": meant[1]})
        given = {"last": self.last, "change": self.change}
        return _get(daemon, {name: value for name, value in given.items() if value is not None})


def _ends(answer: Why) -> float:
    """Return the Unix time of the newest tick; now, where there is none."""
    return time.time() if answer.known is None else answer.known.ends


def _asked(where: Where, journal: Path | None, question: _Question) -> Why:
    if journal is not None:
        try:
            with past_of(journal) as past:
                return question.of(past)
        except JournalError as error:
            raise Unusable(str(error)) from error
    daemon = DaemonClient(where)
    if where.named:
        return question.of_daemon(daemon)
    directory = Path(daemon.config.daemon.state_directory)
    try:
        with entered(directory), past_of(directory) as past:
            return question.of(past)
    except JournalError as error:
        try:
            return question.of_daemon(daemon)
        except NoDaemon as nobody:
            raise Unreachable(f"{error}; and {nobody.message}") from error


def _get(daemon: DaemonClient, query: Mapping[str, float]) -> Why:
    return daemon.get(f"/v1/why?{urlencode(query)}" if query else "/v1/why", Why)


def moment(text: str, *, end: float) -> tuple[float, float]:
    """Return the Unix time that somebody means, and for how many seconds: a minute where no second is given.

    Args:
        text: what was typed.
        end: Unix time that "ago" counts from, and after which a time of day is yesterday's.

    Raises:
        click.BadParameter: it is no time.
    """
    given = text.strip()
    ago = _AGO.fullmatch(given.lower())
    if ago is not None:
        return end - Duration(LONGEST).convert(ago[1].replace(" ", ""), None, None), 0.0
    clock = _CLOCK.fullmatch(given)
    try:
        if clock is not None:
            return _newest(end, *(int(part or 0) for part in clock.groups())), _lasting(given)
        wall = datetime.fromisoformat(given).timestamp()  # local, where no zone is given
        _local(wall)
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(f"{text!r} is no time: write {WRITE}", param_hint="--at") from error
    if len(given) <= len("2026-11-27"):
        raise click.BadParameter(f"{text!r} has no time of day: write {WRITE}", param_hint="--at")
    return wall, _lasting(given)


def _lasting(given: str) -> float:
    return MINUTE if _MINUTE.fullmatch(given) else 0.0


def _newest(end: float, hour: int, minute: int, second: int) -> float:
    """Return when the clock last showed a time of day; in autumn it shows those of an hour twice."""
    today = _local(end).replace(hour=hour, minute=minute, second=second, microsecond=0, tzinfo=None)
    shown = [(today - timedelta(days=day)).replace(fold=fold) for day in (0, 1) for fold in (1, 0)]
    return next(at for one in shown if (at := one.timestamp()) <= end)


def _local(wall: float) -> datetime:
    """Return a Unix time as this machine's clock showed it, in summer or winter time."""
    return datetime.fromtimestamp(wall, UTC).astimezone()


def lines(
    answer: Why, *, now: float, listed: bool = False, asked: tuple[float, float] | None = None
) -> Iterator[str]:
    """Yield an answer as lines for people.

    Args:
        answer: what was found.
        now: Unix time; times of another day than this have their date.
        listed: many changes, one line each.
        asked: the moment that was asked for, Unix time and seconds that it lasts; said with the remark.
    """
    today = answer.known.ends if answer.known is not None else now
    stamps = _Stamps(today)
    if answer.known is not None and now - answer.known.ends > OLD_SECONDS and answer.found:
        old = duration(now - answer.known.ends)
        yield f"The newest tick is of {stamps.full(answer.known.ends)}, {old} ago; times count from there."
    if answer.remark and asked is not None:
        yield f"{stamps.full(asked[0])}: {answer.remark}."
    elif answer.remark:
        yield f"{answer.remark[:1].upper()}{answer.remark[1:]}."
    for at, side in ((answer.earlier, "before"), (answer.later, "after")):
        if at is not None:
            yield f"The nearest tick {side}: {stamps.full(at)}."
    if not answer.found and answer.known is not None:
        begins, ends = stamps.full(answer.known.begins), stamps.full(answer.known.ends)
        yield f"{answer.source} keeps every tick from {begins} to {ends}."
    told = list(answer.stories)
    if listed or len(told) > MOST_IN_FULL:
        changes = [one for one in told if one.change is not None]
        yield from columns([_row(one, stamps) for one in changes], indent="") if changes else ()
        if any(one.change is not None and one.change.number for one in changes):
            yield "innobrim why --change NUMBER tells one of them in full."
        told = [one for one in told if one.change is None]
    for one in told:
        yield ""
        yield from _paragraphs(one, stamps)


class _Stamps:
    """Times as they are written: without the date where it is that of the newest tick."""

    def __init__(self, today: float) -> None:
        self._today = _local(today).date()

    def short(self, wall: float) -> str:
        """Return the time of day, with the date where that is another."""
        found = _local(wall)
        return f"{found:%H:%M:%S}" if found.date() == self._today else f"{found:%Y-%m-%d %H:%M:%S}"

    def full(self, wall: float) -> str:
        """Return date, time of day and zone."""
        return f"{_local(wall):%Y-%m-%d %H:%M:%S %Z}"


def _row(one: Story, stamps: _Stamps) -> tuple[str, ...]:
    change = one.change
    number = f"#{change.number}" if change is not None and change.number else ""
    old = "?" if change is None or change.old is None else str(change.old.io_capacity_max)
    new = "?" if change is None or change.new is None else str(change.new.io_capacity_max)
    return number, stamps.short(one.wall), f"innodb_io_capacity_max {old} → {new}", one.brief


def _paragraphs(one: Story, stamps: _Stamps) -> Iterator[str]:
    number = f"Change {one.change.number}. " if one.change is not None and one.change.number else ""
    yield from textwrap.wrap(f"{number}At {stamps.short(one.wall)} {one.headline}", WIDTH)
    for sentence in one.sentences:
        yield from textwrap.wrap(sentence, WIDTH, initial_indent="  ", subsequent_indent="  ")
