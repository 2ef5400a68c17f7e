"""Server-sent events: what happened, as it happens.

Each tick becomes bytes once, in a ring that all clients read, each from a place of its own. So a client
costs no memory but its connection, a client that comes back goes on where it was, and one that does not
read is cut off. The loop's thread only hands its record over: an append and a byte into a pipe.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
from collections import deque
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from fastapi import APIRouter, Header, Request, Response
from fastapi.sse import format_sse_event
from msgspec import Struct
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from api.admission import asks_for_head, cut
from api.connections import is_of_this_machine, peer_in
from api.models import DecisionAt, NumberedEvent, StreamGap, StreamTick
from api.openapi import Responses, answers, reference
from api.problems import ApiError, FieldProblem, Refusal, Refusals, validation_error
from api.read import differs
from api.views import event_of, tick_of
from tuner.daemon.board import RING_TICKS, Board, NumberedEvents
from tuner.records import Decision, TickRecord

MESSAGES: dict[str, type[Struct]] = {
    "tick": StreamTick,
    "event": NumberedEvent,
    "decision": DecisionAt,
    "gap": StreamGap,
}
"""What each name of a message carries as data."""

LARGEST_NUMBER_OF_STREAMS = 64
STREAMS_OF_THIS_MACHINE = 50
"""Of one peer of this machine: loopback, or a user over the unix socket."""

STREAMS_OF_A_PEER = 8
"""Of each address of another machine."""

HEARTBEAT_SECONDS = 15.0

_END_SECONDS = 0.3
_SLICE = 50
_RETRY_MILLISECONDS = 2000
_ID = re.compile(r"([0-9a-f]{1,16})-([0-9]{1,15})")
_HEARTBEAT = format_sse_event(comment="heartbeat")

_DOCUMENTED: Responses = answers(StreamTick, "", "validation", "unavailable")
_DOCUMENTED[200] = {
    "description": "Messages until one side ends: "
    + ", ".join(f"`{name}` with {model.__name__}" for name, model in MESSAGES.items())
    + ". A comment where nothing came for a while.",
    "content": {
        "text/event-stream": {
            "schema": {"type": "string"},
            "x-messages": {name: reference(model) for name, model in MESSAGES.items()},
        }
    },
}


class Streams:
    """Every stream there is, and the ring that they read. Lives on the API's thread."""

    def __init__(self, board: Board, run: str, refusals: Refusals) -> None:
        """Take note of the loop and the run's hexadecimal name; nothing is kept before the first client."""
        self._board = board
        self._run = run
        self._refusals = refusals
        self._ring: deque[tuple[int, bytes]] = deque(maxlen=RING_TICKS)
        self._handed: deque[tuple[TickRecord, NumberedEvents]] = deque(maxlen=RING_TICKS)
        self._called = False
        self._ended = False
        self._open: dict[EventStream, str] = {}
        self._decision: Decision | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()

    def place(self, last_id: str | None) -> tuple[int, StreamGap | None]:
        """Return the number of the tick after which a client goes on, and what it has missed for good.

        Without the id of a last message it begins with the newest.

        Raises:
            ApiError: it is no id of such a stream.
        """
        self._listen()
        first, newest = (self._ring[0][0], self._ring[-1][0]) if self._ring else (None, 0)
        if last_id is None:
            return newest - 1, None
        parsed = _ID.fullmatch(last_id)
        if parsed is None:
            raise validation_error([FieldProblem("Last-Event-ID", last_id, "the id of an earlier message")])
        number = int(parsed[2])
        if parsed[1] != self._run:
            return 0, StreamGap(after=None, first=first)
        if first is not None and number < first - 1:
            return first - 1, StreamGap(after=number, first=first)
        return min(number, newest), None

    async def messages(self, place: int, gap: StreamGap | None) -> AsyncIterator[bytes]:
        """Yield what comes after a place, until the end of the daemon."""
        yield format_sse_event(retry=_RETRY_MILLISECONDS)
        if gap is not None:
            yield _message("gap", gap)
        while True:
            news, ended = self._news, self._ended
            encoded, place = self._after(place)
            if encoded:
                yield encoded
            elif ended and not self._handed:
                return
            else:
                try:
                    async with asyncio.timeout(HEARTBEAT_SECONDS):
                        await news.wait()
                except TimeoutError:
                    yield _HEARTBEAT

    def enter(self, stream: EventStream, peer: str) -> None:
        """Take note of one stream more of a peer.

        Raises:
            ApiError: there are as many as there may be, in all or of this peer, or the daemon ends.
        """
        if self._ended:
            raise ApiError("unavailable", "the daemon is stopping")
        own = list(self._open.values()).count(peer)
        most = STREAMS_OF_THIS_MACHINE if is_of_this_machine(peer) else STREAMS_OF_A_PEER
        if own >= most or len(self._open) >= LARGEST_NUMBER_OF_STREAMS:
            self._refusals.note(Refusal.STREAMS)
            count, whose = (own, f"{peer} may have") if own >= most else (len(self._open), "there may be")
            why = f"{count} streams are open, as many as {whose}; try again later"
            raise ApiError("unavailable", why, headers={"Retry-After": "10"})
        self._open[stream] = peer

    def leave(self, stream: EventStream) -> None:
        """Forget a stream."""
        self._open.pop(stream, None)

    def end(self) -> None:
        """End every stream once it has what there is, and cut off those that do not take it; any thread."""
        self._ended = True
        self._call()

    def _listen(self) -> None:
        """Have every tick handed over from now on, beginning with the newest there is."""
        if self._loop is not None:
            return
        self._loop = asyncio.get_running_loop()
        self._board.listen(self._hand_over)
        record = self._board.last()
        if record is not None and not self._handed:
            self._handed.appendleft((record, ()))
            self._take()

    def _hand_over(self, record: TickRecord, events: NumberedEvents) -> None:
        """Leave a record where the API's thread finds it; the loop's thread alone calls this."""
        self._handed.append((record, events))
        if not self._called:
            self._called = True
            self._call()

    def _call(self) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # its loop has ended already
                self._loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        """Make bytes of what was handed over, and wake whoever waits for them."""
        self._called = False
        while self._handed:
            record, events = self._handed.popleft()
            newest = self._ring[-1][0] if self._ring else record.tick.number - 1
            if record.tick.number > newest:
                encoded = self._encoded(record, events)
                if record.tick.number > newest + 1:  # this thread stood still for longer than is kept
                    encoded = _message("gap", StreamGap(newest, record.tick.number)) + encoded
                self._ring.append((record.tick.number, encoded))
        self._news.set()
        self._news = asyncio.Event()
        if self._ended and self._loop is not None:
            self._loop.call_later(_END_SECONDS, self._cut_all)

    def _cut_all(self) -> None:
        for stream in self._open:
            stream.cut()

    def _encoded(self, record: TickRecord, events: NumberedEvents) -> bytes:
        """Return all messages of a tick; the id comes last, so that none of them can be left out."""
        tick, decision = record.tick, record.decision
        parts = [_message("event", event_of(*one)) for one in events]
        if self._decision is None or differs(decision, self._decision):
            parts.append(_message("decision", DecisionAt(tick.number, tick.wall, decision)))
        self._decision = decision
        parts.append(_message("tick", tick_of(record), message_id=f"{self._run}-{tick.number}"))
        return b"".join(parts)

    def _after(self, place: int) -> tuple[bytes, int]:
        """Return the next messages after a place, a slice at most, and the place behind them."""
        newer = list(itertools.takewhile(lambda item: item[0] > place, reversed(self._ring)))
        following = newer[: -_SLICE - 1 : -1]
        return b"".join(line for _, line in following), following[-1][0] if following else place


class EventStream(StreamingResponse):
    """The answer to one client, which is counted; its connection ends where it is not taken."""

    media_type = "text/event-stream"

    def __init__(self, streams: Streams, messages: AsyncIterator[bytes]) -> None:
        super().__init__(messages, headers={"X-Accel-Buffering": "no"})
        self._streams = streams
        self._scope: Scope = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until one side ends."""
        try:
            self._streams.enter(self, peer_in(scope))
        except ApiError as error:
            await error.response()(scope, receive, send)
            return
        self._scope = scope
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.leave(self)

    def cut(self) -> None:
        """End the connection at once."""
        cut(self._scope)


def stream_routes(streams: Streams) -> APIRouter:
    """Return ``GET /stream``."""
    routes = APIRouter(prefix="/v1", tags=["read"])

    @routes.get("/stream", responses=_DOCUMENTED, response_class=Response)
    async def stream(
        request: Request,
        last_event_id: Annotated[
            str | None,
            Header(max_length=64, description="id of the last message that was had; goes on after it"),
        ] = None,
    ) -> Response:
        """Send ticks, events and decisions as they happen, as server-sent events."""
        place, gap = streams.place(last_event_id)
        if asks_for_head(request.scope):
            return Response(media_type=EventStream.media_type)
        return EventStream(streams, streams.messages(place, gap))

    return routes


def _message(name: str, data: Struct, *, message_id: str | None = None) -> bytes:
    return format_sse_event(event=name, data_str=msgspec.json.encode(data).decode(), id=message_id)
