"""Policies by name: which one is made where, and what is told about each."""

from __future__ import annotations

from typing import get_args

import pytest

from policies.catalogue import CATALOGUE, About
from policies.registry import LAWS, NAMES, make_policy
from tuner.settings import PolicyName, Settings

BY_ITSELF = next(one.name for one in CATALOGUE if one.by_itself)
WITHOUT = sorted(name for name, law in LAWS.items() if not law.m_moves_age)


@pytest.mark.parametrize(
    ("name", "flush_law", "made"),
    [
        *((name, "legacy", name) for name in NAMES),
        *(("fixed", flush_law, "fixed") for flush_law in sorted(LAWS)),
        *((name, flush_law, BY_ITSELF) for name in ("cascade", "pid") for flush_law in WITHOUT),
        ("pid", "mariadb-wakes", "cascade"),
    ],
)
def test_a_policy_is_the_one_that_was_asked_for_where_it_can_be(name: str, flush_law: str, made: str) -> None:
    """Where no M moves the age the pacing law stands in, and where the server sleeps one that looks ahead."""
    assert make_policy(name, flush_law=flush_law, fixed_io_capacity_max=700).name == made


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    """A name that is wrong is answered with the names that are right."""
    with pytest.raises(ValueError, match="cascade, bayes, pid, fixed"):
        make_policy("magic", flush_law="legacy", fixed_io_capacity_max=700)
    with pytest.raises(ValueError, match="legacy"):
        make_policy("pid", flush_law="other", fixed_io_capacity_max=700)


def test_every_policy_is_told_and_can_be_asked_for() -> None:
    """What can be configured, is known by name, and is told are the same policies, the default first."""
    told = tuple(one.name for one in CATALOGUE if not one.by_itself)

    assert set(told) == set(NAMES) == set(get_args(PolicyName))
    assert told[0] == Settings().policy


@pytest.mark.parametrize("one", CATALOGUE, ids=lambda one: one.name)
def test_what_is_told_fits_a_line(one: About) -> None:
    """Each policy and each of its constants is told in a line of a terminal."""
    assert all(0 < len(text) <= 110 for text in (one.does, one.use))
    assert all(constant.meaning and len(constant.meaning) <= 60 for constant in one.constants)
