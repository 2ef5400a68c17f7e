"""What each mechanism is worth: the way in which it is taken out."""

from __future__ import annotations

import importlib
from functools import reduce

import pytest

from lab.prove.ablation import ABLATIONS, Ablation


@pytest.mark.parametrize("one", ABLATIONS, ids=lambda one: one.what)
def test_what_is_taken_out_is_there(one: Ablation) -> None:
    """A constant that moved would be replaced where nobody reads it, and the mechanism called worthless."""
    assert reduce(getattr, one.name.split("."), importlib.import_module(one.module)) != one.value
