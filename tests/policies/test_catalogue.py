"""What is told about the laws is about the laws that there are."""

from __future__ import annotations

from typing import get_args

import pytest

from policies.catalogue import CATALOGUE, About
from policies.registry import NAMES, make_policy
from tuner.settings import PolicyName, Settings


def test_every_law_is_told_and_can_be_asked_for() -> None:
    """What can be configured, is known by name, and is told are the same laws, the default first."""
    told = tuple(one.name for one in CATALOGUE if not one.by_itself)

    assert set(told) == set(NAMES) == set(get_args(PolicyName))
    assert told[0] == Settings().policy


@pytest.mark.parametrize("one", CATALOGUE, ids=lambda one: one.name)
def test_what_is_told_fits_a_line(one: About) -> None:
    """Each law and each of its constants is told in a line of a terminal."""
    assert all(0 < len(text) <= 110 for text in (one.does, one.use))
    assert all(constant.meaning and len(constant.meaning) <= 60 for constant in one.constants)


def test_what_cannot_be_asked_for_is_taken_by_itself() -> None:
    """The law that is told as taken by itself is the one that a server on which M moves no age gets."""
    (taken,) = (one.name for one in CATALOGUE if one.by_itself)

    assert make_policy("pid", flush_law="soft-limit", fixed_io_capacity_max=700).name == taken
