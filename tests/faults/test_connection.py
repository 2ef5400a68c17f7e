"""The network between daemon and server swallows or resets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lab.servers.base import LabServer
from tests.faults.catalogue import EVERY, Group, fault
from tests.faults.deeds import black_holed
from tests.faults.sharing import Sharing
from tests.real.proxy import Proxy

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def proxy(server: LabServer) -> Iterator[Proxy]:
    """Yield the line between the shared daemon and the server."""
    with Proxy(server.port) as found:
        yield found


@pytest.fixture(scope="module")
def how(proxy: Proxy) -> dict[str, Any]:
    """Return what makes the shared daemon go through the proxy."""
    return {"port": proxy.port}


@fault(
    Group.NETWORK,
    what="Packets vanish; the server keeps the old session with its lock",
    left="the last values",
    back="by itself: ends its own old session, parks at the first contact, goes on",
    invariants=(5, 9, 10),
    on=EVERY,
)
def test_the_connection_is_black_holed(sharing: Sharing, proxy: Proxy) -> None:
    """A daemon whose packets vanish is held, and is back as soon as a new connection gets through."""
    black_holed(sharing, proxy)


@fault(
    Group.NETWORK,
    what="The connection is reset (RST) again and again",
    left="the last values, or the next ones",
    back="by itself with the next sample",
    invariants=(2, 9, 10),
)
def test_the_connection_is_reset(sharing: Sharing, proxy: Proxy) -> None:
    """A connection that is reset is opened anew at once, and not one change is lost."""
    for wanted in (1000, 700, 900):
        proxy.reset()
        sharing.daemon.want(wanted)
    held = {hold.code.value for one in sharing.back() for hold in one.holds}
    assert "foreign_change" not in held
