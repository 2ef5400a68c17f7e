"""``innobrim bench``: contenders on a real server, paired and in random order, with bounds on every ratio."""

from __future__ import annotations

import contextlib
import functools
import random
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from lab.bench import folder, plan
from lab.bench.order import chosen
from lab.bench.plan import Plan, PlanError, Suite
from lab.bench.progress import outline
from lab.servers.base import LabServer, LabServerError
from lab.servers.choose import server_named
from lab.servers.existing import SCHEME, DsnError, NotConfirmedError
from lab.workloads.command import sysbench
from tuner.cli.bench_resume import going_on, refuse_beside_resume
from tuner.cli.bench_run import Say, carry_out, conclude
from tuner.cli.bench_server import (
    best_here,
    check_named,
    check_servers,
    look_at,
    password,
    refuse_beside_own,
)
from tuner.cli.ended import exit_code, like_ctrl_c
from tuner.cli.exits import NO, UNFINISHED, UNREACHABLE
from tuner.cli.options import WholeNumber, fail, usage
from tuner.cli.plan_options import changed, plan_options, specification
from tuner.cli.quantities import Duration
from tuner.cli.saying import say as print_lines

WEEK = 7 * 86_400


@click.command(
    epilog="Example: innobrim bench --suite quick\n\n"
    "Example: innobrim bench --write-iops 3000 --contender default --contender 2000/4000 --contender ours",
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
    metavar="auto|IMAGE|PATH",
    default="auto",
    show_default=True,
    help="A container image such as mysql:8.4 or mariadb:11.8, or the path of a mysqld or mariadbd; it is"
    " thrown away afterwards.",
)
@click.option(
    "--dsn", metavar="mysql://USER@HOST:PORT", help="A server of your own; it is LOADED and CHANGED."
)
@click.option("--yes", is_flag=True, help="Yes, load and change the server named by --dsn.")
@click.option("--defaults-file", metavar="FILE", help="MySQL option file with a [client] group, for --dsn.")
@click.option(
    "--variant", "variants", multiple=True, metavar="NAME", help="Only this variant of the suite; repeat it."
)
@plan_options
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
@click.option(
    "--time", "limit", type=Duration(WEEK), metavar="55m", help="Begin no row that would end later."
)
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
    dsn: str | None,
    defaults_file: str | None,
    output: Path | None,
    resume: Path | None,
    limit: float | None,
    seed: int | None,
    yes: bool,
    variants: tuple[str, ...],
    only_plan: bool,
    as_json: bool,
    **changes: Any,  # noqa: ANN401 - the plan's options, checked by the plan's own types
) -> None:
    """Run contenders against each other on a real server, and write rows, CSV and a page.

    A server of its own is started, filled, limited and removed again, unless --dsn names one. Exit 0: all
    that was asked for is there. Exit 4: --time was up before; the last line is the command that goes on.
    """
    say: Say = functools.partial(_say, err=as_json)
    context.with_resource(like_ctrl_c())  # so that a server is removed, or given back as it was
    if dsn is not None:
        refuse_beside_own(context)
        if "://" not in dsn:
            usage(f"--dsn {dsn}: write mysql://USER@HOST:PORT, or mysql://USER@/PATH/TO/SOCKET")
    with _ending_in_words():
        if resume is not None:
            refuse_beside_resume(context)
            if only_plan:  # also of a bench at work
                asked, ledger = folder.go_on(resume)
                own = asked.server.startswith(SCHEME)
                rows = ledger.rows
                print_lines(*outline(asked.suite, chosen(asked.suite, variants), rows, own=own))
                return
            context.with_resource(folder.held(resume))
            asked, ledger = folder.go_on(resume)
            check_servers(asked.suite)
            chosen(asked.suite, variants)
            directory, make = resume, _maker(asked.server, say, defaults_file, confirmed=yes)
        else:
            suite = changed(plan.load_suite(suite_name), changes)
            check_servers(suite)
            check_named(suite, dsn, server_words)
            plans = chosen(suite, variants)
            if only_plan:
                print_lines(*outline(suite, plans, own=dsn is not None))
                return
            asked = _asked(suite, dsn, server_words, seed)
            make = _maker(asked.server, say, defaults_file, confirmed=yes)
            look_at(make(plans[0]))  # what cannot be had is said before a directory is made
            sysbench()
            directory = output or Path(f"bench-{suite.name}-{time.strftime('%Y%m%dT%H%M%S')}")
            context.with_resource(folder.held(directory, new=True))
            ledger = folder.begin(directory, asked)
    again = going_on(context, directory)
    finished, left, needs = carry_out(
        asked, ledger, directory, make, say, limit=limit, variants=variants, again=again
    )
    conclude(ledger, directory, say, finished=finished, left=left, as_json=as_json)
    if not finished:
        short = "" if needs is None else f" before the first row: --time {limit:g}s is too short for one"
        say(f"the time was up{short}; go on with: {going_on(context, directory, needs=needs)}")
        raise click.exceptions.Exit(UNFINISHED)
    if left:
        say(
            f"not run yet: {', '.join(left)}; for them: innobrim bench --resume {shlex.quote(str(directory))}"
        )


def _say(text: str, *, err: bool) -> None:
    """Print text, in which a server, a container's log or a suite's file may have chosen the words."""
    print_lines(*text.split("\n"), err=err)


@contextlib.contextmanager
def _ending_in_words() -> Iterator[None]:
    """End with message and exit code where a bench cannot begin."""
    try:
        yield
    except (PlanError, DsnError, NotConfirmedError) as error:
        usage(str(error))
    except folder.HeldError as error:
        fail(str(error), NO)
    except LabServerError as error:
        fail(str(error), UNREACHABLE)
    except KeyboardInterrupt as error:
        click.echo("interrupted; nothing was begun", err=True)
        raise click.exceptions.Exit(exit_code(error)) from error


def _asked(suite: Suite, dsn: str | None, server_words: str, seed: int | None) -> folder.Asked:
    """Return what a new bench is started with; the parts of a bench have one server.

    Raises:
        LabServerError: no real server can be had here.
    """
    return folder.Asked(
        name=suite.name,
        about=suite.about,
        seed=random.SystemRandom().randrange(10_000) if seed is None else seed,
        # what is the best one here may be another one next week
        server=dsn or (best_here() if server_words == "auto" else server_words),
        plans=suite.plans,
    )


def _maker(
    words: str, say: Say, defaults_file: str | None, *, confirmed: bool
) -> Callable[[Plan], LabServer]:
    """Return what makes the server of a plan from the user's words; a password is asked for once."""
    ask = functools.cache(password)

    def make(one: Plan) -> LabServer:
        return server_named(
            words,
            specification(one),
            confirmed=confirmed,
            defaults_file=defaults_file,
            ask=ask,
            say=say,
        )

    return make
