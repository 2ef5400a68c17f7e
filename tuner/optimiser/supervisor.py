"""Asks the optimiser's process from a thread of its own, so that the loop waits for nothing of it.

A process answers one question and ends, which leaves its memory to the server between two trials. Whatever it
does wrong costs it its life, and the next one waits longer each time.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from policies.suggestions import allowed
from policies.types import Suggestion
from tuner.core.state import State
from tuner.core.trials.optimising import server_of
from tuner.optimiser.child import LONGEST, Answer, NonsenseError, Question, line, parse, seed_of
from tuner.records import Command, OptimiserHealth, OptimiserPhase, TickRecord

COMMAND = (sys.executable, "-P", "-m", "tuner.optimiser")

ROOT = str(Path(__file__).parents[2])
"""Where the program lies: an installed one is on nobody's path (docs/decisions/wheel.md)."""

KEPT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV")
"""All of the environment that the child gets: a password in it is none of its business."""

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Read when numpy is imported, and set to 1: more threads cost twice the processor time."""


class ProcessError(Exception):
    """The child was of no use; the message says why."""


def started(
    command: Sequence[str] = COMMAND, *, environ: Mapping[str, str] = os.environ
) -> subprocess.Popen[bytes]:
    """Start a child.

    Raises:
        ProcessError: that failed.
    """
    kept = {name: environ[name] for name in KEPT if name in environ}
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, (ROOT, kept.get("PYTHONPATH"))))
    try:
        return subprocess.Popen(  # noqa: S603 - our own program
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=kept | dict.fromkeys(THREADS, "1"),
            cwd="/",
            start_new_session=True,  # Ctrl-C is for the daemon, which ends it in order
        )
    except OSError as error:
        raise ProcessError(f"cannot be started: {error}") from error


class Patience(Struct, frozen=True):
    """Times in seconds.

    Attributes:
        answer: within which a question is answered.
        first: wait after the first death; doubled with each further one in a row.
        longest: wait at most.
    """

    answer: float = 120.0
    first: float = 5.0
    longest: float = 900.0


class Supervisor:
    """Hands the loop's questions to a child each, and their answers to the loop."""

    def __init__(
        self,
        submit: Callable[[Command], object],
        tell: Callable[[OptimiserHealth], None],
        *,
        command: Sequence[str] | None = None,
        patience: Patience = Patience(),  # noqa: B008 - frozen
    ) -> None:
        """Put it together; ``start`` begins.

        Args:
            submit: hands a command to the loop at once.
            tell: called whenever the health is another one.
            command: that starts the child; None for its own.
            patience: with it.
        """
        self._submit = submit
        self._tell = tell
        self._command = COMMAND if command is None else command
        self._patience = patience
        self._news = threading.Condition()
        self._question: Question | None = None
        self._wanted = self._ending = False
        self._child: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="optimiser", daemon=True)
        self._health = OptimiserHealth()

    @property
    def alive(self) -> bool:
        """Tell whether its thread lives."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin to wait for questions; no child is started before the first."""
        self._thread.start()

    def take(self, state: State, record: TickRecord) -> None:
        """Take a tick in; on the loop's thread, so it only leaves a note."""
        progress, context = record.optimiser, state.trials.context
        question = None
        if progress is not None and progress.phase is OptimiserPhase.ASKING and context is not None:
            question = self._question
            if question is None or question.number != progress.number:
                seed = seed_of(f"{state.facts.identity} {server_of(state.facts)}", progress.number)
                question = Question(progress.number, seed, context, state.trials.evidence.log)
        wanted = progress is not None
        if question is self._question and wanted == self._wanted:
            return
        with self._news:
            self._question, self._wanted = question, wanted
            self._news.notify()
        if question is None:
            self._kill()

    def stop(self, timeout: float) -> bool:
        """End child and thread within so many seconds; tell whether they did."""
        with self._news:
            self._ending = True
            self._news.notify()
        self._kill()
        if self._thread.is_alive():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        answered, again, deaths_in_a_row = 0, 0.0, 0
        while (question := self._next(answered, again)) is not None:
            self._report(state="thinking", until=None)
            try:
                suggestion = self._answer(question)
            except (ProcessError, NonsenseError) as error:
                if self._question is not question or self._ending:
                    continue  # ended because nobody asks any more
                wait = min(self._patience.longest, self._patience.first * 2.0 ** min(20, deaths_in_a_row))
                deaths_in_a_row += 1
                again = time.monotonic() + wait
                until = time.time() + wait
                self._report(state="dead", why=str(error)[:500], until=until, deaths=self._health.deaths + 1)
            else:
                answered, deaths_in_a_row = question.number, 0
                self._report(state="asleep")
                self._submit(
                    Command(name="suggest", who="optimiser", value=question.number, suggestion=suggestion)
                )

    def _next(self, answered: int, again: float) -> Question | None:
        """Return the next unanswered question, once the last death is long enough ago; None at the end."""
        with self._news:
            while not self._ending:
                left = again - time.monotonic()
                if not self._wanted:
                    self._report(state="off", until=None)
                elif self._health.state != "dead" or left <= 0.0:
                    self._report(state="asleep", until=None)
                    if self._question is None:
                        answered = 0
                    elif self._question.number != answered:
                        return self._question
                self._news.wait(left if left > 0.0 else None)
        return None

    def _answer(self, question: Question) -> Suggestion | None:
        """Have a child answer; return what to try.

        Raises:
            ProcessError: it did not, in time and in one line.
            NonsenseError: what it sent is no answer to this question, or question or answer are too long.
        """
        text = line(question)
        silent = threading.Event()
        with started(self._command) as child:
            self._child = child

            def give_up() -> None:
                silent.set()
                child.kill()

            timer = threading.Timer(self._patience.answer, give_up)
            timer.daemon = True
            timer.start()
            assert child.stdin is not None  # noqa: S101 - pipes, as asked for
            assert child.stdout is not None  # noqa: S101 - the same
            try:
                if self._question is not question or self._ending:
                    child.kill()
                with contextlib.suppress(OSError):  # one that takes no question says why as it ends
                    child.stdin.write(text)  # a pipe has room for two of them
                with contextlib.suppress(OSError):
                    child.stdin.close()
                sent = child.stdout.read(LONGEST + 1)
                if len(sent) > LONGEST:
                    raise ProcessError(f"sent more than {LONGEST} bytes")
                code = child.wait()
            finally:
                timer.cancel()
                child.kill()
                self._child = None
        if silent.is_set():
            raise ProcessError(f"was silent for {self._patience.answer:g} s")
        if code:
            raise ProcessError(f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}")
        answer = parse(sent, Answer)
        if answer.error:
            raise ProcessError(answer.error)
        if answer.number != question.number:
            raise NonsenseError(f"an answer for trial {answer.number}, which was not asked for")
        if answer.suggestion is not None and not allowed(answer.suggestion):
            raise NonsenseError(f"{answer.suggestion} is outside the limits")
        return answer.suggestion

    def _kill(self) -> None:
        """End the child that is at work, whose answer nobody wants any more."""
        child = self._child
        if child is not None:
            with contextlib.suppress(OSError):
                child.kill()

    def _report(self, **changes: object) -> None:
        health = replace(self._health, **changes)
        if health != self._health:
            self._health = health
            self._tell(health)
