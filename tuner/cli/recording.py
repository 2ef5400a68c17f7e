"""What recordings of every kind have in common: a file that is new, and an early end that keeps it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tuner.board import Board
from tuner.cli.options import usage
from tuner.records import Command

ENDED_BY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stopped_by_signals(board: Board) -> Iterator[None]:
    """Have Ctrl-C, SIGTERM and a lost terminal end the recording instead of the program.

    A signal that whoever started this had ignored, as nohup does, stays ignored.
    """

    def stop(number: int, _frame: FrameType | None) -> None:
        board.inbox.put(Command(name="stop", who=signal.Signals(number).name, value="leave"))

    heard = [number for number in ENDED_BY if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def new_file(option: str, given: Path, what: str) -> Path:
    """Return where a recording goes; exit 2 where it cannot go there.

    Args:
        option: that names it.
        given: the file.
        what: it is, such as "a trace".
    """
    path = given.absolute()
    if path.exists():
        usage(f"{option} {path}: is there already; name a file that is not, for {what} is never overwritten")
    if not path.parent.is_dir():
        usage(f"{option} {path}: there is no directory {path.parent}")
    if not os.access(path.parent, os.W_OK):
        usage(f"{option} {path}: this account may not write to {path.parent}")
    return path
