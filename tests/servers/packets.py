"""MySQL's protocol, a server's side of it, as far as tests speak it."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Collection, Sequence
from typing import Any

Write = Callable[[bytes], None]
Row = Sequence[Any]

OK = b"\x00\x00\x00\x02\x00\x00\x00"
END = b"\xfe\x00\x00\x02\x00"
CAPABILITIES = 0x0008A201
"""Protocol 4.1, long password, transactions, secure connection, plug-in authentication; no TLS."""

NUMBER, DECIMAL, VARCHAR = 8, 246, 253
"""Types of columns."""


def receive(connection: socket.socket) -> tuple[int, bytes]:
    """Return the next packet, with its number.

    Raises:
        EOFError: the other side is gone.
    """
    head = _exactly(connection, 4)
    return head[3], _exactly(connection, int.from_bytes(head[:3], "little"))


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def framed(number: int, data: bytes) -> bytes:
    """Return one packet, with its number."""
    return len(data).to_bytes(3, "little") + bytes([number % 256]) + data


def send(write: Write, number: int, data: bytes) -> None:
    """Write one packet."""
    write(framed(number, data))


def greeting(version: bytes, number: int, *, salt: bytes, plugin: bytes, more: int = 0) -> bytes:
    """Return what a server says first: its version, the connection's number, salt and method of the login.

    Args:
        version: what it calls its version.
        number: of the connection.
        salt: twenty bytes.
        plugin: the method.
        more: capabilities beside the usual ones.
    """
    offered = CAPABILITIES | more
    return b"".join(
        (
            *(b"\x0a", version, b"\x00", struct.pack("<I", number), salt[:8], b"\x00"),
            struct.pack("<HBHHB", offered & 0xFFFF, 255, 2, offered >> 16, 21),
            *(bytes(10), salt[8:], b"\x00", plugin, b"\x00"),
        )
    )


def refusal(number: int, words: bytes, state: bytes = b"#HY000") -> bytes:
    """Return the packet of an error."""
    return b"\xff" + struct.pack("<H", number) + state + words


def answer(
    rows: Sequence[Row],
    *,
    columns: int | None = None,
    kind: int = VARCHAR,
    charset: int = 255,
    decimals: Collection[int] = (),
) -> list[bytes]:
    """Return the packets of an answer; none of rows is that all went well.

    Args:
        rows: the answer.
        columns: how many are announced; as many as there are where it is None.
        kind: the type of columns that are not of whole numbers.
        charset: of these.
        decimals: which of these are announced as DECIMAL all the same, as sums are.
    """
    if not rows:
        return [OK]
    count = len(rows[0]) if columns is None else columns
    kinds = [DECIMAL if at in decimals else kind for at in range(count)]
    heads = [column(NUMBER, 63) if _whole(rows, at) else column(kinds[at], charset) for at in range(count)]
    return [bytes([count]), *heads, END, *(b"".join(map(text, row)) for row in rows), END]


def column(kind: int, charset: int) -> bytes:
    """Return the packet that announces a column."""
    names = b"".join(map(text, ("def", "", "", "", "c", ""))) + b"\x0c"
    return names + struct.pack("<HIBHB2x", charset, 99, kind, 0, 0)


def _whole(rows: Sequence[Row], at: int) -> bool:
    """Tell whether a column is of whole numbers, as a server that counts announces it."""
    return all(at < len(row) and type(row[at]) is int for row in rows)


def text(value: object) -> bytes:
    """Return a value as a row has it."""
    if value is None:
        return b"\xfb"
    data = value if isinstance(value, bytes) else str(value).encode()
    if len(data) < 251:
        return bytes([len(data)]) + data
    return b"\xfd" + len(data).to_bytes(3, "little") + data
