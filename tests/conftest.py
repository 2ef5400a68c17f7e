"""What every room shares; the real MySQL and its load start only where they are asked for."""

from __future__ import annotations

import io
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tuner.system import logs

for profile, examples in (("test", 100), ("check", 25)):
    settings.register_profile(
        profile, deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow]
    )
"""How fast a busy machine draws examples, and runs them, is no promise to a user."""

pytest_plugins = [
    "tests.side_by_side",
    "tests.real.fixtures",
    "tests.real.small",
    "tests.real.families",
    "tests.browser.fixtures",
]


def pytest_configure(config: pytest.Config) -> None:
    """Draw fewer examples of each property where the long tests are left out, as ``make check`` does."""
    settings.load_profile("check" if "not long" in config.option.markexpr else "test")


@pytest.fixture(autouse=True)
def _logging_as_it_comes() -> Iterator[None]:
    """Leave no other test the logging that a command set up for its whole process."""
    yield
    logs.reset_logs()


@pytest.fixture
def terminal() -> Iterator[None]:
    """Hear Ctrl-C, and let children hear it, where whoever started the tests ignores it as ``&`` does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Return where the lines go."""
    out = io.StringIO()
    logs.configure_logs(level="info", style="auto", stream=out)
    yield out
    logs.close_logs()
