"""Whether what a server said can be so: all of a sample, and of the facts, before anything uses it."""

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
    {
        "io_capacity": 1,
        "io_capacity_max": 1,
        "redo_capacity": 1,
        "flush_limit": 1,
        "sync_point": 1,
        "stall_point": 1,
        "pages_total": 1,
        "page_size": 1,
        "capacity_maximum": 1,
    }
)
"""What a server never says 0 of; everything else is 0 at least."""

APART = 64 * 1024**2
"""LSNs of one reading may come from different moments, so many bytes apart, or the whole log."""

FULL = 16
"""An age is no longer than so many redo logs: writers wait where it is one, and a log may have shrunk."""

HIGHEST_PERCENTAGE = 100_000
"""The flush law's percentage at an age of such a log is below a tenth of it."""

DIGITS = 25
"""A number with more is not shown."""

_PLAIN = re.compile(r"-?[0-9.]+(e[-+]?[0-9]{1,2})?")
"""A number as servers write it; with an exponent where it is a very small share."""

PERCENTAGES = frozenset({"adaptive_flushing_lwm", "dirty_limit"})

PAGE_SIZES = frozenset({4096, 8192, 16384, 32768, 65536})


def sound(sample: Sample) -> Sample:
    """Return a sample that can be so.

    Raises:
        ValueError: it cannot; the message names the field, its value and what would be right.
    """
    _check(sample)
    sound_pair(sample.capacity)
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
    if sample.flush_percentage > HIGHEST_PERCENTAGE:
        raise ValueError(f"flush_percentage is {sample.flush_percentage}; right is 0 to {HIGHEST_PERCENTAGE}")
    return sample


def sound_pair(pair: Capacity) -> Capacity:
    """Return a pair that can be so; raises as ``sound``."""
    _check(pair)
    if pair.io_capacity > pair.io_capacity_max:
        raise ValueError(
            f"io_capacity is {pair.io_capacity} and io_capacity_max {pair.io_capacity_max}; "
            "the first is never above the second"
        )
    return pair


def sound_facts(facts: Facts) -> Facts:
    """Return facts that can be so; raises as ``sound``."""
    _check(facts)
    if facts.page_size not in PAGE_SIZES:
        raise ValueError(f"page_size is {facts.page_size}; right is one of {sorted(PAGE_SIZES)}")
    return facts


def sound_numbers(record: T) -> T:
    """Return a record all of whose numbers can be so; raises as ``sound``."""
    _check(record)
    return record


def sound_words(answers: Mapping[str, str]) -> Mapping[str, str]:
    """Return answers by name none of which is too long to be shown; raises as ``sound``."""
    for name, words in answers.items():
        if len(words) > LONGEST or len(name) > LONGEST:
            raise ValueError(f"{name[:64]} has {len(words)} characters; right are {LONGEST} at most")
    return answers


def plain(answers: Mapping[str, str]) -> Mapping[str, str]:
    """Return answers whose numbers are written as servers write them; Python reads others as well.

    Raises:
        ValueError: one has underscores, blanks, a plus, digits of another script, or is none, as nan and inf.
    """
    for name, words in answers.items():
        if not _PLAIN.fullmatch(words) and _is_number_to_python(words):
            raise ValueError(f"{name[:64]} is {words[:DIGITS]!r}; right is a number in plain digits")
    return answers


def _is_number_to_python(words: str) -> bool:
    try:
        float(words)
    except ValueError:
        return False
    return True


@functools.cache
def _names(record: type[Struct]) -> tuple[str, ...]:
    return tuple(one.name for one in fields(record))


def _check(record: Struct) -> None:
    for name in _names(type(record)):
        value = getattr(record, name)
        if type(value) is int:
            _check_number(name, value, MOST)
        elif type(value) is float:
            _check_number(name, value, 100.0 if name in PERCENTAGES else MOST)
        for words in value if isinstance(value, tuple) else (value,):
            if isinstance(words, str) and len(words) > LONGEST:
                raise ValueError(f"{name} has {len(words)} characters; right are {LONGEST} at most")


def _check_number(name: str, value: float, most: float) -> None:
    lowest = LOWEST.get(name, 0)
    if not lowest <= value <= most:  # not true of what is no number either
        raise ValueError(f"{name} is {_said(value)}; right is {lowest} to {most:g}")


def _said(value: float) -> str:
    """Return a number for people, short."""
    digits = f"{value}"
    return digits if len(digits) <= DIGITS else f"a number of {len(digits)} digits"
