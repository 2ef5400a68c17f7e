"""Many runs of one function side by side: watched while they last, and ended together."""

from __future__ import annotations

import ctypes
import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import connection
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import TracebackType

V = TypeVar("V")
R = TypeVar("R")
K = TypeVar("K")

LOOK_SECONDS = 0.25
"""How often the runs are looked at."""

Beat = Callable[[float], None]
"""Told by a run, now and then, how many simulated seconds it has done since it told last."""

Told = Callable[[int, float], None]
"""Told how many of the values asked for are done, and the simulated seconds of all runs so far."""


class Ended(Exception):  # noqa: N818 - reads as the state it names
    """Leaves a run whose result nobody waits for any more."""


class Runs(Generic[V, R]):
    """Calls a function for many values, in this process or in several of its own.

    An interrupt ends all of them: Ctrl-C is heard by this process alone, and the others leave their run at
    its next beat. They also end where this process is killed.
    """

    def __init__(self, run: Callable[[V, Beat], R], *, workers: int, told: Told) -> None:
        """Start no process yet.

        Args:
            run: can be pickled where there are several processes.
            workers: processes; with 1 all is done in this one.
            told: called at least every quarter of a second while processes are at work, else at every beat.
        """
        self._run = run
        self._told = told
        self._workers = workers
        self._seconds = 0.0
        self._pool: ProcessPoolExecutor | None = None
        if workers > 1:
            context = multiprocessing.get_context("spawn")
            with _interrupts_held():  # the first of these starts the process that keeps account of semaphores
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

    def outcomes(self, values: Sequence[V]) -> list[R]:
        """Return what the function returns for each value, in their order.

        Raises:
            KeyboardInterrupt: Ctrl-C.
        """
        found = dict(self.each(range(len(values)), values.__getitem__))
        return [found[place] for place in range(len(values))]

    def each(self, keys: Iterable[K], value_of: Callable[[K], V]) -> Iterator[tuple[K, R]]:
        """Yield each key with what the function returns for its value, in the order in which they end.

        A key is taken when there is a process free for it, and not before.

        Args:
            keys: of the values.
            value_of: the value of a key.

        Raises:
            KeyboardInterrupt: Ctrl-C.
        """
        done = 0
        if self._pool is None:
            for done, key in enumerate(keys):
                yield key, self._here(done, value_of(key))
            return
        source = iter(keys)
        pending: dict[Future[R], K] = {}
        while True:
            for key in itertools.islice(source, self._workers - len(pending)):
                with _interrupts_held():
                    pending[self._pool.submit(_work, value_of(key))] = key
            if not pending:
                return
            finished, _ = wait(pending, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            done += len(finished)
            self._told(done, self._done.get_obj().value)
            for one in finished:
                yield pending.pop(one), one.result()

    def _here(self, done: int, value: V) -> R:
        def beat(seconds: float) -> None:
            self._seconds += seconds
            self._told(done, self._seconds)

        return self._run(value, beat)


class _Worker:
    """What a process of the pool was given at its start."""

    run: Any
    done: Any  # multiprocessing's synchronized values have no type to name
    end: Any

    @classmethod
    def beat(cls, seconds: float) -> None:
        """Add up what is done; leave where nobody waits any more."""
        if cls.end.value:
            raise Ended
        with cls.done.get_lock():
            cls.done.value += seconds


def _begin(run: Any, done: Any, end: Any) -> None:  # noqa: ANN401 - as above
    _Worker.run, _Worker.done, _Worker.end = run, done, end
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # with which a pool ends its processes
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Leave at once where the process that started this one was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _work(value: Any) -> Any:  # noqa: ANN401 - whatever the function takes and gives
    return _Worker.run(value, _Worker.beat)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let Ctrl-C and what else ends a command wait; processes that are started meanwhile never hear it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
