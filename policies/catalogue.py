"""What each policy is, for whoever chooses one: a line each, and the constants that matter.

The values are those of the policies' own modules, so that what is printed is what decides.
"""

from __future__ import annotations

from dataclasses import dataclass

from policies import bayes, calm, cascade, disturbance, pace, pid, saving, travel


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that a policy decides by."""

    name: str  # as in the policy's module
    value: float  # in the unit
    unit: str  # empty for a share or a factor
    meaning: str  # in words


@dataclass(frozen=True, slots=True)
class About:
    """One policy."""

    name: str  # it is asked for by this
    does: str  # what it does, in a line
    use: str  # when it is the right one
    constants: tuple[Constant, ...] = ()  # those that matter
    extra: str = ""  # what has to be installed for it beside the package; empty for nothing
    by_itself: bool = False  # the loop takes it where the server leaves no other; it cannot be asked for


CATALOGUE: tuple[About, ...] = (
    About(
        name="cascade",
        does="computes the io_capacity_max that keeps the age at its set-point, then corrects it slowly",
        use="in nearly all cases: few writes, and the way to the set-point is computed beforehand",
        constants=(
            Constant("BAND", travel.BAND, "", "mean error of the age ratio that is not corrected"),
            Constant("HOLD_GAIN", cascade.HOLD_GAIN, "", "share of that error that one write corrects"),
            Constant(
                "TRIM_SETTLINGS",
                calm.TRIM_SETTLINGS,
                "",
                "settling times between two corrections by the mean",
            ),
            Constant("SETTLING_SHARE", cascade.SETTLING_SHARE, "", "time constants that a write gets to act"),
            Constant("LOW", travel.LOW, "", "age ratio below the set-point from which on it approaches"),
            Constant("HIGH", travel.HIGH, "", "the same above it, or from the sync point on"),
            Constant("SHIFT", disturbance.SHIFT, "", "change of the redo rate that counts as another load"),
            Constant("SAFE", saving.SAFE, "", "factor on io_capacity_max while few changes are left"),
        ),
    ),
    About(
        name="bayes",
        does="cascade, with an optimiser that tries other set-points and margins near the computed ones",
        use="where hours of trials may show a better set-point than the computed one",
        constants=(
            Constant("WINDOW", bayes.WINDOW, "", "number of trials that are remembered"),
            Constant("MEMORY_SECONDS", bayes.MEMORY_SECONDS, "s", "age at which a trial is forgotten"),
            Constant(
                "START_RADIUS",
                bayes.START_RADIUS,
                "",
                "radius of the first search region, share of half the limits",
            ),
            Constant("GROWS", bayes.GROWS, "", "factor for the region after a won trial"),
            Constant("SHRINKS", bayes.SHRINKS, "", "factor for the region after a lost trial"),
        ),
        extra="bayes",
    ),
    About(
        name="pid",
        does="a PID controller: moves ln(io_capacity_max) by error, integral and slope of the age ratio",
        use="where the model of the server's flushing is in doubt: it needs no model, but many changes",
        constants=(
            Constant("GAIN", pid.GAIN, "", "change of ln(io_capacity_max) for an age ratio error of 1"),
            Constant(
                "INTEGRAL_HORIZONS", pid.INTEGRAL_HORIZONS, "", "integral time, in half residence times"
            ),
            Constant("DERIVATIVE_HORIZONS", pid.DERIVATIVE_HORIZONS, "", "derivative time, in the same unit"),
            Constant("BAND", pid.BAND, "", "error, now and predicted, that is not corrected"),
            Constant("STEP_LIMIT", pid.STEP_LIMIT, "", "largest step of ln(io_capacity_max)"),
        ),
    ),
    About(
        name="fixed",
        does="sets one io_capacity_max, loop.fixed_io_capacity_max, and keeps it unless sync "
        "flushing is near",
        use="for comparisons, or to have only the protection in an emergency",
    ),
    About(
        name="pace",
        does="raises io_capacity_max where the server flushes all of it and the age still grows; "
        "never lowers it",
        use="taken automatically on servers where io_capacity_max does not move the age, such as "
        "MariaDB's default",
        constants=(
            Constant("AIM", pace.AIM, "", "io_capacity_max after a raise, over the one before"),
            Constant("FULL", pace.FULL, "", "share of io_capacity_max that counts as all of it"),
            Constant("FULL_SECONDS", pace.FULL_SECONDS, "s", "how long that has to last"),
        ),
        by_itself=True,
    ),
)
"""Every policy there is, the default first."""
