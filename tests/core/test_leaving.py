"""What is left behind where the server does not answer, or holds the loop, at the wrong moment."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench import Bench
from tests.factory import DEFAULT, command
from tuner.records import Capacity, DecisionKind
from tuner.settings import Mode


@pytest.mark.parametrize("silence", [1, 3, 20])
def test_leaving_active_unheard_parks_when_the_server_answers(bench: Bench, silence: int) -> None:
    """Asked for while the server does not answer, the park is made once at the next readings."""
    bench.server.down = "did not answer within 1 s"
    bench.turn(command("mode", value="advisory"))
    bench.turns(silence - 1)
    bench.server.down = ""
    written, begun = len(bench.server.applied), len(bench.records)
    bench.turns(60)

    assert bench.record.mode is Mode.ADVISORY
    assert "leaving active mode" in [record.decision.detail for record in bench.records[begun : begun + 2]]
    assert len(bench.server.applied) == written + 1


def test_a_stop_pays_what_leaving_active_still_owes(bench: Bench) -> None:
    """Stopped before the park on leaving active could be made, the daemon makes it with its last reading."""
    bench.server.down = "did not answer within 1 s"
    bench.turn(command("mode", value="advisory"))
    bench.server.down = ""

    assert bench.turn(command("stop", value="park")).decision.kind.value == "park"


def test_leaving_active_unheard_for_long_is_given_up_and_said(bench: Bench) -> None:
    """After a minute without an answer the park is given up, with one event that names what is in force."""
    pair, written = str(bench.server.capacity), len(bench.server.applied)
    bench.server.down = "did not answer within 1 s"
    begun = len(bench.records)
    bench.turn(command("mode", value="advisory"))
    bench.turns(70)
    bench.server.down = ""
    bench.turns(5)

    said = [event for record in bench.records[begun:] for event in record.events]
    (event,) = [one for one in said if one.code == "not_parked"]
    assert event.message == f"not parked: the server does not answer; {pair} is in force"
    assert len(bench.server.applied) == written


@pytest.mark.parametrize(
    "change", [{"down": "did not answer within 1 s"}, {"resizing": True}, {"adaptive_flushing": False}]
)
def test_nothing_is_parked_in_the_middle_of_a_restore(bench: Bench, change: dict[str, Any]) -> None:
    """A silence or a hold during a restore causes no jump: step by step the originals come back."""
    bench.turn(command("restore"))
    bench.turns(2)
    begun, before = len(bench.records), {name: getattr(bench.server, name) for name in change}
    vars(bench.server).update(change)
    bench.turns(10)
    vars(bench.server).update(before)
    bench.turns(300)

    kinds = {record.decision.kind for record in bench.records[begun:]}
    assert kinds == {DecisionKind.KEEP, DecisionKind.RESTORE}
    assert bench.server.capacity == DEFAULT


@pytest.mark.parametrize("meddled", [False, True])
def test_resumed_unheard_the_loop_knows_its_own_values(bench: Bench, *, meddled: bool) -> None:
    """After resume without a reading a pair is the loop's own where nobody changed it meanwhile."""
    bench.turn(command("pause"))
    bench.turn()
    bench.server.down = "did not answer within 1 s"
    bench.turn(command("resume"))
    bench.server.down = ""
    if meddled:
        bench.server.capacity = Capacity(300, 900)
    bench.turn()
    own = bench.state.writes.own

    assert own == (None if meddled else bench.server.capacity)


def test_a_pause_says_what_it_leaves(bench: Bench) -> None:
    """The pair in force is named, and whose it is."""
    ours = bench.server.capacity
    said = bench.turn(command("pause")).acknowledgements[-1].message
    bench.turn(command("resume"))
    bench.server.capacity = DEFAULT
    theirs = bench.turn(command("pause")).acknowledgements[-1].message

    assert said.startswith(f"paused; {ours}, InnoBrim's, is in force, and parked unless it is safe already")
    assert theirs.startswith(f"paused; {DEFAULT}, not InnoBrim's, stays in force")


def test_a_park_that_writes_nothing_says_why(bench: Bench) -> None:
    """A pair that is safe already is not written again, and that is said with the room it leaves."""
    for _ in range(5):
        bench.turns(20)
        detail = bench.turn(command("park")).decision.detail

    assert detail.endswith("is already safe, with room for 1.5 times the load: nothing is written")
