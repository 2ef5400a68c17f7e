"""What the service manager is told of ticks: that the service is up, that it lives, and how things are."""

from __future__ import annotations

from tuner.records import Lifecycle, Sample, TickRecord
from tuner.system.amounts import share
from tuner.system.systemd import Notifier


class Readiness:
    """Knows whether the service was said to be up."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._ready = False

    def tell(self, record: TickRecord) -> None:
        """Say READY with the first good tick, and with every one that the loop is alive."""
        status = status_line(record)
        if not self._ready and record.lifecycle is Lifecycle.RUNNING:
            self._notifier.ready(status)
            self._ready = True
        self._notifier.alive(status)


def status_line(record: TickRecord) -> str:
    """Return what ``systemctl status`` shows: mode, age, M and decision, as far as they are known."""
    reading, estimate = record.tick.reading, record.estimate
    if not isinstance(reading, Sample) or estimate is None:
        return f"{record.mode}; {record.decision.detail}"
    age = f"age {share(estimate.age_ratio)} of the flush limit"
    highest = f"innodb_io_capacity_max {reading.io_capacity_max}"
    return f"{record.mode}; {age}; {highest}; {record.decision.kind.in_words}"
