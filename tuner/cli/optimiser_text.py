"""What the outer loop is at, as a person reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from api.models import OptimiserUnderWay
from tuner.cli.wording import gain_text
from tuner.core.trials.evidence import said
from tuner.records import OptimiserHealth, OptimiserPhase, OptimiserProgress

_OFFERS = {
    "off": "",
    "asleep": "",
    "starting": "its process is starting",
    "ready": "its process waits for a question",
    "thinking": "its process is thinking",
}


def lines(optimiser: OptimiserUnderWay, *, at: float, duration: Callable[[float], str]) -> Iterator[str]:
    """Return what it does, and what is in use.

    Args:
        optimiser: as the status has it.
        at: Unix time of the status, seconds.
        duration: words for seconds.
    """
    progress = optimiser.progress
    health = "" if optimiser.process is None else _health(optimiser.process, at=at, duration=duration)
    yield f"{_doing(progress, duration)}; {progress.known} trials known" + (f"; {health}" if health else "")
    won = progress.in_use
    if won is not None:
        yield f"in use: {said(won.suggestion)}; it won {gain_text(won)} over the analytic set-point"


def _doing(progress: OptimiserProgress, duration: Callable[[float], str]) -> str:
    if progress.phase is OptimiserPhase.TRIAL and progress.trying is not None:
        blocks = f"{progress.blocks} of at most {progress.most_blocks} blocks done"
        now = "a suggested" if progress.suggested else "an analytic"
        return f"trial {progress.number}: {said(progress.trying)}; {blocks}, now {now} one"
    if progress.phase is OptimiserPhase.ASKING:
        return f"asks for a suggestion for trial {progress.number}"
    if progress.phase is OptimiserPhase.BARRED:
        return f"no trial: {progress.why}"
    if progress.rest_seconds > 0.0:
        return f"idle, a trial in {duration(progress.rest_seconds)} at the earliest"
    return "idle until the load has been quiet for some minutes"


def _health(health: OptimiserHealth, *, at: float, duration: Callable[[float], str]) -> str:
    why = " ".join(health.why.split())  # an exception has several lines at times
    text = _OFFERS.get(health.state, health.state)
    if health.state == "dead":
        left = max(0.0, (health.until or at) - at)
        text = f"its process is dead for {duration(left)} more: {why}"
    counted = []
    if health.deaths and health.state != "dead":
        counted.append(f"it died {health.deaths} times, last: {why}")
    if health.dropped:
        counted.append(f"{health.dropped} messages of it were nonsense")
    return "; ".join(part for part in (text, *counted) if part)
