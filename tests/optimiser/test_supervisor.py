"""The optimiser's process from the daemon's side: it may die, hang, flood, talk nonsense: nobody waits."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace as replace_context
from pathlib import Path
from statistics import median

import pytest
from msgspec.structs import replace

from policies.types import LoadContext, Suggestion, Trial
from tests.optimiser.watched import AT_NOUGHT, ECHO, IMPATIENT, LOAD, READY, Watched, record
from tuner.core.state import State
from tuner.core.trials.evidence import REMEMBERED, Evidence
from tuner.optimiser import child, supervisor
from tuner.optimiser.child import LONGEST, Answer, NonsenseError, Question, line, parse
from tuner.optimiser.supervisor import COMMAND, KEPT, Patience, Process
from tuner.records import OptimiserPhase

GOOD = Suggestion(-0.01, 1.0, 1.0)


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
    """Ticks that ask on and on get one answer; the next trial gets its own."""
    one = watched(READY + ECHO)
    for _ in range(50):
        one.ask(1)
    one.until(lambda w: len(w.commands) == 1)
    for _ in range(50):
        one.ask(1)
    one.ask(1, OptimiserPhase.TRIAL)
    one.ask(2)
    one.until(lambda w: len(w.commands) == 2)

    assert [(command.name, command.who, command.value) for command in one.commands] == [
        ("suggest", "optimiser", 1),
        ("suggest", "optimiser", 2),
    ]
    assert one.commands[0].suggestion == GOOD
    assert "starting" in [health.state for health in one.said]
    assert one.health.deaths == 0


def test_no_child_is_started_before_it_is_needed(watched: Callable[..., Watched]) -> None:
    """A loop that asks nothing costs no memory, and a policy without outer loop none at all."""
    one = watched("raise SystemExit(9)")
    one.ask(0, OptimiserPhase.RESTING)
    one.until(lambda w: [health.state for health in w.said] == ["asleep"])
    one.supervisor.take(one.state, record(None))
    one.until(lambda w: w.health.state == "off")

    assert one.health.deaths == 0


def test_a_child_without_a_question_is_ended(watched: Callable[..., Watched]) -> None:
    """Its memory goes back to the server; it is started again for the next question."""
    one = watched(READY + ECHO, replace(IMPATIENT, linger=0.2))
    one.ask(1)
    one.until(lambda w: w.health.state == "asleep" and len(w.commands) == 1)
    one.ask(0, OptimiserPhase.RESTING)
    one.ask(2)
    one.until(lambda w: len(w.commands) == 2)

    assert one.health.deaths == 0


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("raise SystemExit(3)", "ended with exit code 3"),
        (READY + "sys.stdin.readline(); os.kill(os.getpid(), 9)", "killed by signal 9"),
        (READY + "time.sleep(600)", "was silent for 0.5 s"),
        ("import time; time.sleep(600)", "was silent for 0.5 s"),
        (READY + "sys.stdin.readline()\nwhile True: say('what')", "talked nonsense"),
        (READY + "sys.stdin.readline()\nwhile True: sys.stdout.write('x' * 9000)", "a line of more than"),
        (READY + 'sys.stdin.readline(); say(\'{"number":0,"error":"MemoryError: no"}\')', "MemoryError: no"),
    ],
    ids=["dies", "killed", "hangs", "never starts", "floods", "one long line", "gives up"],
)
def test_a_child_that_fails_is_replaced_ever_more_slowly(
    watched: Callable[..., Watched], script: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it does wrong is said with the time of the next try; the ticks go on at once meanwhile."""
    monkeypatch.setattr(supervisor, "time", AT_NOUGHT)
    one = watched(script, replace(IMPATIENT, answer=0.5))
    one.ask()
    one.until(lambda w: any(health.deaths >= 4 for health in w.said))
    usual = median(one.ask() for _ in range(100))
    dead = [health for health in one.said if health.state == "dead"]

    assert why in dead[0].why
    assert [health.until for health in dead[:4]] == [0.05, 0.1, 0.2, 0.2]
    assert usual < 0.02
    assert one.commands == []


@pytest.mark.parametrize(
    "nonsense",
    [
        '{"number":1,"suggestion":{"offset":NaN,"margin_share":1,"hold_gain":1}}',
        '{"number":1,"suggestion":{"offset":null,"margin_share":1,"hold_gain":1}}',
        '{"number":1,"suggestion":{"offset":1e999,"margin_share":1,"hold_gain":1}}',
        '{"number":1,"suggestion":{"offset":0.9,"margin_share":1,"hold_gain":1}}',
        '{"number":77,"suggestion":null}',
        '{"number":1,"io_capacity_max":100}',
        '{"number":"one"}',
        "[]",
        "",
        "\\x00\\xff",
    ],
)
def test_nonsense_is_counted_and_dropped(watched: Callable[..., Watched], nonsense: str) -> None:
    """Nothing of it gets to the loop; the good answer after it does."""
    echo = ECHO.replace(" say(", f" say({nonsense!r})\n say(")
    one = watched(READY + echo)
    one.ask()
    one.until(lambda w: len(w.commands) == 1)

    assert one.health.dropped == 1
    assert one.health.deaths == 0
    assert one.commands[0].suggestion == GOOD


def test_one_without_the_extra_says_so(
    watched: Callable[..., Watched], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where scikit-optimize went missing under a running daemon, the reason is in the status."""
    (tmp_path / "skopt.py").write_text("raise ImportError('no skopt here')\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    one = watched(
        "from tuner.optimiser.child import serve; import sys; serve(sys.stdin.buffer, sys.stdout.buffer)"
    )
    one.ask()
    one.until(lambda w: w.health.state == "dead")

    assert "no skopt here" in one.health.why


def test_one_that_really_runs_out_of_memory_costs_its_life_alone(watched: Callable[..., Watched]) -> None:
    """With a limit that the library does not fit in the process ends, and is started again later."""
    one = watched(
        "import os, sys\nos.environ['OPENBLAS_NUM_THREADS'] = '1'\nfrom tuner.optimiser import child\n"
        "child.DATA_BYTES = 40 << 20\nchild.limit()\nchild.serve(sys.stdin.buffer, sys.stdout.buffer)\n"
    )
    one.ask()
    one.until(lambda w: w.health.state == "dead")
    one.until(lambda w: w.health.deaths > 1)

    assert one.commands == []
    assert "exit code" in one.health.why or "MemoryError" in one.health.why


def test_the_real_child_answers_within_its_limits() -> None:
    """One thread, the lowest priority, bounded memory; and the same answer as in this process."""
    known = tuple(
        Trial(Suggestion(-0.001 * n, 1.0, 1.0), LOAD, -0.001, 0.001, float(n)) for n in range(REMEMBERED)
    )
    question = Question(number=3, seed=5, context=LOAD, log=known)
    process = Process(COMMAND)
    try:
        found: list[bytes] = []
        process.write(line(question))
        while len(found) < 2:
            threading.Event().wait(0.02)  # the pipe is polled here, as select is the supervisor's
            found += process.lines()
        number = process._child.pid
        limits = Path(f"/proc/{number}/limits").read_text(encoding="ascii")
        threads = Path(f"/proc/{number}/status").read_text(encoding="ascii")
        nice = os.getpriority(os.PRIO_PROCESS, number)
        environment = Path(f"/proc/{number}/environ").read_text(encoding="utf-8")
    finally:
        process.end()
    answer = parse(found[1], Answer)

    assert parse(found[0], Answer) == Answer(0)
    assert answer.number == 3
    assert answer.suggestion == child.answer(known, LOAD, seed=5)
    assert f"Max data size             {child.DATA_BYTES}" in limits
    assert "Threads:\t1\n" in threads
    assert nice == child.NICENESS
    names = {entry.partition("=")[0] for entry in environment.split("\0") if entry}
    assert names <= {*KEPT, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}


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
    """A load's share of reads goes to the child and back as it is: a number, none of them, and unknown."""
    for share in (0.7, 0.0, None):
        load = replace_context(LOAD, read_share=share)
        question = Question(number=1, seed=2, context=load, log=(Trial(GOOD, load, -0.02, 0.001, 1.0),))
        assert parse(line(question), Question) == question
    old = b'{"number":1,"seed":1,"context":{"redo_rate":1e6,"row_bytes":300,"lru_share":0,"concurrency":0,'
    assert parse(old + b'"flush_limit":1e8}}\n', Question).context.read_share is None


def test_evidence_goes_with_the_question(watched: Callable[..., Watched]) -> None:
    """The child remembers nothing itself: each question carries all that is known."""
    script = READY + ECHO.replace("'offset':-0.01", "'offset':q['log'][0]['gain']")
    one = watched(script)
    known = Evidence(log=(Trial(GOOD, LOAD, -0.02, 0.001, 1.0),))
    one.state = replace(one.state, trials=replace(one.state.trials, evidence=known))
    one.ask()
    one.until(lambda w: len(w.commands) == 1)

    assert one.commands[0].suggestion == Suggestion(-0.02, 1.0, 1.0)
    assert isinstance(one.state, State)


def test_the_daemon_itself_brings_in_no_numpy() -> None:
    """What the optimiser needs is loaded in its own process alone."""
    code = "import sys, tuner.daemon; print({'numpy', 'scipy', 'sklearn', 'skopt'} & {*sys.modules})"
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == "set()"
