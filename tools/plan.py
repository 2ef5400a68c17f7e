"""What is measured next: every comparison, in the order in which a reader would ask for it.

``plan.toml`` beside this file has the order. A step is done when all of its rows are there and no older than
the policy in force. ``--time`` measures what is not done, from the top, and makes its page anew.
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
from tools.kept import (
    FIRST,
    FIRST_ENDS,
    Comparison,
    Kept,
    Since,
    age_of,
    all_kept,
    changes_since,
    in_force,
    without_best,
    worn,
)
from tuner.cli.answer import UNFINISHED
from tuner.cli.bench import WEEK, bench
from tuner.cli.options import Duration
from tuner.cli.wording import counted

ORDER = Path(__file__).with_suffix(".toml")


WITHOUT_BEST = "without best static"


class Step(NamedTuple):
    """A comparison to be measured.

    Attributes:
        comparison: which.
        first: of ``FIRST`` alone; best static comes in a later step, with all of the suite's contenders.
    """

    comparison: Comparison
    first: bool = False

    def __str__(self) -> str:
        return f"{self.comparison}, {WITHOUT_BEST}" if self.first else str(self.comparison)


class State(NamedTuple):
    """How far a step is.

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
            why = "in another way than today"
        else:
            return f"begun {self.when}; {in_words(self.left)} left"
        return f"older: {self.when}, {why}; {in_words(self.left)}"


def order() -> tuple[Step, ...]:
    """Return every step, what a reader would ask for first at the beginning."""
    asked = tomllib.loads(ORDER.read_text(encoding="utf-8"))["steps"]
    return tuple(Step(Comparison(*words[:3]), first=words[3:] == [WITHOUT_BEST]) for words in asked)


class Progress:
    """How far steps are, by what is kept in a place."""

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

    def state(self, step: Step) -> State:
        """Return how far a step is: by the rows of which least is missing, else by the newest.

        One without best static is done as well where all of the suite's contenders are.

        Raises:
            PlanError: its suite is no more, or has no such variant.
        """
        _, plan = _asked_for(step)
        found = [self._of(one, plan) for one in self._where(step) if one.of(plan.variant)]
        never = State("", 0, same=True, left=Remaining([plan], []).seconds())
        if step.first and not (whole := self.state(Step(step.comparison))).left:
            return whole
        return min(found or [never], key=lambda one: (one.left, [-ord(sign) for sign in one.when]))

    def words(self, step: Step) -> list[str]:
        """Return what ``innobrim bench`` is asked for to measure, go on with, or repeat a comparison."""
        suite, plan = _asked_for(step)
        comparison = step.comparison
        words = ["--variant", comparison.variant] if comparison.variant else []
        begun = [
            (state.left, one.directory)
            for one in self._where(step)
            if self._goes_on(one, suite, plan) and (state := self._of(one, plan)).left
        ]
        if begun:
            return ["--resume", str(min(begun)[1]), *words]
        name = (
            f"{comparison.suite}-{comparison.server.removeprefix('mysql-')}{FIRST_ENDS if step.first else ''}"
        )
        again = f"{name}-{self._policy[:8]}"
        names = itertools.chain([name, again], (f"{again}-{number}" for number in itertools.count(2)))
        free = next(path for one in names if not (path := self._place / one).exists())
        words += ["--set", f"contenders={','.join(FIRST)}"] if step.first else []
        return ["--suite", comparison.suite, "--server", comparison.server, "--output", str(free), *words]

    def _where(self, step: Step) -> list[Kept]:
        """Return the directories of a step's comparison: those of ``FIRST`` alone, or the others."""
        whole = _asked_for(Step(step.comparison))[1].contenders
        return [
            one
            for one in self.all
            if one.comparison(step.comparison.variant) == step.comparison
            and (_contenders(one, step.comparison.variant) == FIRST != whole) == step.first
        ]

    def _of(self, found: Kept, plan: Plan) -> State:
        """Return how far a plan is in one directory."""
        rows = found.of(plan.variant)
        age, today = age_of(rows, self._since), msgspec.json.decode(msgspec.json.encode(plan))
        same = all(row.plan == today and worn(row) for row in rows)
        counts = [{"variant": row.variant, "stage": row.stage} for row in rows if age == 0 and same]
        when = max((row.when for row in rows), default="")[:10]
        return State(when, age, same, Remaining([plan], counts).seconds())

    def _goes_on(self, found: Kept, suite: Suite, plan: Plan) -> bool:
        """Tell whether further rows may go to a directory: of today's suite and filling, and no older rows.

        Where it has some of this plan those of others may be older.
        """
        rows: Sequence[Row] = found.of(plan.variant) or found.rows
        if age_of(rows, self._since) != 0 or not all(worn(row) for row in rows):
            return False
        try:
            return msgspec.convert(found.asked, Asked).suite.digest == suite.digest
        except msgspec.ValidationError:
            return False


def _contenders(found: Kept, variant: str) -> tuple[str, ...]:
    """Return the contenders that a variant was asked for with."""
    plans = (one for one in found.asked["plans"] if one.get("variant", "") == variant)
    return next((tuple(one.get("contenders", ())) for one in plans), ())


def _asked_for(step: Step) -> tuple[Suite, Plan]:
    suite, comparison = load_suite(step.comparison.suite), step.comparison
    plan = next((one for one in suite.plans if one.variant == comparison.variant), None)
    if plan is None:
        raise PlanError(f"{ORDER}: {comparison}: the suite {suite.name} has no such variant")
    if step.first:
        suite = without_best(suite)
        plan = next(one for one in suite.plans if one.variant == comparison.variant)
    return suite, plan


def listed(progress: Progress, steps: Sequence[Step]) -> Iterator[str]:
    """Yield a line for each step, what is to do, and what is measured but in no plan."""
    states = [progress.state(one) for one in steps]
    for number, (one, state) in enumerate(zip(steps, states, strict=True), 1):
        yield f"{number:>2}  {one}: {state}"
    left = [state.left for state in states if state.left]
    yield f"{len(left)} of {counted(len(states), 'step')} still to measure: {in_words(sum(left))}"
    planned = {one.comparison for one in order()}
    further = {one.comparison(row.variant) for one in progress.all for row in one.rows} - planned
    yield from (f"in no plan: {one}" for one in sorted(further))


def measure(steps: Sequence[Step], since: Since, policy: str, seconds: float, *, again: bool = False) -> int:
    """Measure what is not done, in order; one that cannot be measured now does not keep from the next.

    Args:
        steps: what is asked for.
        since: as ``Progress`` takes it.
        policy: the same.
        seconds: no row begins later.
        again: also what is done.

    Returns:
        0 where all of it is done, else what a bench ended with.
    """
    end, code = time.monotonic() + seconds, 0
    for one in steps:
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

    NUMBERS: of the list; these steps alone. With --time they are measured also where they are done.

    Example: python -m tools.plan 1 --time 2h
    """
    policy = in_force()
    since = changes_since(policy)
    steps = [order()[number - 1] for number in numbers] or order()
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
        ended = measure(steps, since, policy, limit, again=bool(numbers))
    except (ReportError, PlanError) as error:
        raise click.ClickException(str(error)) from error
    if ended:
        raise click.exceptions.Exit(ended)


if __name__ == "__main__":
    main()
