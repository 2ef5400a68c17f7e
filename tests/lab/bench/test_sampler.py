"""A reading says of a server what its sample says, in the bench's words."""

from __future__ import annotations

from msgspec.structs import replace

from lab.bench.sampler import reading
from tests.factory import sample


def test_ages_are_over_the_limits_of_the_very_server() -> None:
    """Whatever its family: x is over its own flush limit, and the checkpoint age over its own redo log."""
    one = replace(
        sample(),
        lsn_current=10_000_000,
        lsn_oldest=9_000_000,
        lsn_checkpoint=7_500_000,
        flush_limit=2_000_000,
        stall_point=3_000_000,
        redo_capacity=5_000_000,
        redo_space_waits=7,
    )

    found = reading(one, now=1.0, cpu_idle=0.0)

    assert (found.age_ratio, found.checkpoint_ratio) == (0.5, 0.5)
    assert (found.modified_age, found.checkpoint_age) == (1_000_000, 2_500_000)
    assert (found.flush_limit, found.stall_point) == (2_000_000, 3_000_000)
    assert found.space_waits == 7
