"""Checkpoint ages as people write them: bytes, or a share of the redo capacity."""

from __future__ import annotations

import re

from tuner.system.amounts import size

LOWEST = "lowest"
"""Asks a drain for no certain age: as low as it safely goes."""

PATTERN = r"^(lowest|[0-9]{1,15}(\.[0-9]{1,6})?(%| ?[KMGTkmgt]([iI][bB])?|[bB])?)$"
"""What an age is written like; K, M, G and T are powers of 1024, as MySQL takes them."""

EXPECTED = "bytes, such as 64M or 2G, or a share of the redo capacity, such as 10%, or lowest"

_UNITS = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_NUMBER = re.compile(r"[0-9.]+")


def bytes_of(text: str, *, redo_capacity: int) -> int:
    """Return an age in bytes.

    Raises:
        ValueError: it is no age; the message says what would be right.
    """
    number = _NUMBER.match(text)
    if number is None or not re.fullmatch(PATTERN, text):
        raise ValueError(f"{text!r} is no age: write {EXPECTED}")
    unit = text[number.end() :].strip().upper().removesuffix("IB")
    value = float(number[0])
    age = value / 100.0 * redo_capacity if unit == "%" else value * _UNITS[unit]
    if not 1.0 <= age <= redo_capacity:
        raise ValueError(f"{text} must be above 0 and at most the redo capacity, {size(redo_capacity)}")
    return int(age)
