"""What the service manager is told of ticks: that the service is up, that it lives, and how things are."""

from __future__ import annotations

from tuner.records import Lifecycle, Sample, TickRecord
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
    """Return what ``systemctl status`` shows: mode, age, M and reason, as far as they are known."""
    reading, estimate, reason = record.tick.reading, record.estimate, record.decision.reason
    if not isinstance(reading, Sample) or estimate is None:
        return f"mode={record.mode} {reason}"
    age = f"age={estimate.age_ratio:.0%} of the flush limit"
    return f"mode={record.mode} {age} io_capacity_max={reading.io_capacity_max} {reason}"
