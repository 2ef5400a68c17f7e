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
        does="finds the M at which the age rests at a set-point that follows the load, then shifts it",
        use="always, unless you know better: few writes, and the way to the set-point is known beforehand",
        constants=(
            Constant("BAND", travel.BAND, "", "mean error in the age ratio that is left alone"),
            Constant("HOLD_GAIN", cascade.HOLD_GAIN, "", "share of that error one write takes out"),
            Constant("TRIM_SETTLINGS", calm.TRIM_SETTLINGS, "", "settling times until a mean trims M"),
            Constant("SETTLING_SHARE", cascade.SETTLING_SHARE, "", "time constants that a write is given"),
            Constant("LOW", travel.LOW, "", "so far below the set-point it travels instead of holding"),
            Constant("HIGH", travel.HIGH, "", "the same above it, or from the sync point on"),
            Constant("SHIFT", disturbance.SHIFT, "", "share by which another redo rate is another load"),
            Constant("SAFE", saving.SAFE, "", "M over that of the set-point while changes are scarce"),
        ),
    ),
    About(
        name="bayes",
        does="cascade below an optimiser that tries set-points and margins near the analytic one",
        use="where hours of trials may show a better set-point than the analytic one; it never writes C or M",
        constants=(
            Constant("WINDOW", bayes.WINDOW, "", "trials that are remembered"),
            Constant("MEMORY_SECONDS", bayes.MEMORY_SECONDS, "s", "evidence is forgotten when older"),
            Constant("START_RADIUS", bayes.START_RADIUS, "", "half the trust region, of half the limits"),
            Constant("GROWS", bayes.GROWS, "", "what a trial that was won does to it"),
            Constant("SHRINKS", bayes.SHRINKS, "", "what one that was lost does to it"),
        ),
        extra="bayes",
    ),
    About(
        name="pid",
        does="moves ln M by what the age ratio is away from the set-point, was, and is heading for",
        use="where the model of the server's flushing is in doubt: it needs none, but many changes",
        constants=(
            Constant("GAIN", pid.GAIN, "", "ln M for an error of 1 in the age ratio"),
            Constant("INTEGRAL_HORIZONS", pid.INTEGRAL_HORIZONS, "", "integral time in half residence times"),
            Constant("DERIVATIVE_HORIZONS", pid.DERIVATIVE_HORIZONS, "", "derivative time in the same"),
            Constant("BAND", pid.BAND, "", "error, now and ahead, that is left alone"),
            Constant("STEP_LIMIT", pid.STEP_LIMIT, "", "largest step in ln M"),
        ),
    ),
    About(
        name="fixed",
        does="steers to one M, loop.fixed_io_capacity_max, and stays there unless sync flushing is near",
        use="to compare with, or to have the guards and nothing else",
    ),
    About(
        name="pace",
        does="raises M where all of it is flushed and the age grows nevertheless, and lowers it never",
        use="taken by itself on servers whose age M does not move, such as MariaDB's defaults",
        constants=(
            Constant("AIM", pace.AIM, "", "M after a raise over M before"),
            Constant("FULL", pace.FULL, "", "share of M from which on all of it is flushed"),
            Constant("FULL_SECONDS", pace.FULL_SECONDS, "s", "how long that has to last"),
        ),
        by_itself=True,
    ),
)
"""Every policy there is, the default first."""
