"""What ``innobrim check`` says about a server that answers."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from tests.api.factory import FACTS, missed
from tests.cli.support import FakeServer
from tuner.cli import check as command
from tuner.cli.main import cli
from tuner.records import Capacity, Missed, Receipt, Sample

AFTER_COUNTERS = {
    "redo_enabled",
    "redo_capacity",
    "adaptive_flushing",
    "flush_sync",
    "writer",
    "ratio",
    "write",
}

Check = Callable[..., dict[str, dict[str, str]]]


class Writable(FakeServer):
    """A server that notes what is written to it."""

    def __init__(self) -> None:
        super().__init__(FACTS)
        self.blind = False
        self.written: list[tuple[str, int]] = []

    def read(self) -> Sample | Missed:  # type: ignore[override] # this one may fail
        """Return a reading, or none."""
        return missed(1) if self.blind else super().read()

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Take a write."""
        self.written += steps
        return Receipt(1.0, wanted, wanted, len(steps), 0.01)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Writable:
    """Return the server that check looks at."""
    found = Writable()
    monkeypatch.setattr(command, "real_server", lambda *_: found)
    return found


@pytest.fixture
def check(server: Writable) -> Check:  # noqa: ARG001 - the server must be there
    """Return a way to check it: lines by name."""

    def ask(*words: str, **environ: str) -> dict[str, dict[str, str]]:
        result = CliRunner().invoke(cli, ["check", "--json", *words], env=environ)
        return {line["name"]: line for line in json.loads(result.stdout)["lines"]}

    return ask


def test_the_privilege_is_proved_where_the_mode_is_active(server: Writable, check: Check) -> None:
    """Whether --active or the configuration asks for active mode, the present value is written back."""
    assert check()["write"]["outcome"] == "untested"
    assert server.written == []

    assert check("--active")["write"]["outcome"] == "ok"
    assert check(INNOBRIM_LOOP_MODE="active")["write"]["outcome"] == "ok"
    assert server.written == [("innodb_io_capacity", 225)] * 2


@pytest.mark.parametrize("why", ["counters", "sample"])
def test_what_could_not_be_looked_at_is_said(server: Writable, check: Check, why: str) -> None:
    """With counters off, or without a sample, every other precondition has its line all the same."""
    server.blind = True
    if why == "counters":
        server._facts = replace(FACTS, disabled_counters=("log_lsn_current",))

    lines = check("--active")

    assert lines[why]["outcome"] == "problem"
    assert {name for name, line in lines.items() if line["outcome"] == "untested"} == AFTER_COUNTERS
    assert all(lines[name]["message"] for name in AFTER_COUNTERS)
    assert server.written == []


def test_every_precondition_that_can_be_untested_is_one_that_is_tested(check: Check) -> None:
    """The lines have the same names whether they could be looked at or not."""
    assert set(check()) >= AFTER_COUNTERS
