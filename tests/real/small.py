"""A small server of its own, for tests that would spoil the one with the load."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.servers.base import LabServer
from lab.servers.spec import MEBIBYTE, ServerSpec
from tests.real.fixtures import available

SPEC = ServerSpec(redo_capacity=64 * MEBIBYTE, buffer_pool=256 * MEBIBYTE)


@pytest.fixture(scope="module")
def small() -> Iterator[LabServer]:
    """Yield a small server that only one module's tests use."""
    with available().server(SPEC) as server:
        yield server
