"""What ``check`` says of what somebody with the password could set."""

from __future__ import annotations

from msgspec.structs import replace

from tests.checked import Odd, line, look
from tests.factory import FACTS, sample
from tuner.preconditions import Line, way_of_writing
from tuner.records import Bounds, Facts
from tuner.settings import Settings

BOUNDS = Bounds(100, 20_000, 20_000)


def said(facts: Facts, *, may: bool | None = False, settings: Settings | None = None, **reading: int) -> Line:
    """Return the line."""
    return way_of_writing(sample(**reading), facts, settings or Settings(), may=may)


def guarded(bounds: Bounds = BOUNDS) -> Facts:
    """Return a server with the procedure."""
    return replace(FACTS, procedure=bounds, account="innobrim@localhost")


def test_the_procedure_alone_is_fine() -> None:
    """The bounds are said, and that there is no other way."""
    found = said(guarded())

    assert found.outcome == "ok"
    assert "M from 100 to 20000, C from 100 to 20000" in found.message
    assert found.message.endswith("and in no other way")


def test_a_privilege_beside_the_procedure_is_a_warning_with_its_revoke() -> None:
    """Bounds that the account can pass by are none, and the statement that mends it is there."""
    found = said(guarded(), may=True)

    assert found.outcome == "warning"
    assert found.sql == ("REVOKE SYSTEM_VARIABLES_ADMIN ON *.* FROM 'innobrim'@'localhost'",)


def test_the_direct_grant_is_said_to_be_what_it_is() -> None:
    """A grant works, and lets whoever has the password set everything; what does better is named."""
    found = said(FACTS, may=True)

    assert found.outcome == "ok"
    assert "every global variable" in found.message
    assert "innobrim setup-sql" in found.fix


def test_an_account_that_only_reads_is_fine() -> None:
    """An advisory daemon needs neither."""
    assert said(FACTS).outcome == "ok"
    assert said(FACTS, may=None).outcome == "untested"


def test_values_that_could_not_be_restored_are_a_warning() -> None:
    """Originals beyond the bounds could not be put back: that is said before anything is written."""
    found = said(guarded(Bounds(100, 1000, 1000)), io_capacity=1000, io_capacity_max=2000)

    assert found.outcome == "warning"
    assert "innobrim restore could not set it again" in found.message


def test_a_highest_c_that_the_loop_may_exceed_comes_with_the_ratio_that_does_not() -> None:
    """C is kept near what it was, so that a lower bound for it needs a fixed ratio."""
    facts = guarded(Bounds(100, 20_000, 5000))
    found = said(facts, io_capacity=200, io_capacity_max=2000)

    assert found.outcome == "warning"
    assert "loop.ratio = 4" in found.fix
    assert said(facts, settings=Settings(ratio=4), io_capacity=200, io_capacity_max=2000).outcome == "ok"


def test_bounds_beside_the_limits_are_a_problem() -> None:
    """Where the procedure takes no M that the limits allow, nothing can be tuned, and both are named."""
    found = said(guarded(Bounds(1000, 8000, 4000)), settings=Settings(max_io_capacity_max=600))

    assert found.outcome == "problem"
    assert "the limits are 100 to 600, and the procedure takes 1000 to 8000" in found.message
    assert "innobrim setup-sql" in found.fix
    assert (
        said(guarded(Bounds(1000, 8000, 4000)), may=True, settings=Settings(max_io_capacity_max=600)).outcome
        == "problem"
    )


def test_check_proves_the_procedure_by_a_write_through_it() -> None:
    """In active mode the write that proves it goes the way that the daemon's writes go, and says so."""
    server = Odd()
    server.changed_facts = {"procedure": BOUNDS}

    assert "through innobrim.set_global" in line(look(server, active=True), "write").message
    assert "may call innobrim.set_global" in line(look(server), "write").message


def test_a_refused_proof_names_what_makes_the_procedure_anew() -> None:
    """Where there is a procedure, no GRANT of the privilege is offered."""
    server = Odd()
    server.changed_facts = {"procedure": BOUNDS}
    server.refusal = "execute command denied (error 1370)"
    found = line(look(server, active=True), "write")

    assert found.outcome == "problem"
    assert found.sql == ()
    assert "innobrim setup-sql" in found.fix
