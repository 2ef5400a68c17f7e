"""What every room shares; the real MySQL and its load start only where they are asked for."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

pytest_plugins = ["tests.real.fixtures", "tests.real.small", "tests.real.families"]


@pytest.fixture
def terminal() -> Iterator[None]:
    """Hear Ctrl-C, and let children hear it, where whoever started the tests ignores it as ``&`` does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
