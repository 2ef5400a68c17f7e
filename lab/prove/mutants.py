"""What the tests notice: a small change in a module at a time, and the tests that are about it.

The changes are made in a copy of the tree, by cosmic-ray, whose session goes on where it was stopped. It is
of one text of module and tests: another text begins another one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from lab.experiment.store import Ledger, read_rows
from lab.report.markdown import put, table

if TYPE_CHECKING:
    from collections.abc import Sequence

FILE, PAGE = "mutants.jsonl", "mutants.md"
WORK = Path(".cache/mutants")
COPIED = ("api", "lab", "policies", "pyproject.toml", "tests", "tuner")
MINUTES = 55.0
"""How long one call goes on, all modules together."""

ONE_SECONDS = 120.0
"""After so long the tests of one change count as failed: it may have made a loop endless."""

ABOUT = (
    "Written by `make prove PART=mutants`, nothing by hand. cosmic-ray changes one thing in a module, such "
    "as a comparison or a number, and runs the tests named beside it; a change that no test notices "
    "survives. Some survivors change nothing that could be seen, as in an annotation, so that 100 % is not "
    "to be had. Where fewer than all were tried, in an order drawn by chance, it is a part, and the same "
    "command goes on."
)
RAY = (sys.executable, "-m", "cosmic_ray.cli")
NAMED = 40
"""Survivors that the page lists of a module."""


class Target(NamedTuple):
    """A module, and the tests that are to notice a change in it."""

    module: str
    tests: tuple[str, ...]


TARGETS = (
    Target("tuner/core/writes/guards.py", ("tests/core/test_guards.py", "tests/core/test_way_back.py")),
    Target("tuner/core/gate.py", ("tests/core/test_gate.py",)),
    Target(
        "api/tokens.py", ("tests/api/test_tokens.py", "tests/api/test_access.py", "tests/cli/test_token.py")
    ),
    Target("tuner/park.py", ("tests/test_restore.py", "tests/cli/test_offline.py")),
)


class Tally(NamedTuple):
    """What a session has come to.

    Attributes:
        made: changes there are.
        run: of these, those that were tried.
        survived: line, kind of change, of each that no test noticed.
    """

    made: int
    run: int
    survived: tuple[tuple[int, str], ...]


def run(results: Path, *, minutes: float = MINUTES) -> int:
    """Go on with every module's changes, in equal shares of so many minutes.

    Raises:
        click.ClickException: the tests fail without a change, or cosmic-ray does not run.
    """
    ledger = Ledger(results / FILE)
    until = time.monotonic() + 60.0 * minutes
    keys = [(target, {"module": target.module, "digest": digest(target)}) for target in TARGETS]
    still_open = [(target, key) for target, key in keys if ledger.find(**key, finished=True) is None]
    done = True
    for number, (target, key) in enumerate(still_open):
        now = time.monotonic()
        share = (until - now) / (len(still_open) - number)
        tally = _carried_on(target, key["digest"], now + share)
        if tally is None:
            done = False
            continue
        finished = tally.run == tally.made
        done = done and finished
        day = time.strftime("%Y-%m-%d", time.gmtime())
        row = {**key, "finished": finished, "day": day, "tests": target.tests, **tally._asdict()}
        ledger.add(row)
        print(f"{target.module}: {tally.run} of {tally.made} tried, {len(tally.survived)} survived")
    if not done:
        print("not every change was tried; the same command goes on")
    return 0


def digest(target: Target) -> str:
    """Return what tells a module and its tests from another text of them."""
    text = b"".join(Path(name).read_bytes() for name in (target.module, *target.tests))
    return hashlib.sha256(text).hexdigest()[:12]


def _carried_on(target: Target, mark: str, until: float) -> Tally | None:
    """Go on with one module until a monotonic time; None where that is over."""
    if time.monotonic() >= until:
        return None
    tree = _copied()
    name = Path(target.module).stem
    session, config = (WORK.resolve() / f"{name}-{mark}{suffix}" for suffix in (".sqlite", ".toml"))
    test = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *target.tests]
    config.write_text(
        f"""[cosmic-ray]
module-path = "{target.module}"
timeout = {ONE_SECONDS}
excluded-modules = []
test-command = "{" ".join(test)}"
[cosmic-ray.distributor]
name = "local"
""",
        encoding="utf-8",
    )
    if not session.exists():
        _run(test, tree, what=f"the tests of {target.module} without a change")
        _run([*RAY, "init", str(config), str(session)], tree, what=f"the changes of {target.module}")
    with subprocess.Popen(
        [*RAY, "exec", str(config), str(session)],
        cwd=tree,
        env=_environment(tree),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as child:
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0.0, until - time.monotonic()))
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)  # with all that it has started
    return tallied(_run([*RAY, "dump", str(session)], tree, what="the session").splitlines())


def tallied(lines: Sequence[str]) -> Tally:
    """Return what a session's dump says, a line of JSON for each change."""
    made, ran, survived = 0, 0, []
    for line in lines:
        item, result = json.loads(line)
        made += 1
        if result is None:
            continue
        ran += 1
        if result["test_outcome"] == "survived":
            change = item["mutations"][0]
            survived.append((int(change["start_pos"][0]), str(change["operator_name"]).removeprefix("core/")))
    return Tally(made, ran, tuple(sorted(survived)))


def write(directory: Path) -> Path:
    """Write the page from the rows and return its path; of each module the newest row counts."""
    newest = {row["module"]: row for row in read_rows(directory / FILE)}
    body, listed = [], []
    for row in newest.values():
        ran, lost = row["run"], len(row["survived"])
        score = f"{(ran - lost) / ran:.1%}" if ran else "-"
        tests = ", ".join(f"`{name}`" for name in row["tests"])
        body.append(
            [f"`{row['module']}`", row["day"], f"{ran} of {row['made']}", ran - lost, lost, score, tests]
        )
        named = [f"{line} {kind}" for line, kind in row["survived"][:NAMED]]
        more = f"; and {lost - NAMED} more" if lost > NAMED else ""
        listed += [f"- `{row['module']}`, line and kind: {'; '.join(named)}{more}"] if named else []
    head = ["module", "tried on", "tried", "noticed", "survived", "score", "by"]
    return put(
        directory / PAGE,
        [
            "# What the tests notice",
            ABOUT,
            table(head, body) if body else "Not run yet: `make prove PART=mutants`.",
            "\n".join(["## Survivors", *listed]) if listed else "",
        ],
    )


def _copied() -> Path:
    """Return a fresh copy of the tree: what was stopped may have left a change in the last one."""
    tree = WORK.resolve() / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for name in COPIED:
        if Path(name).is_dir():
            shutil.copytree(name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(name, tree / name)
    return tree


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}


def _run(command: list[str], tree: Path, *, what: str) -> str:
    """Return what a program says.

    Raises:
        click.ClickException: it fails, or takes too long.
    """
    try:
        ended = subprocess.run(
            command, cwd=tree, env=_environment(tree), capture_output=True, text=True, check=True, timeout=600
        )
    except subprocess.TimeoutExpired as error:
        raise click.ClickException(f"{what}: not within {error.timeout:.0f} s") from error
    except subprocess.CalledProcessError as error:
        raise click.ClickException(f"{what}: {(error.stdout + error.stderr).strip()[-1000:]}") from error
    return ended.stdout
