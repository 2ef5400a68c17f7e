"""``innobrim trial``: what it hands to the daemon, what it shows, and how it ends."""

from __future__ import annotations

from itertools import takewhile

import pytest

from tests.api.factory import AnsweringLoop
from tests.cli.schema import answer as keeps_to
from tests.cli.support import Run, ended
from tests.cli.tried import FOLDER, SITUATIONS, answer
from tuner.cli.answer import USAGE


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


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_person_reads_what_was_recorded(name: str) -> None:
    """Each situation prints its file; python -m tests.cli.tried records anew."""
    result, text = answer(name)

    assert result.exit_code == SITUATIONS[name][2], result.output
    assert text == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in SITUATIONS if name != "trial-none"])
def test_a_machine_reads_what_is_published(name: str) -> None:
    """With --json it is one object by the published schema, with the same exit code."""
    result, _ = answer(name, "--json")

    assert result.exit_code == SITUATIONS[name][2], result.output
    command = takewhile(lambda word: not word.startswith("-"), SITUATIONS[name][0])
    keeps_to(" ".join(command), result.stdout)
