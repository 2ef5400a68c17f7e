"""``make prove PART=mutants``: one small change at a time in what must not break, and which no test notices.

cosmic-ray makes the changes. Each is tried in a fork of a process that has collected the tests already, by
those that call the changed function, one after the other; the first failure ends it. What was noticed stays
noticed until the module changes, and survivors are tried anew when a test did: the same command goes on.
``python -m tests.mutants [--minutes N] [PART OF A MODULE'S PATH]``.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import gc
import hashlib
import importlib
import json
import os
import random
import shutil
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import click
import grimp
import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.plugins import get_operator, operator_names

GOLDEN = "tests/golden/test_golden.py"
DECIDE = (
    "tests/core/test_commands.py tests/core/test_drain.py tests/core/test_emergency.py"
    " tests/core/test_relief.py tests/core/test_step.py"
)

TARGETS = {
    "tuner/core/writes/guards.py": f"tests/core/test_guards.py tests/core/test_emergency.py {GOLDEN}",
    "tuner/core/gate.py": "tests/core/test_gate.py",
    "api/tokens.py": "tests/api/test_tokens.py",
    "tuner/without_daemon.py": "tests/test_restore_without_daemon.py tests/test_park_without_daemon.py"
    " tests/test_park_without_daemon_in_time.py",
    "tuner/core/decide/precedence.py": f"{DECIDE} tests/core/test_handover.py"
    f" tests/core/test_low_water.py tests/core/test_parking.py {GOLDEN}",
    "tuner/core/decide/wishes.py": f"{DECIDE} {GOLDEN}",
    "tuner/core/decide/carry_out.py": f"{DECIDE} tests/core/test_authority.py"
    f" tests/core/test_single_writer.py {GOLDEN}",
    "tuner/core/leaving/lowwater.py": f"tests/core/test_low_water.py {GOLDEN}",
    "tuner/core/leaving/park.py": f"tests/core/test_parking.py {GOLDEN}",
    "tuner/core/leaving/restore.py": f"tests/core/test_parking.py tests/core/test_restore_pace.py {GOLDEN}",
    "tuner/core/ownership/foreign.py": f"tests/core/test_holds.py {GOLDEN}",
    "tuner/core/ownership/handover.py": "tests/core/test_handover.py",
    "tuner/core/ownership/restarts.py": f"tests/core/test_holds.py {GOLDEN}",
    "tuner/core/ownership/standing.py": "tests/core/test_standing.py",
    "tuner/core/ownership/transitions.py": f"tests/core/test_parking.py tests/core/test_standing.py {GOLDEN}",
}
ROOMS = ("api", "lab", "policies", "tests", "tuner")
ROOT = Path(__file__).parents[1]
WORK = ROOT / ".cache" / "mutants"
OPTIONS = ("-q", "-s", "-x", "-p", "no:cacheprovider", "-o", "timeout=0", "-m", "not real and not browser")
QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
LONGEST, SLOWER = 4.0, 5.0
"""Seconds, and so many times what a test takes, after which a change counts as noticed: it hangs."""


class Change(NamedTuple):
    """One change of a module: its line, the changed text, and whether it is all in a function's body."""

    line: int
    text: str
    inside: bool


def apart(work: Callable[[], int], *, seconds: float, output: Path) -> int:
    """Return what some work in a fork returned; -1 where it did not end in time, or not by itself."""
    child = os.fork()
    if not child:
        code = 70
        try:
            os.setsid()
            sink = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            code = work()
        except BaseException:  # noqa: BLE001 - what becomes of it the parent sees
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    ends = time.monotonic() + seconds
    pause = 0.002
    while not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) and time.monotonic() < ends:
        time.sleep(pause)
        pause = min(0.05, 1.2 * pause)
    for kill in (os.killpg, os.kill):  # what its tests started ends with it
        try:
            kill(child, signal.SIGKILL)
        except ProcessLookupError:
            continue
    status = os.waitpid(child, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1


def changes(source: str) -> dict[str, Change]:
    """Return each change by its diff; what is no Python, or in an annotation, is none."""
    found = {}
    plain = _plain(source)
    bodies = [(one.body[0].lineno, one.end_lineno or 0) for one in _defined(source)]
    for name in operator_names():
        kind = get_operator(name)
        if kind.arguments():
            continue
        operator = kind()
        places = [
            start for node in ast_nodes(get_ast(source)) for start, _ in operator.mutation_positions(node)
        ]
        for at, (line, _) in enumerate(places):
            changed = MutationVisitor.mutate_code(source, operator, at)
            if changed is None or _plain(changed) in {plain, ""}:
                continue
            diff = difflib.unified_diff(source.splitlines(), changed.splitlines(), "", name, "", "", 0, "")
            inside = any(first <= line <= last for first, last in bodies)
            found["\n".join(diff)] = Change(line, changed, inside)
    return found


def _defined(source: str) -> list[ast.FunctionDef]:
    """Return the functions of a text, the outer before the inner."""
    return [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.FunctionDef)]


def _plain(source: str) -> str:
    """Return what a text does, whatever its annotations say; empty where it is no Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ""
    read = {id(one) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for one in node.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.arguments):  # and how they are given
            node.args = [*node.posonlyargs, *node.args, *node.kwonlyargs]
            node.defaults = [*node.defaults, *(one for one in node.kw_defaults if one is not None)]
            node.posonlyargs, node.kwonlyargs, node.kw_defaults = [], [], []
        elif isinstance(node, ast.AnnAssign) and id(node) not in read:  # msgspec reads those of fields
            node.annotation = ast.Constant(None)
    return ast.dump(tree)


def _functions(code: CodeType) -> dict[str, CodeType]:
    """Return the code of all functions in a module's code, by qualified name and line."""
    found = {f"{code.co_qualname} {code.co_firstlineno}": code}
    for one in code.co_consts:
        if isinstance(one, CodeType):
            found |= _functions(one)
    return found


class Trial:
    """One module and the tests beside it; a plugin of pytest as well."""

    def __init__(self, module: str, tests: str) -> None:
        self.module, self.tests = module, tests.split()
        self._tree = WORK / "tree"
        self._file = self._tree / module
        self._source = (ROOT / module).read_text()
        self._mark = hashlib.sha256(b"".join((ROOT / one).read_bytes() for one in self.tests)).hexdigest()
        name = f"{module.replace('/', '.')}-{hashlib.sha256(self._source.encode()).hexdigest()[:12]}.json"
        self._kept, self._output, self._calls = WORK / name, WORK / "output", WORK / "calls.json"
        self._changes: dict[str, Change] = {}
        self._known: dict[str, Any] = {}
        self._order: list[str] = []
        self._noticing: Counter[str] = Counter()
        self._ends = 0.0

    def run(self, seconds: float) -> int:
        """Try as many changes as there is time for, in an order drawn by chance, and say what came of it."""
        self._ends = time.monotonic() + seconds
        shutil.rmtree(self._tree, ignore_errors=True)
        for room in ROOMS:
            shutil.copytree(ROOT / room, self._tree / room)
        shutil.copy(ROOT / "pyproject.toml", self._tree)
        os.chdir(self._tree)
        sys.path[:] = [str(self._tree), *(one for one in sys.path if one not in {"", str(ROOT)})]
        drawn = self._kept.with_suffix(".changes")
        if not drawn.exists():
            drawn.write_text(json.dumps(changes(self._source)))
        found = list(json.loads(drawn.read_text()).items())
        random.Random(1).shuffle(found)  # noqa: S311 - which come first
        self._changes = {diff: Change(*change) for diff, change in found}
        done = apart(
            lambda: int(pytest.main([*OPTIONS, *self.tests], [self])), seconds=1e9, output=WORK / "log"
        )
        if done:
            sys.exit(f"{self.module}: the tests fail without a change, see {WORK / 'log'}")
        self._known = json.loads(self._calls.read_text())
        for name in self._known["modules"]:
            importlib.import_module(name)
        for cached in self._file.parent.glob(f"__pycache__/{self._file.stem}.*"):
            cached.unlink()  # it goes by time and size, and a change may keep both
        sys.dont_write_bytecode = True
        self._try(inside=False, work=self._anew)
        noticed = self._noticed()
        survived = [diff for diff in self._changes if noticed.get(diff)]
        for diff in sorted(survived, key=lambda diff: self._changes[diff].line):
            click.echo(diff)
        tried = len(self._changes.keys() & noticed.keys())
        share = 100.0 * (tried - len(survived)) / max(1, tried)
        counts = f"{tried} of {len(found)} | {tried - len(survived)} | {len(survived)} | {share:.1f}%"
        click.echo(f"| `{self.module}` | {counts} |")
        return 0

    def _noticed(self) -> dict[str, str]:
        """Return the changes that were tried: empty where a test noticed, else what the tests were like."""
        found: dict[str, str] = json.loads(self._kept.read_text()) if self._kept.exists() else {}
        return found

    def _try(self, *, inside: bool, work: Callable[[Change, list[str]], int]) -> None:
        noticed = self._noticed()
        for diff, change in self._changes.items():
            if change.inside is not inside or noticed.get(diff) in {"", self._mark}:
                continue
            if time.monotonic() >= self._ends:
                break
            tests = self._of(change.line)
            limit = LONGEST * len(tests) + SLOWER * sum(self._known["seconds"][one] for one in tests)
            code = apart(lambda it=change, by=tests: work(it, by), seconds=limit, output=self._output)
            if 0 < code <= len(tests):
                self._noticing[tests[code - 1]] += 1
            noticed[diff] = "" if code else self._mark
            self._kept.write_text(json.dumps(noticed))

    def _of(self, line: int) -> list[str]:
        """Return the tests that call the function with that line, or any; quick and noticing ones first."""
        tests: set[str] = set()
        for node in _defined(self._source):
            if node.lineno <= line <= (node.end_lineno or 0):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                tests = set(self._known["tests"].get(str(first), ()))
        for found in self._known["tests"].values() if not tests else ():
            tests |= set(found)
        return sorted(tests, key=lambda one: self._known["seconds"][one] / (1 + self._noticing[one]))

    def _anew(self, change: Change, tests: list[str]) -> int:
        """Test a change in a process that imports the module anew."""
        self._file.write_text(change.text)
        self._order = tests
        try:
            return int(pytest.main([*OPTIONS, *QUIET, *self.tests], [Chosen(tests, self._known["seconds"])]))
        finally:
            self._file.write_text(self._source)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Watch the tests once, in a fork, then try each change that is within a function."""
        if apart(lambda: self._watch(session), seconds=1e9, output=self._output):
            sys.exit(f"without a change the tests fail, see {self._output}")
        self._known = json.loads(self._calls.read_text())
        before = _functions(compile(self._source, str(self._file), "exec"))
        there = [one for one in gc.get_objects() if isinstance(one, FunctionType)]
        there = [one for one in there if one.__code__.co_filename == str(self._file)]
        items = {one.nodeid: one for one in session.items}

        def work(change: Change, tests: list[str]) -> int:
            after = _functions(compile(change.text, str(self._file), "exec"))
            for one in there:
                name = f"{one.__code__.co_qualname} {one.__code__.co_firstlineno}"
                if after[name] != before[name]:
                    one.__code__ = after[name]
            for at, one in enumerate(tests):
                signal.setitimer(signal.ITIMER_REAL, LONGEST + SLOWER * self._known["seconds"][one])
                _run(items[one], [items[two] for two in tests[at + 1 : at + 2]])
                if session.testsfailed:
                    return at + 1
            return 0

        self._try(inside=True, work=work)
        return True

    def _watch(self, session: pytest.Session) -> int:
        """Note which test calls which function, how long it takes, and what may be imported before."""
        lines: set[int] = set()
        seconds: dict[str, float] = {}
        tests: dict[int, list[str]] = {}

        def called(frame: Any, _event: str, _argument: object) -> None:  # noqa: ANN401 - a frame
            if frame.f_code.co_filename == str(self._file):
                lines.add(frame.f_code.co_firstlineno)

        threading.setprofile(called)
        for item in session.items:
            lines.clear()
            begun = time.perf_counter()
            sys.setprofile(called)
            _run(item, [])
            sys.setprofile(None)
            if session.testsfailed:
                return 1
            seconds[item.nodeid] = time.perf_counter() - begun
            for line in lines:
                tests.setdefault(line, []).append(item.nodeid)
        changed = self.module.removesuffix(".py").replace("/", ".")
        graph = grimp.build_graph(*ROOMS, cache_dir=None)
        touched = {changed, *graph.find_downstream_modules(changed), "__main__", "tests.mutants"}
        touched |= {name for name in sys.modules if "conftest" in name or ".test_" in name}
        modules = [name for name in sys.modules if name not in touched]
        self._calls.write_text(json.dumps({"modules": modules, "seconds": seconds, "tests": tests}))
        return 0


def _run(item: pytest.Item, following: list[pytest.Item]) -> None:
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following[0] if following else None)


class Chosen:
    """A plugin of pytest that runs some tests alone, in their order."""

    def __init__(self, tests: list[str], seconds: dict[str, float]) -> None:
        self._order = {name: at for at, name in enumerate(tests)}
        self._seconds = seconds

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """End it all when the test takes too long."""
        signal.setitimer(signal.ITIMER_REAL, LONGEST + SLOWER * self._seconds[item.nodeid])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave the others out."""
        found = [one for one in items if one.nodeid in self._order]
        items[:] = sorted(found, key=lambda one: self._order[one.nodeid])


def main() -> None:
    """Try the modules, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=14.0, help="for each module")
    parser.add_argument("part", nargs="?", default="", help="of a module's path")
    asked = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    if Path("/dev/shm").is_dir():  # noqa: S108 - what the tests write need not last
        os.environ["TMPDIR"] = "/dev/shm"  # noqa: S108 - the same
    for module, tests in TARGETS.items():
        if asked.part in module:
            trial, said = Trial(module, tests), WORK / "said"
            apart(lambda trial=trial: trial.run(60.0 * asked.minutes), seconds=1e9, output=said)
            click.echo(said.read_text())


if __name__ == "__main__":
    main()
