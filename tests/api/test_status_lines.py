"""Lines of innobrim status that depend on which server it is."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from api.views import status_of
from tests.api.factory import FACTS, START, record
from tuner.cli.status import table
from tuner.records import Facts, TickRecord


def shown(facts: Facts) -> str:
    """Return what status prints of a server."""
    return table(status_of(record(7), facts=facts, wall=START, process=None))


def of(tick: TickRecord) -> str:
    """Return what status prints of a tick."""
    return table(status_of(tick, facts=FACTS, wall=START, process=None))


def test_no_authority_is_claimed_where_no_m_moves_the_age() -> None:
    """A share of what M asks for means nothing on MariaDB with its defaults, and is not printed there."""
    assert "; authority " in shown(FACTS)
    assert "; authority " not in shown(replace(FACTS, flush_law="soft-limit"))


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ("soft-limit", "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0.001 lets M move it"),
        ("age-blind", "MariaDB 10.5.24, 10.6.17"),
        ("mariadb-wakes", "in between no M moves the age"),
    ],
)
def test_a_law_by_which_m_does_less_is_explained(law: str, said: str) -> None:
    """Where M does not move the age, or not always, a line of its own says so and what would help."""
    assert re.search(
        rf"^flush law +{law}: .*{re.escape(said)}", shown(replace(FACTS, flush_law=law)), re.MULTILINE
    )
    assert "flush law" not in shown(FACTS)
    assert "SET GLOBAL" not in shown(replace(FACTS, flush_law=law, managed="Amazon RDS"))


def test_the_server_has_its_name() -> None:
    """The product is named as its makers do, with the provider whose service it is."""
    rented = replace(FACTS, family="percona", version="8.0.46-37", managed="Amazon RDS")

    assert "Percona Server 8.0.46-37 on Amazon RDS at" in shown(rented)


def test_the_law_that_decided_has_its_name() -> None:
    """Who reads status knows which policy was asked; where none was, as under a hold, none is named."""
    asked = record(7)
    decided = replace(asked, decision=replace(asked.decision, policy="bayes"))
    nobody = replace(asked, decision=replace(asked.decision, policy=""))

    assert re.search(r"^policy +bayes; innobrim policies says what it does$", of(decided), re.MULTILINE)
    assert not re.search(r"^policy ", of(nobody), re.MULTILINE)
