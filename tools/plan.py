"""What is measured next: every comparison, in the order in which a reader would ask for it.

``plan.toml`` beside this file has the order. A comparison is done when all of its rows are there and no older
than the policy in force. ``--time`` measures what is not done, from the top, and makes its page anew.
"""

from __future__ import annotations

import functools
import itertools
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from lab.bench import store
from lab.bench.plan import Asked, Suite, load_suite
from lab.bench.progress import Remaining, in_words
from lab.bench.revision import git
from lab.report.rows import ReportError
from lab.servers.made import image_of
from tools import proof
from tools.proof import Since
from tuner.cli.answer import UNFINISHED
from tuner.cli.bench import WEEK, bench
from tuner.cli.options import Duration

ORDER = Path(__file__).with_suffix(".toml")
BLOCK = "block"


class Comparison(NamedTuple):
    """One server under one load.

    Attributes:
        suite: a name of ``suite_names``.
        server: a name of ``make servers``.
        variant: of the suite; empty where it has none.
    """

    suite: str
    server: str
    variant: str

    def __str__(self) -> str:
        return ", ".join(word for word in self if word)


class State(NamedTuple):
    """How far a comparison is.

    Attributes:
        when: the day of its newest row; empty without rows.
        age: changes of the policy since its oldest row; None without rows, or where one has no commit.
        left: seconds that it takes to measure what is missing or older; 0 where nothing is.
    """

    when: str
    age: int | None
    left: float

    def __str__(self) -> str:
        if not self.when:
            return f"not measured; {in_words(self.left)}"
        if not self.left:
            return f"measured {self.when}"
        if self.age == 0:
            return f"begun {self.when}; {in_words(self.left)} left"
        older = "no commit" if self.age is None else f"{self.age} changes of the policy ago"
        return f"older: {self.when}, {older}; {in_words(self.left)}"


class _Kept(NamedTuple):
    """One directory: what was asked for, and the rows."""

    directory: Path
    asked: dict[str, Any]
    rows: list[store.Row]


def order() -> tuple[Comparison, ...]:
    """Return every comparison, what a reader would ask for first at the beginning."""
    asked = tomllib.loads(ORDER.read_text(encoding="utf-8"))["comparisons"]
    return tuple(Comparison(*words) for words in asked)


class Plan:
    """The comparisons that are held against the rows in a place."""

    def __init__(self, place: Path, since: Since, policy: str) -> None:
        """Read what is there.

        Args:
            place: directories of a bench each.
            since: how many changes of the policy are younger than a revision.
            policy: the commit of the policy in force; names directories of what is measured again.
        """
        self._place = place
        self._since = functools.cache(since)
        self._policy = policy
        self._kept = [_kept(path.parent) for path in sorted(place.glob(f"*/{store.ASKED}"))]

    def state(self, comparison: Comparison) -> State:
        """Return how far a comparison is: by the rows of which least is missing, else by the newest."""
        suite = load_suite(comparison.suite)
        (plan,) = (one for one in suite.plans if one.variant == comparison.variant)
        found = [State("", None, Remaining([plan], []).seconds())]
        for kept in self._of(comparison):
            rows = [row for row in kept.rows if row["variant"] == comparison.variant]
            blocks = [row for row in rows if row["stage"] == BLOCK] or rows
            if not rows:
                continue
            age = self._age(blocks)
            left = Remaining([plan], rows if age == 0 else []).seconds()
            found.append(State(max(row["when"] for row in blocks)[:10], age, left))
        return min(reversed(found), key=lambda one: (one.left, one.age is None, one.age))

    def words(self, comparison: Comparison) -> list[str]:
        """Return what ``innobrim bench`` is asked for to measure, or go on with, a comparison."""
        suite = load_suite(comparison.suite)
        current = [kept for kept in self._of(comparison) if self._goes_on(kept, suite)]
        words = ["--variant", comparison.variant] if comparison.variant else []
        if current:
            return ["--resume", str(current[-1].directory), *words]
        name = f"{comparison.suite}-{comparison.server.removeprefix('mysql-')}"
        again = f"{name}-{self._policy[:8]}"
        names = itertools.chain([name, again], (f"{again}-{number}" for number in itertools.count(2)))
        free = next(path for one in names if not (path := self._place / one).exists())
        asked = ["--suite", comparison.suite, "--server", comparison.server]
        return [*asked, "--output", str(free), *words]

    def _of(self, comparison: Comparison) -> list[_Kept]:
        names = {comparison.server, image_of(comparison.server)}
        return [
            kept
            for kept in self._kept
            if kept.asked["name"] == comparison.suite
            and (kept.asked["server"] in names or comparison.server in Path(kept.asked["server"]).parts)
        ]

    def _goes_on(self, kept: _Kept, suite: Suite) -> bool:
        new = not kept.rows or self._age(kept.rows) == 0
        return new and msgspec.convert(kept.asked, Asked).suite.digest == suite.digest

    def _age(self, rows: Sequence[store.Row]) -> int | None:
        ages = [self._since(one) for one in {row.get("revision", "") for row in rows}]
        known = [age for age in ages if age is not None]
        return max(known) if known and len(known) == len(ages) else None


def _kept(directory: Path) -> _Kept:
    asked = msgspec.json.decode((directory / store.ASKED).read_bytes())
    return _Kept(directory, asked, store.read_rows(directory / store.ROWS))


def listed(plan: Plan, comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Yield a line for each comparison, and what is left to measure."""
    states = [plan.state(one) for one in comparisons]
    for number, (one, state) in enumerate(zip(comparisons, states, strict=True), 1):
        yield f"{number:>2}  {one}: {state}"
    left = [state.left for state in states if state.left]
    yield f"{len(left)} of {len(states)} comparisons to measure: {in_words(sum(left))}"


def measure(comparisons: Sequence[Comparison], since: Since, policy: str, seconds: float) -> int:
    """Measure what is not done, in order, and return 0, or what the bench exits with where it ends early."""
    end = time.monotonic() + seconds
    for one in comparisons:
        plan = Plan(proof.BENCH, since, policy)
        if not plan.state(one).left:
            continue
        left = int(end - time.monotonic())
        if left <= 0:
            return UNFINISHED
        click.echo(f"plan: {one}")
        ended: int | None = bench.main(
            [*plan.words(one), "--time", f"{left}s"], prog_name="innobrim bench", standalone_mode=False
        )
        proof.write(since, policy)
        if ended:
            return ended
    return 0


@click.command()
@click.option(
    "--time", "limit", type=Duration(WEEK), metavar="55m", help="Measure; begin no row after so long."
)
def main(*, limit: float | None) -> None:
    """Say what was measured, what is older than the policy in force, and what is next; or measure it."""
    policy = proof.in_force()
    if not policy or not proof.is_whole():
        raise click.ClickException(f"{proof.ROOT} has no whole history, by which rows have their age")
    since = proof.changes_since(policy)
    try:
        if limit is None:
            click.echo(f"policy in force: {git(proof.ROOT, 'log', '-1', '--format=%h %cs %s', policy)}")
            for line in listed(Plan(proof.BENCH, since, policy), order()):
                click.echo(line)
            return
        ended = measure(order(), since, policy, limit)
    except (ReportError, ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    if ended:
        raise click.exceptions.Exit(ended)


if __name__ == "__main__":
    main()
