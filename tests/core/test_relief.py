"""A device that gives less than was asked for while the load starves: M gives way, and comes back."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from policies.flushlaw import LEGACY
from policies.pid import Pid
from tests.bench import Bench, FakeServer
from tests.core.loops import drain
from tests.factory import DEFAULT, A, command, estimate, sample
from tuner.core.fallback.relief import FIRST_WAIT_SECONDS, HOUR, MOST_AN_HOUR, Change, Relief, switched
from tuner.core.fallback.unanswered import (
    FIRST_REST_SECONDS,
    LONGEST_REST_SECONDS,
    SHOWN_SECONDS,
    Circumstances,
    Tried,
    Unanswered,
    update,
)
from tuner.records import Capacity, Command, DecisionKind, Estimate, TickRecord
from tuner.settings import Mode, PolicyName, Settings

RATE, DENSITY = 1e6, 0.004
DEMAND = RATE * DENSITY
STARVING = 0.2 * RATE
"""What is left of the load while the device is slow, bytes/s."""

SLOW = 0.25 * DEMAND
"""What the device gives then, pages/s."""


def at_rest(policy: PolicyName = "cascade") -> Bench:
    """Return a loop that holds its set-point on a device that gives all it asks for."""
    server = FakeServer(Capacity(2_800, 5_600), redo_rate=RATE)
    server.density = DENSITY
    server.oldest = server.lsn - 0.7 * A
    settings = Settings(mode=Mode.ACTIVE, policy=policy, set_point=0.7, fixed_io_capacity_max=5_600)
    bench = Bench(settings, server, originals=DEFAULT)
    bench.turns(120)
    return bench


def go_on(bench: Bench, seconds: float, *, slow: bool) -> list[TickRecord]:
    """Have device and load slow or back for so many seconds; return the records in which a relief began."""
    bench.server.device, bench.server.redo_rate = (SLOW, STARVING) if slow else (1e9, RATE)
    records = [bench.turn() for _ in range(round(seconds))]
    return [one for one in records if one.decision.steps and one.decision.reason == "relief"]


def test_m_goes_out_of_the_way_within_seconds_and_comes_back_with_the_device() -> None:
    """A device that halves leaves the load its share before a minute of commits is lost.

    When the load is where it was, M is what it was, at once and in one write. Slow again, the disk gets the M
    that it came to have the last time, and not a guess.
    """
    bench = at_rest()
    before, began = bench.m, bench.record.tick.now
    (record,) = go_on(bench, 15, slow=True)
    assert record.tick.now - began <= 8.0
    assert record.decision.kind is DecisionKind.RELIEF
    assert bench.m < 0.6 * before
    go_on(bench, 60, slow=True)
    found, seen = bench.m, len(bench.records)
    go_on(bench, 8, slow=False)
    assert bench.m == before
    assert [one.decision.reason for one in bench.records[seen:] if one.decision.steps] == ["relief_over"]
    go_on(bench, 400, slow=False)

    assert len(go_on(bench, 15, slow=True)) == 1
    assert bench.m == pytest.approx(found, rel=0.05)


@pytest.mark.parametrize(("ratio", "least", "most"), [(0.3, 450, 500), (0.65, 610, 650), (1.0, 700, 800)])
def test_an_m_for_the_slow_device_that_was_wrong_is_corrected_without_a_write_of_its_own(
    ratio: float, least: int, most: int
) -> None:
    """Where no change is left between two reliefs, the next one asks for less or more, as the age went."""
    bench = at_rest()
    found = bench.record.estimate
    assert found is not None
    before = Relief(since=0.0, before=2_000, slow=600, ratio=0.6, moments=(0.0,))
    over = Change(io_capacity_max=2_000.0, detail="", begins=False)

    after, _ = switched(
        before,
        over,
        Pid(LEGACY),
        None,
        current=Capacity(300, 600),
        estimate=replace(found, age_ratio=ratio),
        settled=0,
        now=100.0,
    )

    assert least <= after.slow <= most


@pytest.mark.long
def test_no_hour_has_more_than_twenty() -> None:
    """A disk that is slow again and again is followed twenty times, and then no more within the hour."""
    bench = at_rest()
    moments = (bench.record.tick.now,) * MOST_AN_HOUR
    bench.state = replace(bench.state, relief=Relief(moments=moments))

    assert go_on(bench, 15, slow=True) == []
    go_on(bench, HOUR, slow=False)
    assert len(go_on(bench, 15, slow=True)) == 1


def test_what_is_over_within_seconds_makes_the_next_one_wait() -> None:
    """Hiccups are no slow disk: after one M is left alone for a minute, then for two, then for four.

    Their end is no write of its own: the policy takes M back to where it wants it.
    """
    bench, at = at_rest(), []
    begun = len(bench.records)
    for _ in range(20):
        at += [one.tick.now for one in go_on(bench, 8, slow=True)]
        go_on(bench, 22, slow=False)
    pauses = [later - earlier for earlier, later in itertools.pairwise(at)]

    assert len(pauses) >= 2
    assert bench.wrote(since=begun).count(DecisionKind.RELIEF) == len(at)
    assert all(pause >= FIRST_WAIT_SECONDS * 2.0**number for number, pause in enumerate(pauses))


def test_the_sync_point_comes_first() -> None:
    """With the sync point less than ten seconds away no M is lowered, whatever the load suffers."""
    bench = at_rest()
    bench.server.oldest = bench.server.lsn - 1.0 * A
    bench.server.device, bench.server.redo_rate, seen = 0.0, STARVING, len(bench.records)
    bench.turns(30)
    close = [
        one
        for one in bench.records[seen:]
        if one.estimate is not None
        and one.estimate.seconds_to_sync is not None
        and one.estimate.seconds_to_sync <= 10.0
    ]

    assert close
    assert all(one.decision.kind is not DecisionKind.RELIEF for one in close)


@pytest.mark.parametrize(
    "order", [command("override", value=2_000, ttl=600.0), drain("20%")], ids=["override", "drain"]
)
def test_an_emergency_raises_what_a_person_asked_for_as_far_as_the_load_needs(order: Command) -> None:
    """The M from before a relief is the policy's: no override or drain leads back to it.

    The override is over then, and does not take the raise back; the drain goes on.
    """
    bench = at_rest()
    go_on(bench, 60, slow=True)
    assert bench.turn(order).acknowledgements[0].accepted
    bench.turns(3)
    seen = len(bench.records)
    bench.server.device, bench.server.redo_rate = 1e9, 3.0 * RATE
    bench.turns(6)

    assert bench.wrote(since=seen) == [DecisionKind.EMERGENCY]
    assert (bench.record.override_ends, bench.record.drain is not None) == (None, order.name == "drain")


@pytest.mark.parametrize(
    ("policy", "device", "rate"),
    [("fixed", SLOW, STARVING), ("cascade", SLOW, RATE), ("cascade", 1e9, STARVING)],
    ids=["an M that is a person's", "nobody suffers", "the load goes away"],
)
def test_there_is_no_relief_without_a_load_that_a_slow_device_starves(
    policy: PolicyName, device: float, rate: float
) -> None:
    """Who names an M has it on a slow disk as well; less than M given, or few commits, are no reason."""
    bench = at_rest(policy)
    bench.server.device, bench.server.redo_rate = device, rate
    bench.turns(60)

    assert DecisionKind.RELIEF not in bench.wrote()


def test_a_slow_disk_has_changes_left_for_it() -> None:
    """Once the disk was slow twice in an hour, the policy leaves the changes that following it takes."""
    bench = at_rest()
    for _ in range(2):
        go_on(bench, 60, slow=True)
        go_on(bench, 200, slow=False)
    state, now = bench.state, bench.record.tick.now
    left = state.settings.max_changes_per_hour - state.relief.reserved(now=now)
    bench.state = replace(state, writes=replace(state.writes, counted=(now,) * left))
    bench.server.redo_rate, seen = 1.6 * RATE, len(bench.records)
    bench.turns(60)

    assert state.relief.reserved(now=now) == 2 * (MOST_AN_HOUR - 2)
    assert DecisionKind.SET not in bench.wrote(since=seen)
    go_on(bench, 400, slow=False)
    assert len(go_on(bench, 15, slow=True)) == 1


# An age that does not answer to M: noticed, left alone at the best M, and tried again ever more seldom.


SET_POINT = 0.8
USUAL = Circumstances(set_point=SET_POINT, lru_share=0.0, lru_rules=False, counts=True)
FORETELLS: Estimate = estimate(age_ratio=0.3, modified_age=0.3 * A, demand=400.0, flush_rate=200.0)
"""Half of the demand is flushed: by the flush law the age grows by half of R, which is 1 MB/s."""

TELLING = round(0.1 * A / 5e5) + 1
"""Seconds in which the law foretells a tenth of the flush limit."""


class Lived:
    """What is remembered of a server whose age grows as it is told to, second by second.

    Attributes:
        state: after the last.
    """

    def __init__(self, seconds: int = 0, **how: object) -> None:
        self.state, self._second = Unanswered(), 0
        self.go_on(seconds, **how)  # type: ignore[arg-type] # what follows

    def go_on(
        self,
        seconds: int,
        *,
        grows: float = 0.0,
        beside: Circumstances = USUAL,
        found: Estimate = FORETELLS,
        m: int = 450,
    ) -> Unanswered:
        """Live so many seconds in which the age grows by so many bytes a second."""
        for second in range(seconds):
            age = found.modified_age + grows * second
            read = sample(float(self._second), age=age, io_capacity=m // 2, io_capacity_max=m)
            shown, now = replace(found, modified_age=age), 1000.0 + self._second
            self.state = update(self.state, read, shown, beside, now=now)
            self._second += 1
        return self.state

    def sleep(self) -> None:
        """Go to where the rest is over."""
        assert self.state.until is not None
        self._second = round(self.state.until - 1000.0) + 1


def test_an_age_that_twice_does_not_grow_as_foretold_lets_m_rest() -> None:
    """Once may be chance; after the second time M is moved for nothing no more."""
    lived = Lived(1, beside=USUAL._replace(counts=False))

    assert lived.go_on(TELLING + 2).until is None
    assert lived.go_on(TELLING + 2).until is not None


@pytest.mark.parametrize(
    ("found", "grows", "counts"),
    [
        (FORETELLS, 5e5, True),
        (replace(FORETELLS, flush_rate=390.0), 0.0, True),
        (replace(FORETELLS, age_ratio=SET_POINT - 0.1), 0.0, True),
        (replace(FORETELLS, redo_rate=0.0), 0.0, True),
        (FORETELLS, 0.0, False),
    ],
    ids=["it grows", "nothing is foretold", "it has arrived", "no load", "not the policy's own M"],
)
def test_an_age_that_answers_is_never_left_alone(found: Estimate, grows: float, *, counts: bool) -> None:
    """Where the age does what the law foretells, or nothing of the policy's is foretold, there is no rest."""
    lived = Lived(1200, found=found, grows=grows, beside=USUAL._replace(counts=counts))

    assert lived.state.until is None


def test_lru_flushing_that_does_the_writing_is_known_at_once() -> None:
    """Where the pool is short of free pages nobody has to be shown twice, and the reason is said."""
    rests = Lived(2, beside=USUAL._replace(lru_rules=True, lru_share=0.7)).state

    assert rests.until is not None
    assert "short of free pages" in rests.why


def test_each_rest_is_twice_as_long_as_the_last_until_four_hours() -> None:
    """What did not answer for hours is not asked every few minutes: 20 min, 40, 80, and so on.

    An age that answers after a rest is followed again: the next rest would be as short as the first.
    """
    lived, rests = Lived(), []
    for _ in range(6):
        while lived.state.until is None:
            lived.go_on(1)
        rests.append(lived.state.rest)
        lived.sleep()
        lived.go_on(1)
    doubled = [min(LONGEST_REST_SECONDS, FIRST_REST_SECONDS * 2**number) for number in range(6)]

    assert rests == doubled
    assert doubled[-1] == LONGEST_REST_SECONDS
    after = lived.go_on(300, grows=5e5)
    assert (after.until, after.rest) == (None, 0.0)


@pytest.mark.parametrize(
    ("seen", "best"),
    [
        ((Tried(500, 100.0, 900.0), Tried(2_000, 100.0, 1_000.0)), 2_000),
        ((Tried(500, 100.0, 980.0, 0.1), Tried(2_000, 100.0, 1_000.0, 0.4)), 500),
        ((Tried(500, 100.0, 1_000.0, 0.1, 40.0), Tried(2_000, 100.0, 1_000.0, 0.1, 2.0)), 2_000),
        ((Tried(500, 5.0, 9_000.0), Tried(2_000, 100.0, 1_000.0)), 2_000),
    ],
    ids=["more rows", "more even", "fewer waits", "seen too shortly"],
)
def test_m_rests_where_it_was_best(seen: tuple[Tried, ...], best: int) -> None:
    """Row changes come first; where they are as many, how even they come, and then the waits."""
    assert Unanswered(seen=seen).best == best


def test_settings_are_told_apart_by_what_they_came_to() -> None:
    """What was seen under one M is put down to that M alone, once the server has had time to show it."""
    lived = Lived(120, found=replace(FORETELLS, row_rate=3_000.0))
    state = lived.go_on(round(SHOWN_SECONDS) + 100, found=replace(FORETELLS, row_rate=1_000.0), m=1_000)

    rows = {one.io_capacity_max: one.rows for one in state.seen}
    assert rows == {450: pytest.approx(3_000.0), 1_000: pytest.approx(1_000.0)}
    assert state.best == 450


def test_lru_flushing_holds_nothing(bench: Bench) -> None:
    """In a pool short of free pages the loop stays in control: no hold, and no park."""
    bench.server.lru_rate = 9e4
    bench.server.oldest = bench.server.lsn - 0.2 * A
    seen = len(bench.records)
    bench.turns(300)

    assert bench.state.caution.lru_share > 0.5
    assert not any(one.holds for one in bench.records[seen:])
    assert DecisionKind.PARK not in bench.wrote(since=seen)
