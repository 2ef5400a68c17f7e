"""A daemon that has not begun to live, and what one logs."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.daemon.life import Life
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
