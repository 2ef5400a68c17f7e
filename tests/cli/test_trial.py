"""``innobrim trial``: what it hands to the daemon, what it shows, and how it ends."""

from __future__ import annotations

import json

import msgspec
import pytest

from tests.api.factory import AnsweringLoop
from tests.cli.support import Run, ended
from tests.factory import DEFAULT
from tuner.cli.answer import NO, USAGE
from tuner.records import PairedRatio, TrialEnd, TrialProgress, TrialResult, TrialSide, TrialVerdict

COMMITS = PairedRatio(1289.0, 2829.0, 2.195, 2.1, 2.29)


def of(verdict: TrialVerdict, ratio: PairedRatio = COMMITS) -> TrialProgress:
    """Return a trial that is over."""
    result = TrialResult(0.0, DEFAULT, 3, verdict, "commits", 7200.0, TrialEnd.TIME, 8, 1, commits=ratio)
    return TrialProgress(result)


def test_a_trial_is_begun_for_the_time_that_was_said_and_stopped(daemon: AnsweringLoop, run: Run) -> None:
    """Hours and seed reach the loop, and so does the stop."""
    ended(run("trial", "begin", "--hours", "4", "--seed", "7"), 0)
    ended(run("trial", "stop"), 0)
    begun, stopped = daemon.commands[-2:]
    assert (begun.name, begun.ttl, begun.value, stopped.name) == ("trial", 14_400.0, 7, "stop_trial")


@pytest.mark.parametrize("words", [(), ("--hours", "1", "--minutes", "60"), ("--hours", "0")])
def test_a_trial_needs_one_time(run: Run, words: tuple[str, ...]) -> None:
    """Neither none nor two times, nor one of nothing, begin a trial."""
    ended(run("trial", "begin", *words), USAGE)


def test_a_result_is_shown_with_its_bounds_and_as_json(daemon: AnsweringLoop, run: Run) -> None:
    """People read figures and bounds, machines the record; what the server does not show is named."""
    daemon.board.trial = lambda: of(TrialVerdict.BETTER)
    daemon.publish()
    ended(run("trial", "status"), 0, "better than the baseline", "+110.0% to +129.0%", "does not show it")
    found = msgspec.json.decode(run("trial", "status", "--json").output, type=TrialProgress)
    assert found == of(TrialVerdict.BETTER)
    assert json.loads(run("status", "--json").output)["trial"]["progress"]["result"]["pairs"] == 8


def test_a_trial_under_way_says_whose_values_are_in_force(daemon: AnsweringLoop, run: Run) -> None:
    """Trial and status name the side of the block that is under way alike."""
    result = TrialResult(0.0, DEFAULT, 3, TrialVerdict.TOO_FEW, "", pairs=1)
    daemon.board.trial = lambda: TrialProgress(result, running=True, side=TrialSide.OURS, ends=9.0)
    daemon.publish()
    for words in (("trial", "status"), ("status",)):
        ended(run(*words), 0, "a block of InnoBrim's values", "1 pair of blocks;")


def test_what_is_worse_ends_with_no(daemon: AnsweringLoop, run: Run) -> None:
    """The exit code says so where InnoBrim's values lost, and how the originals come back."""
    lost = PairedRatio(1000.0, 900.0, 0.9, 0.88, 0.92)
    daemon.board.trial = lambda: of(TrialVerdict.WORSE, lost)
    daemon.publish()
    ended(run("trial", "status"), NO, "innobrim restore")


def test_without_a_trial_it_says_how_one_is_begun(daemon: AnsweringLoop, run: Run) -> None:
    """Nothing to show is no success."""
    daemon.publish()
    ended(run("trial", "status"), NO, "trial begin --hours")
