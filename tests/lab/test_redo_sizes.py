"""Whether what is foretold of other sizes of the redo log is what the loop comes to with them."""

from __future__ import annotations

import pytest

from lab.plant.parameters import REVISION
from tests.lab.redo_sizes import kept, watched
from tuner.findings.sizing import sizing


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_watching_a_small_log_foretells_the_larger_ones(seed: int) -> None:
    """Two minutes beside 100 MiB foretell commits/s and pages of 100 to 800 MiB within 8 %."""
    records, state = watched(100, seed=seed)
    found = sizing(records, state, None)
    assert found is not None
    told = {one.redo_capacity: one for one in found.sizes}
    data = kept()

    assert data.revision == REVISION, "python -m tests.lab.redo_sizes measures them anew"
    for one in data.sizes:
        size = told[one.redo_capacity]
        assert size.commits_gained is not None
        assert size.pages_per_row is not None
        commits = found.commit_rate * (1.0 + size.commits_gained.likeliest)
        assert commits == pytest.approx(one.commits, rel=0.08)
        assert size.pages_per_row.likeliest == pytest.approx(one.pages_per_commit, rel=0.08)
        assert size.pages_per_row.low <= size.pages_per_row.likeliest <= size.pages_per_row.high
    assert found.device_is_limit


def test_a_server_whose_age_swings_is_told_what_it_writes_today() -> None:
    """Where no M moves the age, and it swings, the row of today's size says what is written today."""
    records, state = watched(100, scenario_name="mariadb-lwm0", after=300)
    found = sizing(records, state, None)
    assert found is not None
    today = next(one for one in found.sizes if one.redo_capacity == found.redo_capacity)

    assert today.page_writes_saved.likeliest == pytest.approx(0.0, abs=0.15)
