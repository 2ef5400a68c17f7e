"""What each mechanism is worth: the way in which it is taken out."""

from __future__ import annotations

import importlib
from functools import reduce

import pytest

from lab.prove import ablation
from lab.prove.ablation import ABLATIONS, Ablation


@pytest.mark.parametrize("one", ABLATIONS, ids=lambda one: one.what)
def test_what_is_taken_out_is_there(one: Ablation) -> None:
    """A constant that moved would be replaced where nobody reads it, and the mechanism called worthless."""
    assert reduce(getattr, one.name.split("."), importlib.import_module(one.module)) != one.value


def test_a_name_that_is_gone_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is called worthless because a name was set that nobody reads."""
    stale = Ablation("a mechanism", "tuner.core.writes.tokens", "RENAMED", 0.0)
    monkeypatch.setattr(ablation, "ABLATIONS", (stale,))
    with pytest.raises(AttributeError, match="RENAMED"):
        ablation.with_out(0)
