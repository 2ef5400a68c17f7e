"""Bytes of a record: small, exact, and refused when they are somebody else's."""

from __future__ import annotations

import time
import timeit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from tests.factory import FACTS
from tests.journal.written import record
from tuner.journal.codec import LATER, RECORDS, CodecError, decode, encode
from tuner.records import DrainProgress, Facts, Missed, TickRecord
from tuner.settings import Settings


@given(st.binary(max_size=200))
def test_rubbish_is_refused(blob: bytes) -> None:
    """Damaged bytes raise CodecError and nothing else."""
    with pytest.raises(CodecError):
        decode(b"\x9f" + blob)


def test_a_tick_is_small_and_quick() -> None:
    """A one-second trace costs at most 950 bytes and far less than 100 microseconds of a processor a tick."""
    one = record(86_400)
    took = timeit.repeat(lambda: encode(one), number=200, repeat=5, timer=time.thread_time)

    assert len(encode(one)) <= 950
    assert decode(encode(one)) == one
    assert min(took) / 200 < 100e-6


@pytest.mark.parametrize("at", range(0, 300, 7))
def test_a_cut_or_changed_record_is_refused(at: int) -> None:
    """A byte that is another one, or missing, is seen, and never makes another record."""
    blob = encode(record(7))
    for wrong in (blob[:at], blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :], blob + b"x"):
        with pytest.raises(CodecError):
            decode(wrong)


def test_earlier_ticks_are_refused_by_intent_alone() -> None:
    """The order of a record's fields counts as well: who changes this number tells it in the CHANGELOG."""
    assert RECORDS == "06657d2c348d82d6"


def test_a_field_with_a_default_refuses_no_earlier_tick() -> None:
    """What came since is written and read back, and a tick without it has the default."""
    one = record(1)
    later = replace(one, tick=replace(one.tick, facts=replace(FACTS, own_limits=("async is 2 and not 3",))))

    assert decode(encode(later)) == later
    with_default = [
        one
        for kind in (Facts, Settings, TickRecord, DrainProgress)
        for one in fields(kind)
        if one.default in {(), None, False}
    ]
    assert {one.name for one in with_default} >= LATER


def test_a_missed_reading_stays_one() -> None:
    """The two kinds of reading are told apart."""
    one = record(1)
    missed = replace(one, tick=replace(one.tick, reading=Missed(one.tick.now, one.tick.wall, "timed out")))

    assert decode(encode(missed)) == missed
