"""SIGTERM and a lost terminal end a command like Ctrl-C: what is there is kept, and it says how to go on."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from tuner.cli.exits import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

BY = (signal.SIGTERM, signal.SIGHUP)
"""What ends a command beside Ctrl-C."""

_SHELL = 128
"""What a shell adds to a signal's number for an exit code."""


class Ended(KeyboardInterrupt):
    """A signal other than Ctrl-C ended the command.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def like_ctrl_c() -> Iterator[None]:
    """Raise ``Ended`` for the first of these signals, and ignore further ones; what was ignored stays so."""
    before = {number: signal.getsignal(number) for number in BY}
    heard = [number for number in BY if before[number] is not signal.SIG_IGN]  # nohup ignores SIGHUP

    def end(number: int, _frame: FrameType | None) -> NoReturn:
        for one in heard:  # whoever ends a group of processes may send it twice
            signal.signal(one, signal.SIG_IGN)
        raise Ended(number)

    for number in heard:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])


def exit_code(error: KeyboardInterrupt) -> int:
    """Return what a command exits with that was ended like this."""
    return _SHELL + error.number if isinstance(error, Ended) else INTERRUPTED
