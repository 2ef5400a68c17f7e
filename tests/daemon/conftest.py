"""A daemon that has not begun to live, what one logs, and who its hooks tell."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.daemon.life import Life
from tests.daemon.receiver import Receiver, receiving
from tuner.settings import Mode, Settings


@pytest.fixture
def logged() -> Iterator[list[MutableMapping[str, Any]]]:
    """Return what is logged, as the events come."""
    with capture_logs() as found:
        yield found


@pytest.fixture
def active(tmp_path: Path) -> Life:
    """Return a daemon in active mode that has not begun to live."""
    return Life(tmp_path, Settings(mode=Mode.ACTIVE))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Return a receiver."""
    with receiving() as found:
        yield found
