"""``innobrim bench``: contenders on a real server, paired and in random order, with bounds on every ratio."""

from __future__ import annotations

import functools
import random
import shlex
import time
from collections.abc import Callable
from pathlib import Path

import click

from lab.bench import plan, store
from lab.bench.plan import Plan, Suite
from lab.bench.progress import outline
from lab.bench.rig import Rig
from lab.bench.runner import Bench, chosen
from lab.bench.store import Ledger, PlanError
from lab.report.bench_page import bench_summary
from lab.report.files import write_bench
from lab.report.rows import ReportError, rows_of
from lab.report.summary import groups
from lab.report.words import comparison
from lab.servers.base import LabServer
from lab.servers.choose import choose, is_image, remove_leftovers, server_named
from lab.servers.spec import MEBIBYTE, LabServerError, ServerSpec
from lab.workloads.sysbench import sysbench
from tuner.cli.answer import (
    UNFINISHED,
    Refused,
    Unreachable,
    Unusable,
    answering,
    exit_code,
    interruptible,
    like_ctrl_c,
    say_json,
)
from tuner.cli.answer import say as print_lines
from tuner.cli.options import Duration, WholeNumber, refuse_given
from tuner.cli.wording import counted

WEEK = 7 * 86_400
OF_A_PART = frozenset({"resume", "limit", "as_json", "variants", "only_plan"})
"""Options that each part of a bench has for itself."""

ENDS = {
    PlanError: Unusable,
    store.HeldError: Refused,
    LabServerError: Unreachable,
}
"""How a bench that cannot begin ends."""

Say = Callable[[str], None]


_ELSEWHERE = {
    "innodb_redo_log_capacity": "server.redo_capacity, MiB",
    "innodb_log_file_size": "server.redo_capacity, MiB",
    "innodb_log_files_in_group": "server.redo_capacity, MiB",
    "innodb_buffer_pool_size": "server.buffer_pool, MiB",
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


@click.command(
    epilog="Example: innobrim bench --suite quick\n\n"
    "Example: innobrim bench --set disk.write_iops=3000 --set contenders=default,2000/4000,ours",
)
@click.option(
    "--suite",
    "suite_name",
    metavar="NAME|FILE",
    default="quick",
    show_default=True,
    help=f"One of {', '.join(plan.suite_names())}, or a TOML file.",
)
@click.option(
    "--server",
    "server_words",
    metavar="auto|NAME|IMAGE|PATH",
    default="auto",
    show_default=True,
    help="NAME: one that make servers made, such as mysql-8.0.31; IMAGE: a container image such as mysql:8.4;"
    " PATH: of a mysqld or mariadbd. It is thrown away afterwards.",
)
@click.option(
    "--variant", "variants", multiple=True, metavar="NAME", help="Only this variant of the suite; repeat it."
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help=f"Replace a key of the plan; repeat it. Keys (docs/lab/bench.md): {', '.join(plan.keys())}.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where rows and report go; default: bench-SUITE-TIME here.",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Go on with a bench that was interrupted; finished rows are kept.",
)
@click.option("--time", "limit", type=Duration(WEEK), metavar="55m", help="Begin no row after so long.")
@click.option("--seed", type=WholeNumber(0), help="Decides the order; default: drawn.")
@click.option("--plan", "only_plan", is_flag=True, help="Only print what would be run, and for how long.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.pass_context
def bench(
    context: click.Context,
    /,
    *,
    suite_name: str,
    server_words: str,
    output: Path | None,
    resume: Path | None,
    limit: float | None,
    seed: int | None,
    variants: tuple[str, ...],
    changes: tuple[str, ...],
    only_plan: bool,
    as_json: bool,
) -> None:
    """Run contenders against each other on a real server, and write rows, CSV and a page.

    A server is started for it, filled, limited and removed again. Exit 0: all that was asked for is there.
    Exit 4: --time was up before; the last line is the command that goes on.
    """
    say: Say = functools.partial(_say, err=as_json)
    context.with_resource(like_ctrl_c())  # so that its server is removed
    with answering(means=ENDS), interruptible("interrupted; nothing was begun"):
        if resume is not None:
            refuse_given(context, OF_A_PART, " cannot be changed with --resume; start another bench for it")
            if only_plan:  # also of a bench at work
                asked, ledger = plan.go_on(resume)
                print_lines(*outline(asked.suite, chosen(asked.suite, variants), ledger.rows))
                return
            context.with_resource(store.held(resume))
            asked, ledger = plan.go_on(resume)
            _check_servers(asked.suite)
            chosen(asked.suite, variants)
            directory, make = resume, _maker(asked.server, say)
        else:
            suite = plan.changed(plan.load_suite(suite_name), changes)
            _check_servers(suite)
            if server_words != "auto":
                is_image(server_words)
            plans = chosen(suite, variants)
            if only_plan:
                print_lines(*outline(suite, plans))
                return
            asked = _asked(suite, server_words, seed)
            make = _maker(asked.server, say)
            make(plans[0])  # what cannot be had is said before a directory is made
            sysbench()
            directory = output or Path(f"bench-{suite.name}-{time.strftime('%Y%m%dT%H%M%S')}")
            context.with_resource(store.held(directory, new=True))
            ledger = store.begin(directory, asked)
    again = _going_on(context, directory)
    finished, left = _carry_out(
        asked, ledger, directory, make, say, limit=limit, variants=variants, again=again
    )
    _conclude(ledger, directory, say, finished=finished, left=left, as_json=as_json)
    if not finished:
        say(f"the time was up; go on with: {again}")
        raise click.exceptions.Exit(UNFINISHED)
    if left:
        say(
            f"not run yet: {', '.join(left)}; for them: innobrim bench --resume {shlex.quote(str(directory))}"
        )


def _check_servers(suite: Suite) -> None:
    """Raise a ``PlanError`` where a server cannot be started as its plan says; later would be after hours."""
    for one in suite.plans:
        specification(one)


def _say(text: str, *, err: bool) -> None:
    """Print text, in which a server, a container's log or a suite's file may have chosen the words."""
    print_lines(*text.split("\n"), err=err)


def _asked(suite: Suite, server_words: str, seed: int | None) -> plan.Asked:
    """Return what a new bench is started with; the parts of a bench have one server.

    Raises:
        LabServerError: no real server can be had here.
    """
    return plan.Asked(
        name=suite.name,
        about=suite.about,
        seed=random.SystemRandom().randrange(10_000) if seed is None else seed,
        # what is the best one here may be another one next week
        server=best_here() if server_words == "auto" else server_words,
        plans=suite.plans,
    )


def _maker(words: str, say: Say) -> Callable[[Plan], LabServer]:
    return lambda one: server_named(words, specification(one), say=say)


def best_here() -> str:
    """Return the best real server that can be had without installing anything."""
    choice = choose()
    if not choice.name:
        refusals = "".join(f"\n  {refusal}" for refusal in choice.refusals)
        raise LabServerError(f"no real server can be had here: {choice.why}{refusals}")
    return choice.name


def _carry_out(
    asked: plan.Asked,
    ledger: Ledger,
    directory: Path,
    make: Callable[[Plan], LabServer],
    say: Say,
    *,
    limit: float | None,
    variants: tuple[str, ...],
    again: str,
) -> tuple[bool, list[str]]:
    """Run what is not finished; no row begins later than ``limit`` seconds from now.

    Returns:
        Whether what was asked for is finished, and which variants have rows to do.
    """
    runner = Bench(
        asked.suite,
        ledger,
        lambda plan, tell: Rig(make(plan), plan, tell),
        lambda text: say(f"{time.strftime('%H:%M:%S')} {text}"),
        seed=asked.seed,
        seconds=float("inf") if limit is None else limit,
        variants=variants,
    )
    say(f"{asked.name}: {asked.about} Seed {asked.seed}, {runner.progress.left()}; rows go to {directory}")
    try:
        for removed in remove_leftovers():  # also where this bench starts no server of that kind itself
            say(removed)
        return runner.run(), runner.unfinished()
    except (LabServerError, KeyboardInterrupt) as error:
        _page(ledger, directory)
        rows = len(ledger.rows)
        kept = f"{counted(rows, 'row')} {'is' if rows == 1 else 'are'} kept; go on with: {again}"
        if isinstance(error, KeyboardInterrupt):
            say(f"interrupted; {kept}")
            raise click.exceptions.Exit(exit_code(error)) from error
        raise Unreachable(f"{error}\n{kept}") from error


def _conclude(
    ledger: Ledger, directory: Path, say: Say, *, finished: bool, left: list[str], as_json: bool
) -> None:
    page = _page(ledger, directory)
    rows = rows_of(ledger.rows)
    if as_json:
        state = {"finished": finished, "unfinished_variants": left}
        where = {"directory": str(directory), "page": page and str(page)}
        say_json({**where, **state, **bench_summary(rows)})
        return
    if page is None:
        return
    for line in comparison(groups(rows)):
        say(line)
    say(f"the page: {page}")


def _page(ledger: Ledger, directory: Path) -> Path | None:
    """Write the page and what lies beside it; return where it is, None while there is no row for it."""
    if not any(row["stage"] == "block" for row in ledger.rows):
        return None
    try:
        return write_bench(directory)
    except ReportError as error:
        raise Refused(f"{error}; once that is put right: innobrim report {directory}") from error


def _going_on(context: click.Context, directory: Path) -> str:
    """Return the command that goes on with this bench, with what was asked of this part of it."""
    given = context.params
    words = ["innobrim", "bench", "--resume", str(directory)]
    words += [word for name in given["variants"] for word in ("--variant", name)]
    words += [] if given["limit"] is None else ["--time", f"{given['limit']:g}s"]
    words += ["--json"] if given["as_json"] else []
    return shlex.join(words)
