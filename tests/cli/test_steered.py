"""What commands print of others' words: a reason that came from elsewhere steers nobody's terminal."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from tests.api.factory import FACTS, AnsweringLoop, record
from tests.cli.support import FakeServer
from tuner.cli import check as check_command
from tuner.cli.main import cli
from tuner.records import Hold, HoldCode

Run = Callable[..., Result]

CLEARS = "\x1b[2J\x9b31m\x07"
FORGED = "no reason\nmode          active; running"


def harmless(text: str) -> bool:
    """Tell whether no line of it has anything that a terminal obeys."""
    return all(line.isprintable() for line in text.split("\n"))


def test_status_shows_a_reason_as_one_line(daemon: AnsweringLoop, run: Run) -> None:
    """Neither escapes nor further lines come through, neither from a hold's reason nor from a decision's."""
    daemon.holding = (Hold(HoldCode.FOREIGN_CHANGE, 101.0, FORGED),)
    daemon.template = record(9, decision=replace(record().decision, detail=f"450 pages/s {CLEARS}"))
    daemon.publish()

    found = run("status")

    assert found.exit_code == 0
    assert harmless(found.stdout)
    assert "no reason?mode          active; running" in found.stdout
    assert sum(line.startswith("mode ") for line in found.stdout.splitlines()) == 1


def test_an_answer_and_a_refusal_are_shown_as_lines(daemon: AnsweringLoop, run: Run) -> None:
    """What the loop says to a change, and an error that quotes what was given, steer nothing either."""
    daemon.holding = (Hold(HoldCode.FOREIGN_CHANGE, 101.0, FORGED),)
    paused = run("pause", "--reason", CLEARS)
    wrong = run("override", "--io-capacity-max", CLEARS, "--ttl", "10m")

    assert (paused.exit_code, wrong.exit_code) == (0, 2)
    assert harmless(paused.output)
    assert harmless(wrong.output)


def test_a_servers_own_words_are_shown_as_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server calls itself what it likes, and check says it."""
    server = FakeServer(replace(FACTS, version_comment=CLEARS, version=f"9.7.4{CLEARS}", blockers=(FORGED,)))
    monkeypatch.setattr(check_command, "real_server", lambda *_: server)

    found = CliRunner().invoke(cli, ["check"], prog_name="innobrim")

    assert harmless(found.output)
    assert "?[2J" in found.output or "no reason?mode" in found.output


def test_json_says_the_same_and_steers_nothing(daemon: AnsweringLoop, run: Run) -> None:
    """Control characters that JSON leaves alone are escaped in it, and read as what they were."""
    said = f"450 pages/s {CLEARS} \x7f\u202e\U000e0001 größer"
    daemon.template = record(9, decision=replace(record().decision, detail=said))
    daemon.publish()

    found = run("status", "--json")

    assert harmless(found.stdout)
    assert "größer" in found.stdout
    assert said in json.loads(found.stdout)["decision"]["detail"]
