"""Bytes of a record: small, exact, and refused when they are somebody else's."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from tuner.journal.codec import CodecError, decode, encode, fingerprint
from tuner.records import Missed, TickRecord


class Colour(StrEnum):
    """An enum."""

    RED = "red"
    BLUE = "blue"


class Leaf(Struct, frozen=True):
    """Plain values."""

    number: int
    share: float | None
    colour: Colour = Colour.RED


class Bud(Struct, frozen=True):
    """Another kind of leaf, with the same look."""

    number: int
    share: float | None


class Tree(Struct, frozen=True):
    """Everything that a record may nest."""

    either: Leaf | Bud
    maybe: Leaf | None
    leaves: tuple[Leaf, ...]
    steps: tuple[tuple[str, int], ...]
    pair: tuple[Leaf, int]
    terms: dict[str, float]
    named: dict[str, Leaf]
    several: list[Bud | None]
    mixed: str | int | None = None


_numbers = st.integers(-(2**63), 2**64 - 1)
_shares = st.none() | st.floats(allow_nan=False)
_leaves = st.builds(Leaf, _numbers, _shares, st.sampled_from(Colour))
_buds = st.builds(Bud, _numbers, _shares)
_trees = st.builds(
    Tree,
    either=_leaves | _buds,
    maybe=st.none() | _leaves,
    leaves=st.lists(_leaves).map(tuple),
    steps=st.lists(st.tuples(st.text(), _numbers)).map(tuple),
    pair=st.tuples(_leaves, _numbers),
    terms=st.dictionaries(st.text(), st.floats(allow_nan=False)),
    named=st.dictionaries(st.text(), _leaves),
    several=st.lists(st.none() | _buds),
    mixed=st.none() | st.text() | _numbers,
)


@given(_trees)
def test_any_tree_comes_back_equal(tree: Tree) -> None:
    """What was encoded is what is decoded, to the last bit and type."""
    found = decode(encode(tree), Tree)

    assert found == tree
    assert type(found.either) is type(tree.either)
    assert isinstance(found.leaves, tuple)
    assert all(isinstance(step, tuple) for step in found.steps)


@given(st.binary(max_size=200))
def test_rubbish_is_refused(blob: bytes) -> None:
    """Damaged bytes raise CodecError and nothing else."""
    with pytest.raises(CodecError):
        decode(b"\x9f" + blob, Tree)


def test_a_tick_is_small_and_quick(record: Callable[..., TickRecord]) -> None:
    """A one-second trace costs at most 720 bytes and far less than 100 microseconds a tick."""
    one = record(86_400)

    assert len(encode(one)) <= 720
    assert decode(encode(one), TickRecord) == one
    assert min(timeit.repeat(lambda: encode(one), number=200, repeat=5)) / 200 < 100e-6


def test_a_missed_reading_stays_one(record: Callable[..., TickRecord]) -> None:
    """The two kinds of reading are told apart."""
    tick = record(1).tick
    missed = type(tick)(tick.number, tick.now, tick.wall, Missed(tick.now, tick.wall, "timed out"))

    assert isinstance(decode(encode(missed), type(tick)).reading, Missed)


def test_the_fingerprint_sees_every_change() -> None:
    """Another name, order or type anywhere below is another format."""

    def shaped(**fields: type) -> str:
        inner = type("Inner", (Struct,), {"__annotations__": fields, "__module__": __name__})
        return fingerprint(inner)

    prints = {
        shaped(a=int, b=str),
        shaped(b=str, a=int),
        shaped(a=int, b=int),
        shaped(a=int),
        shaped(a=int, c=str),
    }

    assert len(prints) == 5
    assert shaped(a=int) == shaped(a=int)
    assert fingerprint(Tree) != fingerprint(Leaf)


def test_what_cannot_be_kept_is_refused_early() -> None:
    """A field that bytes cannot hold is an error of the programmer, named."""

    class Odd(Struct):
        thing: object

    with pytest.raises(TypeError, match="the journal cannot hold"):
        encode(Odd(object()))
