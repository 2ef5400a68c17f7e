"""Which loads there are, and which are refused."""

from __future__ import annotations

from typing import Any

import pytest

from lab.workloads.load import Load


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "oltp_write_only"}, r"kind 'oltp_write_only' is unknown: one of write_only, "),
        ({"distribution": "pareto"}, r"distribution 'pareto' is unknown: one of uniform, zipf, special"),
        ({"kind": "tpcc", "distribution": "zipf"}, "tpcc draws its keys by its own rules"),
        ({"threads": 0}, "threads is 0: at least 1"),
        ({"rate": -1}, "rate is -1: at least 0"),
        ({"rows": 0}, "rows is 0: at least 1"),
    ],
)
def test_an_impossible_load_is_refused(given: dict[str, Any], said: str) -> None:
    """A load that cannot be run is refused at once, with the value and what would be right."""
    with pytest.raises(ValueError, match=said):
        Load(**given)


def test_the_load_on_many_indexes_has_one_thread() -> None:
    """Inserts into many indexes come from one thread, whatever the number for other loads."""
    assert Load(kind="many_indexes", threads=16).threads == 1
