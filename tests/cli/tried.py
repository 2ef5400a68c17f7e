"""What people read of a trial, a drain and a status: ``python -m tests.cli.tried`` writes ``said/`` anew.

Read the difference before it is kept: it is what people see.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import Result
from msgspec.structs import replace

from api.server import ApiServer
from tests.api.factory import MEBIBYTE, START, AnsweringLoop, answering, application, record, sample
from tests.cli.support import innobrim
from tests.core.learned_document import full
from tests.factory import DEFAULT
from tuner.daemon.board import Board
from tuner.records import (
    Command,
    DrainProgress,
    PairedRatio,
    TrialEnd,
    TrialProgress,
    TrialResult,
    TrialSide,
    TrialVerdict,
)
from tuner.settings import Mode

FOLDER = Path(__file__).parent / "said"

GAINS = TrialResult(
    began=START,
    baseline=DEFAULT,
    seed=7,
    verdict=TrialVerdict.BETTER,
    by="commits",
    ended=START + 14_400.0,
    end=TrialEnd.TIME,
    pairs=24,
    discarded=1,
    commits=PairedRatio(1289.0, 2829.0, 2.195, 2.10, 2.29),
    row_changes=PairedRatio(3867.0, 8487.0, 2.195, 2.10, 2.29),
    pages_per_row=PairedRatio(0.62, 0.22, 0.355, 0.345, 0.365),
    page_writes=PairedRatio(2400.0, 1870.0, 0.779, 0.760, 0.799),
    latency=PairedRatio(0.0124, 0.0056, 0.452, 0.430, 0.475),
)
PAGES = replace(
    GAINS,
    by="pages_per_row",
    commits=PairedRatio(900.0, 901.0, 1.001, 0.996, 1.006),
    row_changes=PairedRatio(2700.0, 2703.0, 1.001, 0.996, 1.006),
    latency=None,
)
EQUAL = replace(
    GAINS,
    verdict=TrialVerdict.NO_DIFFERENCE,
    pairs=4,
    commits=PairedRatio(900.0, 912.0, 1.013, 0.97, 1.058),
    row_changes=PairedRatio(2700.0, 2736.0, 1.013, 0.97, 1.058),
    pages_per_row=PairedRatio(0.22, 0.219, 0.995, 0.93, 1.065),
    page_writes=PairedRatio(594.0, 599.0, 1.008, 0.94, 1.081),
    latency=None,
    more_hours=11.2,
)
LOSES = replace(
    GAINS,
    verdict=TrialVerdict.WORSE,
    commits=PairedRatio(1000.0, 900.0, 0.9, 0.88, 0.92),
    row_changes=PairedRatio(3000.0, 2700.0, 0.9, 0.88, 0.92),
)
FEW = TrialResult(START, DEFAULT, 7, TrialVerdict.TOO_FEW, "", START + 700.0, TrialEnd.EMERGENCY, 1)
UNDER_WAY = TrialProgress(
    replace(GAINS, ended=None, end=None, pairs=5),
    running=True,
    side=TrialSide.BASELINE,
    counted=True,
    ends=START + 14_400.0,
    block_seconds=300.0,
    who="ann",
    room=21,
)

Situation = tuple[tuple[str, ...], Callable[[AnsweringLoop], None], int]


def _trial(shown: TrialProgress | None, *words: str, code: int = 0) -> Situation:
    """Return a situation in which a trial is so far."""

    def lead(loop: AnsweringLoop) -> None:
        loop.board.trial = lambda: shown
        loop.publish()

    return words or ("trial", "status"), lead, code


def _everything(loop: AnsweringLoop) -> None:
    """Let the daemon be active, with a trial under way and a ledger of some weeks."""
    loop.board.trial, loop.board.learned = lambda: UNDER_WAY, full
    loop.template = record(7)
    number = loop.board.submit(Command(name="mode", who="ann", value=Mode.ACTIVE.value))
    assert loop.board.answer(number, timeout=60.0) is not None


def _drained(loop: AnsweringLoop) -> None:
    """Let the age be down already."""
    lsn = 10_000_000_000
    reading = sample(51, lsn_current=lsn, lsn_checkpoint=lsn - 60 * MEBIBYTE)
    way = DrainProgress(64 * MEBIBYTE, 80 * MEBIBYTE, ends=3700.0, who="ann", reached=50.0)
    loop.template = record(51, reading=reading, drain=way)
    loop.publish()


def _keeping(loop: AnsweringLoop) -> None:
    """Let a drain be under way that began below its age, which rose since."""
    lsn = 10_000_000_000
    reading = sample(51, lsn_current=lsn, lsn_checkpoint=lsn - 25 * MEBIBYTE)
    way = DrainProgress(20 * MEBIBYTE, 11 * MEBIBYTE, ends=3700.0, who="ann")
    loop.template = record(51, reading=reading, drain=way)
    loop.publish()


def _rising(loop: AnsweringLoop) -> None:
    """Let the age rise by a slope that reaches the sync point, on its way to its aim."""
    _everything(loop)
    quiet = record(51)
    assert quiet.estimate is not None
    rising = replace(quiet.estimate, seconds_to_sync=6300.0, seconds_to_stall=6900.0)
    decision = replace(quiet.decision, terms={"error_ahead": -0.4})
    loop.template = replace(quiet, estimate=rising, decision=decision, mode=Mode.ACTIVE)
    loop.publish()


SITUATIONS: dict[str, Situation] = {
    "trial-better": _trial(TrialProgress(GAINS)),
    "trial-fewer-pages": _trial(TrialProgress(PAGES)),
    "trial-no-difference": _trial(TrialProgress(EQUAL)),
    "trial-worse": _trial(TrialProgress(LOSES), code=1),
    "trial-too-few": _trial(TrialProgress(FEW)),
    "trial-under-way": _trial(UNDER_WAY),
    "trial-waits": _trial(replace(UNDER_WAY, waits="held: paused (paused by ann)", side=TrialSide.OURS)),
    "trial-none": _trial(None, code=1),
    "drain-begun": (("drain", "--to-age", "64M"), lambda loop: loop.publish(), 0),
    "status-rising": (("status",), _rising, 0),
    "status-drain": (("status",), _keeping, 0),
    "drain-there": (("drain", "--wait"), _drained, 0),
    "status": (("status",), _everything, 0),
}
"""Words, what the daemon shows, and the exit code."""

VARIES = (
    (re.compile(r"[\d.]+ (ms|s) ago"), "1 s ago"),
    (re.compile(r"InnoBrim \S+, [\d.]+ MiB resident, [\d.]+ %"), "InnoBrim 0.1, 60.2 MiB resident, 0.50 %"),
)
"""What is another at each run, and what stands for it."""


def answer(name: str, *more: str) -> tuple[Result, str]:
    """Return what a command came to, and what a person reads of it."""
    words, lead, _ = SITUATIONS[name]
    board = Board()
    with TemporaryDirectory(prefix="s") as folder, answering(board) as loop:
        lead(loop)
        serving = ApiServer(application(board), "127.0.0.1", 0, Path(folder) / "api.sock")
        serving.start()
        try:
            result = innobrim(*words, *more, "--state-directory", folder, INNOBRIM_API_PORT="0")
        finally:
            serving.stop(timeout=2.0)
    text = result.output
    for pattern, instead in VARIES:
        text = pattern.sub(instead, text)
    return result, text


def main() -> None:
    """Write every file anew."""
    for name in SITUATIONS:
        FOLDER.joinpath(f"{name}.txt").write_text(answer(name)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
