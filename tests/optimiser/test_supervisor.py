"""The optimiser's process from the daemon's side: it may die, hang, flood, talk nonsense: nobody waits."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace as replace_context
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from policies.types import LoadContext, Suggestion, Trial
from tests.factory import BAYES, FACTS, A
from tuner.core.step import start
from tuner.core.trials.evidence import REMEMBERED, Evidence
from tuner.optimiser import child, supervisor
from tuner.optimiser.child import LONGEST, Answer, NonsenseError, Question, line, parse
from tuner.optimiser.supervisor import KEPT, THREADS, Patience, Supervisor
from tuner.records import Command, OptimiserHealth, OptimiserPhase, OptimiserProgress, TickRecord

GOOD = Suggestion(-0.01, 1.0, 1.0)
LOAD = LoadContext(1e6, 300.0, 0.0, 0.0, float(A))
IMPATIENT = Patience(answer=10.0, first=0.05, longest=0.2)
READ = "import sys,os,json,time\nq = json.loads(sys.stdin.readline())\n"
ECHO = (
    READ + "print(json.dumps({'number':q['number'],"
    "'suggestion':{'offset':-0.01,'margin_share':1.0,'hold_gain':1.0}}))\n"
)


def record(progress: OptimiserProgress | None) -> TickRecord:
    """Return a record of which only the outer loop's part counts."""
    made: Any = TickRecord
    return made(tick=None, lifecycle=None, mode=None, estimate=None, decision=None, optimiser=progress)  # type: ignore[no-any-return] # of the shape that take looks at


class Watched:
    """A supervisor with a child of a few lines, and what it says."""

    def __init__(self, script: str, patience: Patience) -> None:
        self.commands: list[Command] = []
        self.said: list[OptimiserHealth] = []
        self.news = threading.Condition()
        self.supervisor = Supervisor(
            lambda one: self._note(self.commands, one),
            lambda one: self._note(self.said, one),
            command=(sys.executable, "-c", script),
            patience=patience,
        )
        self.state = start(BAYES, FACTS)
        self.state = replace(self.state, trials=replace(self.state.trials, context=LOAD))
        self.supervisor.start()

    def _note(self, where: list[Any], one: object) -> None:
        with self.news:
            where.append(one)
            self.news.notify_all()

    def ask(self, number: int = 1, phase: OptimiserPhase = OptimiserPhase.ASKING) -> float:
        """Have a tick ask for a suggestion; return how long that took."""
        began = time.perf_counter()
        self.supervisor.take(self.state, record(OptimiserProgress(phase, number=number)))
        return time.perf_counter() - began

    @property
    def health(self) -> OptimiserHealth:
        """Return what was said last."""
        return self.said[-1] if self.said else OptimiserHealth()

    def until(self, seen: Callable[[Watched], bool], timeout: float = 20.0) -> None:
        """Wait until something was seen."""
        with self.news:
            assert self.news.wait_for(lambda: seen(self), timeout), (self.said[-3:], self.commands)


@pytest.fixture
def watched() -> Iterator[Callable[..., Watched]]:
    """Return what makes a supervisor that ends with the test."""
    made: list[Watched] = []

    def make(script: str, patience: Patience = IMPATIENT) -> Watched:
        made.append(Watched(script, patience))
        return made[-1]

    yield make
    for one in made:
        assert one.supervisor.stop(5.0)


def test_a_question_is_answered_once(watched: Callable[..., Watched]) -> None:
    """Ticks that ask on and on get one answer; the next trial its own, with all that is known by then."""
    one = watched(ECHO.replace("-0.01", "q['log'][0]['gain'] if q['log'] else -0.01"))
    for _ in range(50):
        one.ask(1)
    one.until(lambda w: len(w.commands) == 1)
    known = Evidence(log=(Trial(GOOD, LOAD, -0.02, 0.001, 1.0),))
    one.state = replace(one.state, trials=replace(one.state.trials, evidence=known))
    for _ in range(50):
        one.ask(1)
    one.ask(1, OptimiserPhase.TRIAL)
    one.ask(2)
    one.until(lambda w: len(w.commands) == 2)

    assert [(command.name, command.who, command.value) for command in one.commands] == [
        ("suggest", "optimiser", 1),
        ("suggest", "optimiser", 2),
    ]
    assert [command.suggestion for command in one.commands] == [GOOD, Suggestion(-0.02, 1.0, 1.0)]
    assert one.health.deaths == 0


def test_no_child_is_started_before_it_is_needed(watched: Callable[..., Watched]) -> None:
    """A loop that asks nothing costs no memory, and a policy without outer loop none at all."""
    one = watched("raise SystemExit(9)")
    one.ask(0, OptimiserPhase.RESTING)
    one.until(lambda w: [health.state for health in w.said] == ["asleep"])
    one.supervisor.take(one.state, record(None))
    one.until(lambda w: w.health.state == "off")

    assert one.health.deaths == 0


def test_a_question_that_nobody_asks_any_more_ends_its_child(watched: Callable[..., Watched]) -> None:
    """It is no death, and the next question gets a child of its own."""
    one = watched(READ + "time.sleep(600 * (q['number'] == 1))\n" + ECHO.removeprefix(READ))
    one.ask(1)
    one.until(lambda w: w.health.state == "thinking")
    one.ask(1, OptimiserPhase.BARRED)
    one.ask(2)
    one.until(lambda w: len(w.commands) == 1)

    assert one.commands[0].value == 2
    assert one.health.deaths == 0


NONSENSE = (
    '{"number":1,"suggestion":{"offset":NaN,"margin_share":1,"hold_gain":1}}',
    '{"number":1,"suggestion":{"offset":1e999,"margin_share":1,"hold_gain":1}}',
    '{"number":1,"suggestion":{"offset":0.9,"margin_share":1,"hold_gain":1}}',
    '{"number":77,"suggestion":null}',
    '{"number":1,"io_capacity_max":100}',
    "[]",
    "",
    "\\x00\\xff",
)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("raise SystemExit(3)", "ended with exit code 3"),
        (READ + "os.kill(os.getpid(), 9)", "killed by signal 9"),
        (READ + "time.sleep(600)", "was silent for 0.5 s"),
        (READ + "while True: sys.stdout.write('x' * 9000)", "sent more than"),
        (READ + 'print(\'{"number":0,"error":"MemoryError: no"}\')', "MemoryError: no"),
        *((READ + f"print({text!r})", "") for text in NONSENSE),
    ],
    ids=["dies", "killed", "hangs", "floods", "gives up", *NONSENSE],
)
def test_a_child_that_fails_is_replaced_ever_more_slowly(
    watched: Callable[..., Watched], script: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it does wrong is said with the time of the next try; nothing of it gets to the loop."""
    nought = SimpleNamespace(time=lambda: 0.0, monotonic=time.monotonic)
    monkeypatch.setattr(supervisor, "time", nought)  # shows each wait as the time at which it ends
    one = watched(script, replace(IMPATIENT, answer=0.5))
    one.ask()
    one.until(lambda w: any(health.deaths >= 2 for health in w.said))
    usual = median(one.ask() for _ in range(100))
    dead = [health for health in one.said if health.state == "dead"]

    assert why in dead[0].why
    assert [health.until for health in dead[:2]] == [0.05, 0.1]
    assert usual < 0.02
    assert one.commands == []


def test_an_answer_makes_the_next_wait_a_short_one_again(
    watched: Callable[..., Watched], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deaths between which a question was answered are not in a row: the wait begins anew with the first."""
    monkeypatch.setattr(supervisor, "time", SimpleNamespace(time=lambda: 0.0, monotonic=time.monotonic))
    lives = f"with open({str(tmp_path / 'lives')!r}, 'a') as lives:\n lives.write('x'); n = lives.tell()\n"
    one = watched(lives + "if n != 4: raise SystemExit(3)\n" + ECHO)
    one.ask(1)
    one.until(lambda w: len(w.commands) == 1)
    one.ask(2)
    one.until(lambda w: w.health.deaths >= 5)

    waits = [health.until for health in one.said if health.state == "dead"]
    assert waits[:5] == [0.05, 0.1, 0.2, 0.05, 0.1]


def test_one_that_really_runs_out_of_memory_costs_its_life_alone(watched: Callable[..., Watched]) -> None:
    """With a limit that the library does not fit in the process ends, and is started again later."""
    one = watched(
        "import os, sys\nos.environ['OPENBLAS_NUM_THREADS'] = '1'\nfrom tuner.optimiser import child\n"
        "child.DATA_BYTES = 40 << 20\nchild.limit()\nchild.serve(sys.stdin.buffer, sys.stdout.buffer)\n"
    )
    one.ask()
    one.until(lambda w: w.health.deaths > 0)

    assert one.commands == []
    assert "exit code" in one.health.why or "Error" in one.health.why


def test_the_real_child_keeps_its_limits() -> None:
    """The lowest priority, bounded memory, no password; and an end in words where the question is none."""
    process = supervisor.started(environ={**os.environ, "INNOBRIM_PASSWORD": "secret"})
    proc = Path(f"/proc/{process.pid}")
    limit = f"Max data size             {child.DATA_BYTES}"
    while limit not in (proc / "limits").read_text(encoding="ascii") and process.poll() is None:
        time.sleep(0.02)
    nice = os.getpriority(os.PRIO_PROCESS, process.pid)
    environment = (proc / "environ").read_text(encoding="utf-8")
    said, _ = process.communicate(b"nonsense", timeout=60)

    assert "NonsenseError" in parse(said, Answer).error
    assert nice == child.NICENESS
    assert {entry.partition("=")[0] for entry in environment.split("\0") if entry} <= {*KEPT, *THREADS}


def test_messages_are_bounded() -> None:
    """All that can be remembered fits a line; what is longer is refused before it is sent."""
    load = LoadContext(
        1234567.890123456, 333.3333333333333, 1e-17, 12.34567890123456, 8e7, 0.1234567890123456
    )
    trial = Trial(
        Suggestion(-0.0123456789012345, 1.23456789012345, 1.23456789012345), load, -1e-17, 1e-17, 1.8e9
    )
    full = Question(number=10**9, seed=2**32, context=load, log=(trial,) * REMEMBERED)
    assert len(line(full)) < LONGEST

    with pytest.raises(NonsenseError, match="are allowed"):
        line(replace(full, log=(trial,) * 20 * REMEMBERED))


def test_a_question_has_the_share_of_reads_with_or_without_it() -> None:
    """A load's share of reads goes to the child as it is: a number, none of them, and unknown."""
    for share in (0.7, 0.0, None):
        load = replace_context(LOAD, read_share=share)
        question = Question(number=1, seed=2, context=load, log=(Trial(GOOD, load, -0.02, 0.001, 1.0),))
        assert parse(line(question), Question) == question


def test_the_daemon_itself_brings_in_no_numpy() -> None:
    """What the optimiser needs is loaded in its own process alone."""
    code = "import sys, tuner.daemon.daemon; print({'numpy', 'scipy', 'sklearn', 'skopt'} & {*sys.modules})"
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == "set()"
