"""The sampler that sysbench lacks, drawn from in sysbench without any database."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lab.workloads.sysbench import environment
from tests.lab.workloads.support import need_sysbench

DRAWS = 200_000
SCRIPT = """
local zipf = require("zipf")
function event() end
function prepare()
  local draw, counts = zipf.sampler({count}, {exponent}, sysbench.rand.uniform_double), {{}}
  for _ = 1, {draws} do
    local rank = draw()
    counts[rank] = (counts[rank] or 0) + 1
  end
  for rank, count in pairs(counts) do print("drawn", rank, count) end
end
"""


@pytest.mark.parametrize(("exponent", "count"), [(0.8, 1000), (0.99, 200), (1.0, 200), (1.5, 50), (0.8, 1)])
def test_ranks_are_drawn_as_often_as_zipf_says(exponent: float, count: int, tmp_path: Path) -> None:
    """Rank k of n is drawn in proportion to k ** -exponent: the chi-squared sum is within its bound.

    The seed is sysbench's own fixed one, so the draws are the same in every run.
    """
    script = tmp_path / "draw.lua"
    script.write_text(SCRIPT.format(count=count, exponent=exponent, draws=DRAWS))
    done = subprocess.run(  # noqa: S603 - the program that we looked up ourselves
        [need_sysbench(), str(script), "prepare"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=environment(),
    )
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("drawn")]
    drawn = {int(rank): int(times) for _, rank, times in lines}
    assert sum(drawn.values()) == DRAWS
    assert set(drawn) <= set(range(1, count + 1))
    weights = {rank: rank**-exponent for rank in range(1, count + 1)}
    expected = {rank: DRAWS * weight / sum(weights.values()) for rank, weight in weights.items()}
    distance = sum((drawn.get(rank, 0) - often) ** 2 / often for rank, often in expected.items())
    freedom = count - 1
    assert distance <= freedom + 4 * (2 * freedom) ** 0.5 + 10
