"""What lasts beyond a daemon's life: the fit of write combining, and how long recoveries take."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from tests.factory import A, sample
from tuner.core.estimate.estimator import EstimatorState, update
from tuner.core.estimate.load import Regression
from tuner.core.estimate.recovery import Recovery
from tuner.core.memory import Learned, learn, recall


def taught() -> EstimatorState:
    """Return the state after a load whose pages per byte fall with age."""
    state, flushed = EstimatorState(), 0.0
    for second in range(600):
        ratio = 0.3 + second / 1_000.0
        flushed += 300.0 / ratio
        state, _, _ = update(state, sample(float(second), age=ratio * A, pages_adaptive=round(flushed)))
    return state


def exponent(state: EstimatorState) -> float:
    """Return the combining exponent that the next readings start with."""
    for second in range(3):
        state, found, _ = update(state, sample(1_000.0 + second))
    assert found is not None
    return found.combining_exponent


def test_a_new_daemon_goes_on_with_what_the_old_one_learned() -> None:
    """The exponent is the same after a restart, by way of the bytes that the journal keeps."""
    state = taught()
    blob = msgspec.msgpack.encode(learn(state))

    again = recall(msgspec.msgpack.decode(blob, type=Learned))

    assert learn(again) == learn(state)
    assert exponent(again) == pytest.approx(exponent(state), abs=0.02)
    assert abs(exponent(again) - exponent(EstimatorState())) > 0.1


def test_nothing_else_lasts() -> None:
    """Rates, ledger and device belong to one life: they begin anew."""
    again = recall(learn(taught()))

    assert again.window == ()
    assert again.tail.ledger.lsns == ()
    assert again.last is None


@pytest.mark.parametrize(
    "nonsense",
    [{"variance": -1.0}, {"variance": float("nan")}, {"covariance": float("inf")}, {"weight": -1.0}],
    ids=str,
)
def test_nonsense_is_forgotten(nonsense: dict[str, float]) -> None:
    """A learned state that cannot be true does not poison the loop for good."""
    learned = learn(taught())
    spoilt = replace(learned.load.combining, **nonsense)

    again = recall(Learned(load=replace(learned.load, combining=spoilt)))

    assert again.load.combining == Regression()
    assert again.load.response == learned.load.response
    assert recall(None) == EstimatorState()


def recovered() -> Learned:
    """Return what is kept after recoveries of half the predicted time."""
    return replace(learn(taught()), recovery_factor=0.5, measured_on="9.7.4")


def test_measured_recoveries_last_and_another_version_forgets_them() -> None:
    """The factor goes on under the same server version; an upgrade begins with the prior."""
    blob = msgspec.msgpack.encode(recovered())
    kept = msgspec.msgpack.decode(blob, type=Learned)

    assert recall(kept, version="9.7.4").recovery.factor == 0.5
    assert learn(recall(kept, version="9.7.4")) == kept
    assert recall(kept, version="9.8.0").recovery == Recovery()


@pytest.mark.parametrize("factor", [0.0, -1.0, 1e9, float("nan"), float("inf")])
def test_a_factor_that_cannot_be_true_is_forgotten(factor: float) -> None:
    """A spoilt factor costs the measurements, not the budgets, and not what else was learned."""
    again = recall(replace(recovered(), recovery_factor=factor), version="9.7.4")

    assert again.recovery == Recovery()
    assert again.load == recovered().load


def test_what_an_older_daemon_kept_is_still_read() -> None:
    """Bytes without a factor, as before there was one, keep the load's fit."""
    blob = msgspec.msgpack.encode({"load": learn(taught()).load})

    again = recall(msgspec.msgpack.decode(blob, type=Learned), version="9.7.4")

    assert again.load == taught().load
    assert again.recovery == Recovery()


def test_a_measured_recovery_that_an_older_daemon_kept_is_still_read() -> None:
    """The version that it was measured on is found under the name it has always been stored by."""
    load = msgspec.to_builtins(learn(taught()).load)
    blob = msgspec.msgpack.encode({"load": load, "recovery_factor": 0.5, "version": "9.7.4"})

    again = recall(msgspec.msgpack.decode(blob, type=Learned), version="9.7.4")

    assert again.recovery.factor == 0.5
