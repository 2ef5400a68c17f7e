"""How much one peer, and all of them, may ask at a time: connections, requests a second, requests in hand.

Together they bound what a flood costs: memory by the connections and the requests in hand, processor time by
the rate, since a request beyond it holds its connection for ``DELAY`` seconds before it is refused.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

from starlette.types import Scope

CONNECTIONS = 128
"""At a time over TCP, and as many over the unix socket: a flood over TCP leaves the socket free."""

CONNECTIONS_OF_A_PEER = 32
"""Of these, for each address of another machine; this machine may have all of them."""

REQUESTS_PER_SECOND = 300.0
"""Of one peer, in the long run."""

BURST = 600.0
"""Requests of one peer at once, after some quiet seconds."""

PROBES = frozenset({"/livez", "/readyz"})
"""Who watches the daemon is answered whatever others ask: these count for no rate and wait for no turn."""

PROBE_PLACES = 16
"""Connections over ``CONNECTIONS`` that are taken for probes alone."""

PROBE_PLACES_OF_A_PEER = 4
"""Of these, for each address of another machine."""

PROBE_SECONDS = 1.0
"""A request over such a connection must have come whole in this time, seconds."""

COSTS = {"/v1/history": 20.0, "/docs": 10.0}
"""What counts as so many requests, for the work that it is; anything else counts as one."""

HANDSHAKES_PER_SECOND = 30.0
HANDSHAKES_AT_ONCE = 120.0
"""New connections of one peer with TLS, each of which costs a signature; without, as for requests."""

DELAY = 1.0
"""A request beyond the rate waits so long for its refusal, seconds."""

IN_HAND = 16
"""Requests that are worked on at a time, on each listener; others wait for their turn."""

TURN_SECONDS = 5.0
"""Longest wait for a turn, seconds."""

HEADER_BYTES = 16 * 1024
"""Of a request's line and headers."""

REQUEST_SECONDS = 10.0
"""A request must have come whole in this time, and a TLS handshake be done, seconds."""

KEEP_ALIVE_SECONDS = 5.0
"""A connection without a request is closed after so long, seconds."""

REQUESTS_OF_A_CONNECTION = 1000
"""A connection is closed after so many."""

STALLED_SECONDS = 10.0
"""A peer that takes nothing of an answer for so long is cut off, seconds."""

LINGER_SECONDS = 5.0
"""What a closed connection still has to send may take so long, seconds."""

_MOST_PEERS = 1024


def peer_of(address: str) -> str:
    """Return who an address counts as: an IPv6 network of 64 bits is one peer."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        if not found.is_loopback:
            return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def is_loopback(address: str) -> bool:
    """Tell whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def is_of_this_machine(peer: str) -> bool:
    """Tell whether a peer is of this machine: loopback, or a user over the unix socket."""
    return is_loopback(peer) or not peer or peer.startswith("uid ")


class Places:
    """Connections of one listener."""

    def __init__(self, most: int = CONNECTIONS, most_of_a_peer: int = CONNECTIONS_OF_A_PEER) -> None:
        """Begin with none taken.

        Args:
            most: at a time.
            most_of_a_peer: of another machine.
        """
        self._most = most
        self._most_of_a_peer = most_of_a_peer
        self._taken: dict[str, int] = {}
        self._sum = 0

    def take(self, peer: str) -> bool:
        """Take a place; False where there is none left for this peer."""
        if self._sum >= self._most or self.has_its_share(peer):
            return False
        self._taken[peer] = self._taken.get(peer, 0) + 1
        self._sum += 1
        return True

    def has_its_share(self, peer: str) -> bool:
        """Tell whether a peer of another machine has as many as one may."""
        return self._taken.get(peer, 0) >= self._most_of_a_peer and not is_of_this_machine(peer)

    def give_back(self, peer: str) -> None:
        """Give one place back."""
        self._sum -= 1
        self._taken[peer] -= 1
        if not self._taken[peer]:
            del self._taken[peer]


class ProbePlaces(Places):
    """Connections of one listener beyond those, for probes alone."""

    def __init__(self) -> None:
        """Begin with none taken."""
        super().__init__(PROBE_PLACES, PROBE_PLACES_OF_A_PEER)


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Rate:
    """Requests a second of each peer: a bucket that fills steadily. Forgets who has been quiet longest."""

    def __init__(self, per_second: float = REQUESTS_PER_SECOND, burst: float = BURST) -> None:
        """Begin with full buckets.

        Args:
            per_second: requests that come back to a bucket.
            burst: requests in a full one.
        """
        self._per_second = per_second
        self._burst = burst
        self._buckets: OrderedDict[Hashable, _Bucket] = OrderedDict()

    def allows(self, peer: Hashable, now: float, cost: float = 1.0) -> bool:
        """Take a request out of a peer's bucket; False where less is in it, which then stays.

        Args:
            peer: who asks.
            now: monotonic time, seconds.
            cost: as how many requests it counts.
        """
        found = self._buckets.pop(peer, None) or _Bucket(self._burst, now)
        self._buckets[peer] = found
        if len(self._buckets) > _MOST_PEERS:
            self._buckets.popitem(last=False)
        found.left = min(self._burst, found.left + (now - found.at) * self._per_second)
        found.at = now
        if found.left < cost:
            return False
        found.left -= cost
        return True


class Turns:
    """Requests in hand on one listener."""

    def __init__(self, at_a_time: int = IN_HAND) -> None:
        """Begin with none.

        Args:
            at_a_time: others wait.
        """
        self._free = asyncio.Semaphore(at_a_time)

    async def take(self) -> bool:
        """Wait for a turn; False where none came in ``TURN_SECONDS``."""
        if not self._free.locked():
            return await self._free.acquire()
        try:
            return await asyncio.wait_for(self._free.acquire(), TURN_SECONDS)
        except TimeoutError:
            return False

    def give_back(self) -> None:
        """End a turn."""
        self._free.release()


def peer_in(scope: Scope) -> str:
    """Return who a request counts as."""
    client = scope.get("client")
    return peer_of(str(client[0])) if client else ""
