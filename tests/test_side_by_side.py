"""Which tests run beside which: all of them, each once, and those that measure with nothing beside them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.side_by_side import ALONE, OWN, Kind, SideBySide, kind_of, unit_of

ROOT = Path(__file__).parents[1]

SHARED_ONCE = {"package: Path": "package"}
"""What is made once for several files, and the unit that all of them are in."""

PLAIN = [f"tests/test_{name}.py::test_{number}" for name in ("a", "b", "c") for number in range(3)]
OWNERS = [f"tests/faults/test_families.py::test_{number}[mariadb-11.8]" for number in range(2)]
SHARED = [f"tests/faults/test_{name}.py::test_{number}" for name in ("x", "y") for number in range(4)]
MEASURING = ["tests/real/test_load.py::test_it", "tests/real/test_recording.py::test_it"]


class Worker:
    """A worker that runs what it is told, and none before it knows the next one."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.shutting_down = False
        self.queue: list[int] = []
        self.ran: list[str] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        """Take more tests."""
        self.queue += indices

    def shutdown(self) -> None:
        """Run what there is, and no more."""
        self.shutting_down = True


def run(tests: list[str], workers: int, crashes: str | None = None) -> tuple[list[Worker], list[set[str]]]:
    """Have workers run these tests, each one test in turn; return them, and what ran beside each other.

    The worker that comes to the test ``crashes`` dies of it, and another one stands in.
    """
    config: Any = SimpleNamespace(
        getvalue=lambda _: [f"{workers}*popen"], option=SimpleNamespace(loadscopereorder=True)
    )
    scheduler: Any = SideBySide(config)
    nodes = [Worker(number) for number in range(workers)]
    for node in nodes:
        scheduler.add_node(node)
    for node in nodes:
        scheduler.add_node_collection(node, tests)
    scheduler.schedule()
    turns: list[set[str]] = []
    while scheduler.nodes:
        turns.append(set())
        for node in scheduler.nodes:
            if len(node.queue) > 1 or (node.queue and node.shutting_down):
                done = node.queue.pop(0)
                node.ran.append(tests[done])
                turns[-1].add(tests[done])
                if tests[done] != crashes:
                    scheduler.mark_test_complete(node, done)
                    continue
                assert scheduler.remove_node(node) == crashes
                nodes.append(Worker(len(nodes)))
                scheduler.add_node(nodes[-1])
                scheduler.add_node_collection(nodes[-1], tests)
                scheduler.schedule()
            elif node.shutting_down:
                scheduler.remove_node(node)
        assert len(turns) < 100, "no worker goes on"
    return nodes, turns


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize(
    "tests",
    [PLAIN, MEASURING, MEASURING[:1], [*MEASURING, *PLAIN[:1]], [*PLAIN, *OWNERS, *SHARED, *MEASURING]],
)
def test_every_test_runs_once_and_a_measuring_one_alone(tests: list[str], workers: int) -> None:
    """However many workers there are, and whichever tests are asked for."""
    nodes, turns = run(tests, workers)

    assert sorted(name for node in nodes for name in node.ran) == sorted(tests)
    for turn in turns:
        assert len(turn) == 1 or not any(kind_of(name) is Kind.ALONE for name in turn)
    first = min((at for at, turn in enumerate(turns) if turn & set(MEASURING)), default=len(turns))
    assert not set().union(*turns[first:]) - set(MEASURING)


@pytest.mark.parametrize("crashes", [PLAIN[0], PLAIN[4], SHARED[3], MEASURING[0]])
def test_what_a_crashed_worker_leaves_is_run(crashes: str) -> None:
    """The test that it died of is not tried for ever; what it had before it is run by others, once."""
    tests = [*PLAIN, *OWNERS, *SHARED, *MEASURING]
    nodes, _ = run(tests, 3, crashes)

    assert sorted(name for node in nodes for name in node.ran) == sorted(tests)


def test_a_unit_stays_on_one_worker() -> None:
    """What a file's tests share, or several files', is made once."""
    nodes, _ = run([*PLAIN, *OWNERS, *SHARED, *MEASURING], 4)

    units = [{unit_of(name) for name in node.ran} for node in nodes]
    assert sum(map(len, units)) == len(set().union(*units))


def test_each_file_that_is_named_is_there() -> None:
    """A file that was renamed would run beside everything."""
    assert [name for name in (*ALONE, *OWN) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("fixture", SHARED_ONCE)
def test_what_is_made_once_is_made_by_one_worker(fixture: str) -> None:
    """Tests in several files that share a long run, or a package, are one unit."""
    files = [
        path for path in (ROOT / "tests" / "real").glob("test_*.py") if fixture in path.read_text("utf-8")
    ]

    assert len(files) > 1
    assert {unit_of(f"{path.relative_to(ROOT)}::test") for path in files} == {SHARED_ONCE[fixture]}
