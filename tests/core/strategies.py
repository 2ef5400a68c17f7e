"""What the invariants' machine draws: settings, pairs, and what a person asks for."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from policies.types import Suggestion
from tests.factory import EPOCH, command
from tuner.core.ages import LOWEST
from tuner.records import Capacity, Command, Window
from tuner.settings import Mode, Settings

PAIRS = st.one_of(
    st.builds(lambda c, k: Capacity(c, k * c), st.integers(100, 12_000), st.integers(1, 10)),
    st.builds(lambda c, more: Capacity(c, c + more), st.integers(100, 12_000), st.integers(0, 12_000)),
    st.just(Capacity(10_000, 20_000)),
)


@st.composite
def loop_settings(draw: st.DrawFn) -> Settings:
    """Return settings that hold together, as the configuration checks them."""
    ratio = draw(st.sampled_from([None, None, 1, 2, 3, 7]))
    least = ratio or 1
    lowest = draw(st.integers(100, 1_500))
    capped = max(lowest, 100 * least)
    return Settings(
        mode=draw(st.sampled_from([Mode.ACTIVE, Mode.ACTIVE, Mode.ACTIVE, Mode.ADVISORY])),
        policy=draw(st.sampled_from(["cascade", "cascade", "bayes", "pid", "fixed"])),
        set_point=draw(st.sampled_from([None, None, 0.5, 0.95])),
        fixed_io_capacity_max=draw(st.integers(100, 20_000)),
        min_io_capacity_max=lowest,
        max_io_capacity_max=draw(st.integers(capped + least, 20_000)),
        ratio=ratio,
        step_factor=draw(st.floats(1.1, 4.0)),
        dwell_seconds=draw(st.floats(1.0, 20.0)),
        max_changes_per_hour=draw(st.sampled_from([1, 3, 120])),
        stale_seconds=draw(st.floats(2.0, 6.0)),
        park_slack=draw(st.floats(1.0, 3.0)),
        baseline=draw(st.sampled_from([None, "10000/20000"])),
        allow_read_only_writes=draw(st.sampled_from([False, False, True])),
        max_recovery_seconds=draw(st.sampled_from([None, 300.0, 20.0, 2.0])),
        max_shutdown_seconds=draw(st.sampled_from([None, 300.0, 20.0, 2.0])),
        max_replica_set_point=draw(st.sampled_from([0.8, 0.25])),
    )


@st.composite
def windows(draw: st.DrawFn) -> Command:
    """Return what tells the loop which windows of a schedule are active."""
    names = draw(st.lists(st.sampled_from("abc"), unique=True, max_size=3))
    return command(
        "schedule",
        windows=tuple(
            Window(
                name=name,
                began=EPOCH,
                ends=EPOCH + draw(st.sampled_from([10.0, 600.0, 100_000.0])),
                set_point=draw(st.sampled_from([None, None, 0.21, 0.5, 0.95])),
                drain=draw(st.booleans()),
                max_recovery_seconds=draw(st.sampled_from([None, None, 2.0, 20.0, 86_400.0])),
                max_shutdown_seconds=draw(st.sampled_from([None, None, 2.0, 20.0, 86_400.0])),
            )
            for name in names
        ),
    )


@st.composite
def orders(draw: st.DrawFn) -> Command:
    """Return something that a person asks for."""
    name = draw(
        st.sampled_from(
            [
                "pause",
                "resume",
                "resume",
                "override",
                "cancel_override",
                "drain",
                "drain",
                "cancel_drain",
                "trial",
                "stop_trial",
                "park",
                "restore",
                "mode",
                "suggest",
            ]
        )
    )
    if name == "override":
        value: Any = draw(st.one_of(st.integers(0, 25_000), st.none()))
        return command(name, value=value, ttl=draw(st.sampled_from([None, -1.0, 5.0, 60.0])))
    if name == "drain":
        age = draw(st.sampled_from(["40%", "28MiB", "60M", "1%", "2T", LOWEST, LOWEST, "a lot", None]))
        return command(name, value=age, ttl=draw(st.sampled_from([None, 5.0, 60.0, 600.0])))
    if name == "trial":
        ttl = draw(st.sampled_from([None, -1.0, 60.0, 1200.0, 7200.0]))
        return command(name, value=draw(st.sampled_from([1, 2, 3, "a seed"])), ttl=ttl)
    if name == "suggest":
        offset = draw(st.sampled_from([-0.05, 0.03, 7.0, float("nan")]))
        return command(name, value=draw(st.sampled_from([1, 2, None])), suggestion=Suggestion(offset))
    if name == "mode":
        return command(name, value=draw(st.sampled_from(["active", "active", "advisory", "nonsense"])))
    return command(name)
