"""Independent runs, in this process or in several of its own, which are ended together with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import connection
from types import TracebackType
from typing import Self, TypeVar

V = TypeVar("V")
R = TypeVar("R")


class Workers:
    """Calls functions for many values; what leaves it by an error ends its processes at once."""

    def __init__(self, count: int) -> None:
        """Start no process yet; with a count of 1 all is done in this one."""
        self._pool: ProcessPoolExecutor | None = None
        self._others = set(multiprocessing.active_children())
        if count > 1:
            with _interrupts_held():
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(count, mp_context=context, initializer=_end_with_parent)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is None:
            return
        if kind is not None:
            for child in set(multiprocessing.active_children()) - self._others:
                child.kill()
        self._pool.shutdown(cancel_futures=True)

    def each(self, run: Callable[[V], R], values: Iterable[V]) -> Iterator[tuple[V, R]]:
        """Yield each value with what a function, which can be pickled, returns for it, as they end."""
        if self._pool is None:
            for value in values:
                yield value, run(value)
            return
        pending: dict[Future[R], V] = {}
        with _interrupts_held():  # a process is started when there is something to do for it
            for value in values:
                pending[self._pool.submit(run, value)] = value
        for one in as_completed(pending):
            yield pending[one], one.result()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let Ctrl-C and what else ends a command wait; processes that are started meanwhile never hear it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """Have this process leave at once where the one that started it was killed."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            connection.wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
