"""What a server has by itself, which every bench compares with."""

from __future__ import annotations

import pytest

from lab.bench.contenders import version_default
from tuner.records import Capacity


@pytest.mark.parametrize(
    ("version", "default"),
    [
        ("9.7.4-2", Capacity(10_000, 20_000)),
        ("8.4.0", Capacity(10_000, 20_000)),
        ("8.0.36-28", Capacity(200, 2000)),
        ("5.6.24", Capacity(200, 2000)),
        ("11.8.6-MariaDB-0+deb13u1 from Debian", Capacity(200, 2000)),
        ("10.11.18-MariaDB-0+deb12u1", Capacity(200, 2000)),
    ],
)
def test_the_default_is_that_of_the_very_server(version: str, default: Capacity) -> None:
    """MariaDB's numbers are higher than MySQL's, its defaults are not."""
    assert version_default(version) == default
