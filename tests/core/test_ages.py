"""Ages as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.core.ages import at_least, bytes_of, said

GIBIBYTE = 2**30


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("67108864", 2**26),
        ("64MiB", 2**26),
        ("64M", 2**26),
        ("64m", 2**26),
        ("0.5G", 2**29),
        ("512KiB", 2**19),
        ("10%", GIBIBYTE // 10),
        ("100%", GIBIBYTE),
    ],
)
def test_bytes_and_shares_are_read(text: str, expected: int) -> None:
    """Bytes are read with the units that MySQL takes, and a share is one of the redo capacity."""
    assert bytes_of(text, redo_capacity=GIBIBYTE) == expected


@pytest.mark.parametrize("text", ["", "a lot", "64MB", "-5M", "1e9", "10 %", "nan", "64MiB\n"])
def test_what_is_no_age_is_refused_with_how_to_write_one(text: str) -> None:
    """Rubbish is quoted back with what would be right."""
    with pytest.raises(ValueError, match="bytes, such as 64MiB or 2G, or a share of the redo capacity"):
        bytes_of(text, redo_capacity=GIBIBYTE)


@pytest.mark.parametrize("text", ["0", "0%", "2G", "101%"])
def test_an_age_is_above_0_and_fits_into_the_redo_log(text: str) -> None:
    """An age that the redo log cannot have is refused with its capacity."""
    with pytest.raises(ValueError, match=r"must be above 0 and at most the redo capacity, 1\.0 GiB"):
        bytes_of(text, redo_capacity=GIBIBYTE)


@given(count=st.floats(1e6, 1e12))
def test_the_lowest_possible_can_be_typed_back(count: float) -> None:
    """What a refusal calls the lowest age that works is read as no less than that."""
    assert count <= bytes_of(at_least(count), redo_capacity=2**50) <= count + 2**17


def test_ages_are_said_in_the_largest_unit_that_fits() -> None:
    """People read 1.5 GiB and 64.0 MiB."""
    assert [said(1.5 * 2**30), said(2**26), said(700)] == ["1.5 GiB", "64.0 MiB", "700 B"]
