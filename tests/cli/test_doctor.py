"""What ``innobrim doctor`` answers with."""

from __future__ import annotations

import re

import msgspec
import pytest
from msgspec.structs import replace

from tests.cli.support import FakeServer, innobrim
from tests.factory import FACTS
from tests.findings.patient import patient
from tuner.cli import doctor as command
from tuner.cli.doctor import Answer
from tuner.findings.doctor import examine
from tuner.findings.evidence import Evidence

WAVES = patient(grown={"pages_sync": 40})


def show(monkeypatch: pytest.MonkeyPatch, seen: Evidence) -> None:
    """Have doctor see this, on a server that is only closed."""
    monkeypatch.setattr(command, "real_server", lambda *_: FakeServer(FACTS))
    monkeypatch.setattr(command, "watch", lambda *_: seen)


@pytest.mark.parametrize(("seen", "code"), [(patient(), 0), (WAVES, 1)])
def test_the_exit_code_says_whether_anything_costs(
    monkeypatch: pytest.MonkeyPatch, seen: Evidence, code: int
) -> None:
    """A script learns from it alone whether there is a warning; with --json it gets the documented object."""
    show(monkeypatch, seen)
    result = innobrim("doctor", "--json")
    answer = msgspec.json.decode(result.stdout, type=Answer)

    assert result.exit_code == code
    assert [one.severity for one in answer.findings] == ["warning"] * code
    assert msgspec.json.schema(Answer)["$defs"]["Answer"]["required"] == list(Answer.__struct_fields__)


def verdict(printed: str) -> str:
    """Return the first line of the answer."""
    return next(one for one in printed.splitlines() if not one.startswith("watching"))


def test_the_first_line_says_whether_anything_costs_as_the_exit_code_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is only worth knowing is not counted as a cost, and leaves the exit code at 0."""
    show(monkeypatch, WAVES)
    costs = innobrim("doctor")
    worth = replace(
        examine(WAVES), findings=tuple(replace(one, severity="info") for one in examine(WAVES).findings)
    )
    monkeypatch.setattr(command, "examine", lambda _: worth)
    known = innobrim("doctor")

    assert (costs.exit_code, verdict(costs.output)[:16]) == (1, "1 setting costs;")
    assert known.exit_code == 0
    assert re.match(r"nothing costs; \d+ settings looked at: 1 worth knowing, ", verdict(known.output))


def test_what_is_fine_is_counted_and_named_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line counts it; --all lists each setting, and what is not known with the reason."""
    show(monkeypatch, patient(volumes={}))
    counted, listed = innobrim("doctor").output, innobrim("doctor", "--all").output

    assert re.match(r"nothing costs; \d+ settings looked at: \d+ fine, \d+ not known", verdict(counted))
    assert "fine      innodb_flush_method" not in counted
    assert "fine      innodb_flush_method" in listed
    assert "not known redo log on a device of its own: the server's directories" in listed


def test_a_redo_log_that_cannot_grow_to_its_size_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who set redo.grow_to learns from doctor, too, that it does nothing; else nothing is said of it."""
    show(monkeypatch, patient())
    has = patient().last.redo_capacity // 2**20
    below = innobrim("doctor", "--json", INNOBRIM_REDO_GROW_TO=f"{has // 2}M")
    reached = innobrim("doctor", "--json", INNOBRIM_REDO_GROW_TO=f"{has}M")
    (found,) = msgspec.json.decode(below.stdout, type=Answer).findings

    assert (found.id, below.exit_code) == ("grow_to", 1)
    assert "is never made smaller" in found.title
    assert (msgspec.json.decode(reached.stdout, type=Answer).findings, reached.exit_code) == ((), 0)


def test_a_server_that_does_not_answer_ends_with_3(monkeypatch: pytest.MonkeyPatch) -> None:
    """As every command that needs one."""
    monkeypatch.setattr(command, "real_server", lambda *_: FakeServer(None))

    assert innobrim("doctor").exit_code == 3
