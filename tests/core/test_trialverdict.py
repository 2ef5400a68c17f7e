"""What a trial comes to: the numbers by which it is won or lost."""

from __future__ import annotations

import pytest

from policies.types import ANALYTIC, Context
from tests.core.course import Course
from tuner.core.trials.engine import HARM, WORTH, verdict
from tuner.core.trials.switchback import LOOKS, Block, Running

LOAD = Context(1e6, 300.0, 0.0, 0.0, 8e7)


def after(
    count: int, gain: float, *, noise: float = 1e-4, retest: bool = False, pages: bool = False
) -> Running:
    """Return a trial after so many tried blocks with that gain in rows or pages, and that noise, as ln."""
    merits = [(gain if i % 2 else 0.0) + noise * (-1) ** (i // 2) for i in range(2 * count + 1)]
    blocks = tuple(Block(0.0 if pages else one, one if pages else 0.0, 1e6, 300.0) for one in merits)
    return Running(1, ANALYTIC, LOAD, retest, 0.0, 0.0, 300.0, 100.0, blocks=blocks)


def test_a_gain_too_small_to_matter_is_not_used() -> None:
    """However sure, less than the least gain is worth no suggestion; a little more is."""
    small, more = (verdict(after(16, share * WORTH, pages=True)) for share in (0.9, 1.1))

    assert small[0].low > 0.0
    assert small[1] is False
    assert more[1] is True


def test_what_surely_harms_is_ended_before_the_first_look() -> None:
    """Two suggested blocks that cost more than a percent end a trial; one alone, or less, does not."""
    assert min(LOOKS) > 2
    assert verdict(after(2, 1.1 * HARM))[1] is False
    assert verdict(after(1, 1.1 * HARM))[1] is None
    assert verdict(after(2, 0.9 * HARM))[1] is None


@pytest.mark.parametrize("retest", [False, True])
def test_all_blocks_and_no_confidence_is_lost(*, retest: bool) -> None:
    """A gain whose bounds include none after all blocks is not used, whether it was in use or not."""
    seen, won = verdict(after(max(LOOKS), 0.004, noise=0.02, retest=retest))

    assert seen.mean > WORTH
    assert seen.low < 0.0
    assert won is False


@pytest.mark.parametrize(("settled", "blamed"), [(False, True), (True, False)])
def test_a_guard_right_after_a_tried_block_counts_against_it(*, settled: bool, blamed: bool) -> None:
    """The age that a suggestion left behind is its own doing until the next block has settled, no longer."""
    course = Course().trial()
    while course.state.running is not None and len(course.state.running.blocks) < 2:
        course.step()
    assert course.state.running is not None
    while settled and course.state.running is not None and course.state.running.start is None:
        course.step()
    course.step(unsafe="the server sync-flushes", bars="the server sync-flushes")

    assert course.state.running is None
    assert [one.gain < 0.0 for one in course.state.evidence.log] == [True] * blamed
    assert ("suggestion_unsafe" in course.codes()) is blamed
