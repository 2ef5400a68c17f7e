"""Many runs of one function side by side: watched while they last, and ended together."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import connection
from typing import TYPE_CHECKING, Any, Self

from lab.scenarios.trace import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

LOOK_SECONDS = 0.25
"""How often the runs are looked at."""

Beat = Callable[[float], None]
"""Told by a run, now and then, how many simulated seconds it has done since it told last."""

Run = Callable[[int, Beat], Outcome]

Told = Callable[[int, float], None]
"""Told how many of the values asked for are done, and the simulated seconds of all runs so far."""


class Ended(Exception):  # noqa: N818 - reads as the state it names
    """Leaves a run whose result nobody waits for any more."""


class Runs:
    """Calls a function for many values, in this process or in several of its own.

    An interrupt ends all of them: Ctrl-C is heard by this process alone, and the others leave their run at
    its next beat. They also end where this process is killed.
    """

    def __init__(self, run: Run, *, workers: int, told: Told) -> None:
        """Start no process yet.

        Args:
            run: can be pickled where there are several processes.
            workers: processes; with 1 all is done in this one.
            told: called at least every quarter of a second while processes are at work, else at every beat.
        """
        self._run = run
        self._told = told
        self._seconds = 0.0
        self._pool: ProcessPoolExecutor | None = None
        if workers > 1:
            context = multiprocessing.get_context("spawn")
            self._done = context.Value(ctypes.c_double, 0.0)
            self._end = context.RawValue(ctypes.c_bool, False)  # noqa: FBT003 - ctypes' signature
            self._pool = ProcessPoolExecutor(
                workers, mp_context=context, initializer=_begin, initargs=(run, self._done, self._end)
            )

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes, at once where something went wrong."""
        if self._pool is not None:
            with _interrupts_held():
                self._end.value = kind is not None
                self._pool.shutdown(cancel_futures=True)

    def outcomes(self, values: Sequence[int]) -> list[Outcome]:
        """Return what the function returns for each value, in their order.

        Raises:
            KeyboardInterrupt: Ctrl-C.
        """
        if self._pool is None:
            return [self._here(done, value) for done, value in enumerate(values)]
        with _interrupts_held():
            futures = [self._pool.submit(_work, value) for value in values]
        pending = set(futures)
        while pending:
            finished, pending = wait(pending, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            for one in finished:
                one.result()
            self._told(len(futures) - len(pending), self._done.get_obj().value)
        return [one.result() for one in futures]

    def _here(self, done: int, value: int) -> Outcome:
        def beat(seconds: float) -> None:
            self._seconds += seconds
            self._told(done, self._seconds)

        return self._run(value, beat)


class _Worker:
    """What a process of the pool was given at its start."""

    run: Run
    done: Any  # multiprocessing's synchronized values have no type to name
    end: Any

    @classmethod
    def beat(cls, seconds: float) -> None:
        """Add up what is done; leave where nobody waits any more."""
        if cls.end.value:
            raise Ended
        with cls.done.get_lock():
            cls.done.value += seconds


def _begin(run: Run, done: Any, end: Any) -> None:  # noqa: ANN401 - as above
    _Worker.run, _Worker.done, _Worker.end = run, done, end
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Leave at once where the process that started this one was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _work(value: int) -> Outcome:
    return _Worker.run(value, _Worker.beat)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait; processes that are started meanwhile never hear it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
