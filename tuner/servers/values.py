"""What a server said, as values: whether they can be so at all is judged before anything uses them."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import fields

from tuner.records import Capacity, Facts, Sample

T = TypeVar("T", bound=Struct)

MOST = 2**64 - 1
"""The highest number of any counter or variable: InnoDB's are unsigned, of 64 bits."""

LONGEST = 1024
"""Most characters of any name that a server gives itself: MariaDB's identity has a host's name and a path."""

LOWEST: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(
        (
            *("io_capacity", "io_capacity_max", "redo_capacity", "flush_limit", "sync_point", "stall_point"),
            *("pages_total", "page_size", "capacity_maximum"),
        ),
        1,
    )
)
"""What a server never says 0 of; everything else is 0 at least."""

APART = 64 * 1024**2
"""LSNs of one reading may come from different moments, so many bytes apart, or the whole log."""

FULL = 16
"""An age is no longer than so many redo logs: writers wait where it is one, and a log may have shrunk."""

PERCENTAGES = frozenset({"adaptive_flushing_lwm", "dirty_limit"})

PAGE_SIZES = frozenset({4096, 8192, 16384, 32768, 65536})

DIGITS = 25
"""A number with more is not shown."""

_WHOLE = re.compile(r"([0-9]{1,20})(\.[0-9]{1,30})?")
"""A number as servers write sums and counts; what has an exponent can be longer than any memory."""

_DECIMAL = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,2})?")
"""A number as servers write times, shares and differences."""


def text(value: object) -> str:
    """Return what the driver gave, which is str, bytes or a number, as text."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def whole(value: object) -> int:
    """Return a number that the driver gave as a whole one, its fraction cut off.

    Raises:
        ValueError: it is none that a server says.
    """
    found = _WHOLE.fullmatch(words := text(value))
    if found is None:
        raise ValueError(f"{words[:DIGITS]!r} is no whole number of at most 20 digits")
    return int(found[1])


def decimal(value: object) -> float:
    """Return a number that the driver gave, of which Python alone would take more: nan, inf, 1_0, ४२.

    Raises:
        ValueError: it is none that a server says.
    """
    if _DECIMAL.fullmatch(words := text(value)) is None:
        raise ValueError(f"{words[:DIGITS]!r} is no number in plain digits")
    return float(words)


def plain(answers: Mapping[str, str]) -> Mapping[str, str]:
    """Return answers by name whose numbers, where they are any to Python, are written as servers write them.

    Raises:
        ValueError: one has underscores, blanks, a plus, digits of another script, or is none, as nan and inf.
    """
    for name, words in answers.items():
        if _DECIMAL.fullmatch(words) is None and _is_number_to_python(words):
            raise ValueError(f"{name[:64]} is {words[:DIGITS]!r}; right is a number in plain digits")
    return answers


def short(answers: Mapping[str, str]) -> Mapping[str, str]:
    """Return answers by name none of which is too long to be shown.

    Raises:
        ValueError: one is.
    """
    for name, words in answers.items():
        _check_length(name[:64], max(words, name, key=len))
    return answers


def plausible(record: T) -> T:
    """Return a sample, a pair, facts or bounds whose values can be so, alone and together.

    Raises:
        ValueError: they cannot; the message names the field, its value and what would be right.
    """
    for name in _names(type(record)):
        value = getattr(record, name)
        if type(value) in {int, float}:
            lowest, most = LOWEST.get(name, 0), 100.0 if name in PERCENTAGES else MOST
            if not lowest <= value <= most:  # not true of what is no number either
                raise ValueError(f"{name} is {_shown(value)}; right is {lowest} to {most:g}")
        for words in value if isinstance(value, tuple) else (value,):
            if isinstance(words, str):
                _check_length(name, words)
    if isinstance(record, Sample):
        _check_sample(record)
    elif isinstance(record, Capacity) and record.io_capacity > record.io_capacity_max:
        raise ValueError(
            f"io_capacity is {record.io_capacity} and io_capacity_max {record.io_capacity_max}; "
            "the first is never above the second"
        )
    elif isinstance(record, Facts) and record.page_size not in PAGE_SIZES:
        raise ValueError(f"page_size is {record.page_size}; right is one of {sorted(PAGE_SIZES)}")
    return record


def _check_sample(sample: Sample) -> None:
    plausible(sample.capacity)
    apart = max(APART, sample.redo_capacity)
    for name in ("lsn_checkpoint", "lsn_oldest"):
        value, ahead = getattr(sample, name), getattr(sample, name) - sample.lsn_current
        if ahead > apart:
            raise ValueError(f"{name} is {value}; right is at most lsn_current, {sample.lsn_current}")
        if -ahead > FULL * apart and not sample.resizing:
            right = f"no more than {FULL} redo logs of {sample.redo_capacity} behind {sample.lsn_current}"
            raise ValueError(f"{name} is {value}; right is {right}")
    dirty, total = sample.pages_dirty, sample.pages_total
    if dirty > total + total // 4 + 1000:
        raise ValueError(f"pages_dirty is {dirty}; right is at most pages_total, {total}")


def _is_number_to_python(words: str) -> bool:
    try:
        float(words)
    except ValueError:
        return False
    return True


@functools.cache
def _names(record: type[Struct]) -> tuple[str, ...]:
    return tuple(one.name for one in fields(record))


def _check_length(name: str, words: str) -> None:
    if len(words) > LONGEST:
        raise ValueError(f"{name} has {len(words)} characters; right are {LONGEST} at most")


def _shown(value: float) -> str:
    """Return a number for people, short."""
    digits = f"{value}"
    return digits if len(digits) <= DIGITS else f"a number of {len(digits)} digits"
