"""What is measured next: every comparison, in the order in which a reader would ask for it.

``plan.toml`` beside this file has the order. A comparison is done when all of its rows are there and no older
than the policy in force. ``--time`` measures what is not done, from the top, and makes its page anew.
"""

from __future__ import annotations

import itertools
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from lab.bench import revision
from lab.bench.plan import Asked, Plan, Suite, load_suite
from lab.bench.progress import Remaining, in_words
from lab.bench.store import PlanError
from lab.report.rows import ReportError, Row
from tools import kept, proof
from tools.kept import Comparison, Kept, Since, age_of, all_kept, changes_since, in_force
from tuner.cli.answer import UNFINISHED
from tuner.cli.bench import WEEK, bench
from tuner.cli.options import Duration
from tuner.cli.wording import counted

ORDER = Path(__file__).with_suffix(".toml")


class State(NamedTuple):
    """How far a comparison is.

    Attributes:
        when: the day of its newest row; empty without rows.
        age: changes of the policy since its oldest row; None where a row is of no commit.
        same: its rows are of the plan that the suite has today.
        left: seconds that it takes to measure what is missing or older; 0 where nothing is.
    """

    when: str
    age: int | None
    same: bool
    left: float

    def __str__(self) -> str:
        if not self.when:
            return f"not measured; {in_words(self.left)}"
        if not self.left:
            return f"measured {self.when}"
        if self.age is None:
            why = "by code without a commit"
        elif self.age:
            why = f"{counted(self.age, 'change')} of the policy ago"
        elif not self.same:
            why = "by another plan than the suite has today"
        else:
            return f"begun {self.when}; {in_words(self.left)} left"
        return f"older: {self.when}, {why}; {in_words(self.left)}"


def order() -> tuple[Comparison, ...]:
    """Return every comparison, what a reader would ask for first at the beginning."""
    asked = tomllib.loads(ORDER.read_text(encoding="utf-8"))["comparisons"]
    return tuple(Comparison(*words) for words in asked)


class Progress:
    """How far comparisons are, by what is kept in a place."""

    def __init__(self, place: Path, since: Since, policy: str) -> None:
        """Read what is there.

        Args:
            place: directories of a bench each.
            since: how many changes of the policy are younger than a revision.
            policy: the commit of the policy in force; names directories of what is measured again.

        Raises:
            ReportError: as ``all_kept``.
        """
        self.all = all_kept(place)
        self._place = place
        self._since = since
        self._policy = policy

    def state(self, comparison: Comparison) -> State:
        """Return how far a comparison is: by the rows of which least is missing, else by the newest.

        Raises:
            PlanError: its suite is no more, or has no such variant.
        """
        _, plan = _asked_for(comparison)
        found = [self._of(one, plan) for one in self._where(comparison) if one.of(plan.variant)]
        never = State("", 0, same=True, left=Remaining([plan], []).seconds())
        return min(found or [never], key=lambda one: (one.left, [-ord(sign) for sign in one.when]))

    def words(self, comparison: Comparison) -> list[str]:
        """Return what ``innobrim bench`` is asked for to measure, go on with, or repeat a comparison."""
        suite, plan = _asked_for(comparison)
        words = ["--variant", comparison.variant] if comparison.variant else []
        begun = [
            (state.left, one.directory)
            for one in self._where(comparison)
            if self._goes_on(one, suite, plan) and (state := self._of(one, plan)).left
        ]
        if begun:
            return ["--resume", str(min(begun)[1]), *words]
        name = f"{comparison.suite}-{comparison.server.removeprefix('mysql-')}"
        again = f"{name}-{self._policy[:8]}"
        names = itertools.chain([name, again], (f"{again}-{number}" for number in itertools.count(2)))
        free = next(path for one in names if not (path := self._place / one).exists())
        return ["--suite", comparison.suite, "--server", comparison.server, "--output", str(free), *words]

    def _where(self, comparison: Comparison) -> list[Kept]:
        return [one for one in self.all if one.comparison(comparison.variant) == comparison]

    def _of(self, found: Kept, plan: Plan) -> State:
        """Return how far a plan is in one directory."""
        rows = found.of(plan.variant)
        age, today = age_of(rows, self._since), msgspec.json.decode(msgspec.json.encode(plan))
        same = all(row.plan == today for row in rows)
        counts = [{"variant": row.variant, "stage": row.stage} for row in rows if age == 0 and same]
        when = max((row.when for row in rows), default="")[:10]
        return State(when, age, same, Remaining([plan], counts).seconds())

    def _goes_on(self, found: Kept, suite: Suite, plan: Plan) -> bool:
        """Tell whether further rows may go to a directory: it has the suite of today, and no older rows.

        Where it has some of this plan those of others may be older.
        """
        rows: Sequence[Row] = found.of(plan.variant) or found.rows
        if age_of(rows, self._since) != 0:
            return False
        try:
            return msgspec.convert(found.asked, Asked).suite.digest == suite.digest
        except msgspec.ValidationError:
            return False


def _asked_for(comparison: Comparison) -> tuple[Suite, Plan]:
    suite = load_suite(comparison.suite)
    plan = next((one for one in suite.plans if one.variant == comparison.variant), None)
    if plan is None:
        raise PlanError(f"{ORDER}: {comparison}: the suite {suite.name} has no such variant")
    return suite, plan


def listed(progress: Progress, comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Yield a line for each comparison, what is to do, and what is measured but in no plan."""
    states = [progress.state(one) for one in comparisons]
    for number, (one, state) in enumerate(zip(comparisons, states, strict=True), 1):
        yield f"{number:>2}  {one}: {state}"
    left = [state.left for state in states if state.left]
    yield f"{len(left)} of {counted(len(states), 'comparison')} still to measure: {in_words(sum(left))}"
    further = {one.comparison(row.variant) for one in progress.all for row in one.rows} - {*order()}
    yield from (f"in no plan: {one}" for one in sorted(further))


def measure(
    comparisons: Sequence[Comparison], since: Since, policy: str, seconds: float, *, again: bool = False
) -> int:
    """Measure what is not done, in order; one that cannot be measured now does not keep from the next.

    Args:
        comparisons: what is asked for.
        since: as ``Progress`` takes it.
        policy: the same.
        seconds: no row begins later.
        again: also what is done.

    Returns:
        0 where all of it is done, else what a bench ended with.
    """
    end, code = time.monotonic() + seconds, 0
    for one in comparisons:
        progress = Progress(kept.BENCH, since, policy)
        if not (again or progress.state(one).left):
            continue
        left = int(end - time.monotonic())
        if left <= 0:
            click.echo("the time was up; the same command goes on")
            return UNFINISHED
        click.echo(f"plan: {one}")
        words = [*progress.words(one), "--time", f"{left}s"]
        try:
            ended: int | None = bench.main(words, prog_name="innobrim bench", standalone_mode=False)
        except click.ClickException as error:
            error.show()
            code = error.exit_code
            continue
        finally:
            proof.write(since, policy)
        if ended:
            return ended
    return code


@click.command(
    epilog="Exit 0: what was asked for is done. 4: the time was up; the same command goes on. Else: what"
    " innobrim bench ends with."
)
@click.argument("numbers", nargs=-1, type=click.IntRange(1, len(order())))
@click.option("--time", "limit", type=Duration(WEEK), metavar="55m", help="Measure; no row begins later.")
def main(*, numbers: tuple[int, ...], limit: float | None) -> None:
    """Say what was measured, what is older than the policy in force, and what is next; or measure it.

    NUMBERS: of the list; these comparisons alone. With --time they are measured also where they are done.

    Example: python -m tools.plan 1 --time 2h
    """
    policy = in_force()
    since = changes_since(policy)
    comparisons = [order()[number - 1] for number in numbers] or order()
    if numbers and limit is None:
        raise click.UsageError("NUMBERS go with --time; without both the list says what is next")
    try:
        if limit is None:
            newest = revision.git(kept.ROOT, "log", "-1", "--format=%h %cs %s", policy)
            click.echo(f"policy in force: {newest}")
            for line in listed(Progress(kept.BENCH, since, policy), order()):
                click.echo(line)
            return
        now = revision.revision()
        if not now or now.endswith("-dirty"):
            raise click.ClickException(
                f"{', '.join(revision.FOLDERS)}: changed since the last commit, and rows would have no age;"
                " commit first"
            )
        ended = measure(comparisons, since, policy, limit, again=bool(numbers))
    except (ReportError, PlanError) as error:
        raise click.ClickException(str(error)) from error
    if ended:
        raise click.exceptions.Exit(ended)


if __name__ == "__main__":
    main()
