"""What was learned of a server, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from tuner.cli.wording import mib
from tuner.core.estimate.trends import HOURS
from tuner.core.known import Known


def learned_text(known: Known, *, in_use: bool) -> str:
    """Return what was learned in one line.

    Args:
        known: the figures.
        in_use: what won a trial is in force.
    """
    return "; ".join(_parts(known, in_use=in_use))


def _parts(known: Known, *, in_use: bool) -> Iterator[str]:
    often = f", seen up to {known.visits} times" if known.visits > 1 else ""
    yield f"{known.hours} of {HOURS} hours of the week{often}"
    yield f"bursts up to {mib(known.burst_bytes)}" if known.burst_bytes else "no burst"
    if known.recovery_version is None:
        yield "no crash recovery measured"
    else:
        yield f"recovery factor {known.recovery_factor:.2f}, measured on {known.recovery_version}"
    if known.proven_version is not None:
        yield f"flush law verified on {known.proven_version}"
    if known.trials_since is not None:
        since = f"{datetime.fromtimestamp(known.trials_since, UTC):%-d %b %Y}"
        won = f", {known.wins} won" if known.wins else ""
        trials = "1 trial" if known.trials == 1 else f"{known.trials} trials"
        yield f"{trials} since {since}{won}{', one in use' if in_use else ''}"
    if known.aside:
        yield f"trials of {', '.join(known.aside)} set aside"
