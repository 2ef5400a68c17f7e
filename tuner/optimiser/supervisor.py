"""Looks after the optimiser's process from a thread of its own, so that the loop waits for nothing of it.

The process lives while there are questions: it is started for one, and ended when none has come for a while,
which leaves its memory to the server for most of the day. Whatever it does wrong costs it its life, and the
next one waits longer each time.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from policies.suggestions import allowed
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

END_SECONDS = 0.3
"""How long a child may take to end once its input has; then it is killed."""


class ProcessError(Exception):
    """The child is of no use any more; the message says why."""


class Process:
    """One child with its two pipes."""

    def __init__(self, command: Sequence[str] = COMMAND, *, environ: Mapping[str, str] = os.environ) -> None:
        """Start it.

        Raises:
            ProcessError: that failed.
        """
        kept = {name: environ[name] for name in KEPT if name in environ}
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, (ROOT, kept.get("PYTHONPATH"))))
        try:
            self._child = subprocess.Popen(  # noqa: S603 - our own program
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
        assert self._child.stdin is not None  # noqa: S101 - pipes, as asked for
        assert self._child.stdout is not None  # noqa: S101 - the same
        self._to, self.output = self._child.stdin.fileno(), self._child.stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self.output, False)
        self._rest = b""

    def write(self, line: bytes) -> None:
        """Send a line.

        Raises:
            ProcessError: it does not go through at once.
        """
        try:
            written = os.write(self._to, line)
        except OSError as error:
            raise ProcessError(f"takes no question: {error}") from error
        if written < len(line):
            raise ProcessError("takes no question: its pipe is full")

    def lines(self) -> list[bytes]:
        """Return the lines that have come.

        Raises:
            ProcessError: it has ended, or a line is too long.
        """
        try:
            got = os.read(self.output, LONGEST)
        except BlockingIOError:
            return []
        except OSError as error:
            raise ProcessError(f"cannot be read: {error}") from error
        if not got:
            raise ProcessError(self._how_it_ended())
        *whole, self._rest = (self._rest + got).split(b"\n")
        if len(self._rest) > LONGEST:
            raise ProcessError(f"sent a line of more than {LONGEST} bytes")
        return whole

    def end(self) -> None:
        """End it: close its input, and kill it where that does not do."""
        for pipe in (self._child.stdin, self._child.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        try:
            self._child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _how_it_ended(self) -> str:
        try:
            code = self._child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its output"
        return f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


class Patience(Struct, frozen=True):
    """Times in seconds, and how much nonsense is too much.

    Attributes:
        answer: within which a question is answered, or the start is over.
        linger: after which a child without a question is ended.
        first: wait after the first death; doubled with each further one in a row.
        longest: wait at most.
        nonsense: messages of one child that may be.
    """

    answer: float = 120.0
    linger: float = 60.0
    first: float = 5.0
    longest: float = 900.0
    nonsense: int = 20


class Supervisor:
    """Hands the loop's questions to the child, and its answers to the loop."""

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
            tell: told whenever the health is another one.
            command: that starts the child; None for its own.
            patience: with it.
        """
        self._submit = submit
        self._tell = tell
        self._command = COMMAND if command is None else command
        self._patience = patience
        self._lock = threading.Lock()
        self._question: Question | None = None
        self._wanted = self._ending = False
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._thread = threading.Thread(target=self._run, name="optimiser", daemon=True)
        self._health = OptimiserHealth()
        self._process: Process | None = None
        self._ready = False
        self._sent: Question | None = None
        self._answered = 0
        self._since = 0.0
        self._again = 0.0
        self._in_a_row = 0
        self._nonsense = 0

    @property
    def alive(self) -> bool:
        """Tell whether its thread lives."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin to look after it; no child is started before the first question."""
        self._thread.start()

    def take(self, state: State, record: TickRecord) -> None:
        """Take a tick in; on the loop's thread, so it only leaves a note."""
        progress, context = record.optimiser, state.trials.context
        question = None
        if progress is not None and progress.phase is OptimiserPhase.ASKING and context is not None:
            with self._lock:
                if self._question is not None and self._question.number == progress.number:
                    return
            question = Question(
                number=progress.number,
                seed=seed_of(f"{state.facts.identity} {server_of(state.facts)}", progress.number),
                context=context,
                log=state.trials.evidence.log,
            )
        with self._lock:
            if question is None and self._question is None and self._wanted == (progress is not None):
                return
            self._question, self._wanted = question, progress is not None
        self._rouse()

    def stop(self, timeout: float) -> bool:
        """End child and thread within so many seconds; tell whether they did."""
        self._ending = True
        self._rouse()
        if self._thread.is_alive():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _rouse(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it is being roused already
            os.write(self._wake, b".")

    def _run(self) -> None:
        try:
            while not self._ending:
                self._turn()
        finally:
            self._put_down()

    def _turn(self) -> None:
        """Wait for something to happen, and see to it."""
        watched = [self._woken] + ([] if self._process is None else [self._process.output])
        found, _, _ = select.select(watched, [], [], self._wait())
        if self._woken in found:
            os.read(self._woken, 4096)
        with self._lock:
            question, wanted = self._question, self._wanted
        try:
            if self._process is not None and self._process.output in found:
                self._listen(self._process)
            self._see_to(question, wanted=wanted)
        except ProcessError as error:
            self._bury(str(error))

    def _wait(self) -> float | None:
        """Return the seconds until something is due; None for nothing."""
        now = time.monotonic()
        if self._health.state == "dead":
            return max(0.0, self._again - now)
        if self._process is None:
            return None
        busy = self._sent is not None or not self._ready
        return max(0.0, self._since + (self._patience.answer if busy else self._patience.linger) - now)

    def _see_to(self, question: Question | None, *, wanted: bool) -> None:
        now = time.monotonic()
        if self._health.state == "dead" and now >= self._again:
            self._say(state="asleep", until=None)
        if question is None:
            self._answered = 0
        if not wanted:
            self._put_down()
            self._say(state="off", until=None)
        elif self._process is None:
            if self._health.state == "off":
                self._say(state="asleep")
            if question is not None and question.number != self._answered and self._health.state != "dead":
                self._say(state="starting")
                self._process = Process(self._command)
                self._ready, self._sent, self._since, self._nonsense = False, None, now, 0
        else:
            self._keep(self._process, question, now)

    def _keep(self, process: Process, question: Question | None, now: float) -> None:
        """Ask the child, or end it where it is silent, or has nothing to do."""
        busy = self._sent is not None or not self._ready
        if busy and now - self._since >= self._patience.answer:
            raise ProcessError(f"was silent for {self._patience.answer:g} s")
        if self._ready and self._sent is None and question is not None and question.number != self._answered:
            process.write(line(question))
            self._sent, self._since = question, now
            self._say(state="thinking")
        elif not busy and now - self._since >= self._patience.linger:
            self._put_down()
            self._say(state="asleep")

    def _listen(self, process: Process) -> None:
        """Take the child's lines in; what is no answer to the question is dropped and counted."""
        for text in process.lines():
            try:
                self._hear(parse(text, Answer))
            except NonsenseError:
                self._nonsense += 1
                self._say(dropped=self._health.dropped + 1)
                if self._nonsense > self._patience.nonsense:
                    raise ProcessError(f"talked nonsense {self._nonsense} times") from None

    def _hear(self, message: Answer) -> None:
        if message.error:
            raise ProcessError(message.error[:500])
        if not self._ready and message.number == 0:
            self._ready, self._since = True, time.monotonic()
            self._say(state="ready")
            return
        asked = self._sent
        if asked is None or message.number != asked.number:
            raise NonsenseError(f"an answer for trial {message.number}, which was not asked for")
        if message.suggestion is not None and not allowed(message.suggestion):
            raise NonsenseError(f"{message.suggestion} is outside the limits")
        self._sent, self._answered, self._since, self._in_a_row = None, asked.number, time.monotonic(), 0
        self._say(state="ready")
        self._submit(
            Command(name="suggest", who="optimiser", value=asked.number, suggestion=message.suggestion)
        )

    def _bury(self, why: str) -> None:
        """Note a death, and when the next child may be born."""
        self._put_down()
        wait = min(self._patience.longest, self._patience.first * 2.0 ** min(20, self._in_a_row))
        self._in_a_row += 1
        self._again = time.monotonic() + wait
        self._say(state="dead", why=why, until=time.time() + wait, deaths=self._health.deaths + 1)

    def _put_down(self) -> None:
        if self._process is not None:
            self._process.end()
        self._process, self._sent, self._ready = None, None, False

    def _say(self, **changes: object) -> None:
        health = replace(self._health, **changes)
        if health != self._health:
            self._health = health
            self._tell(health)
