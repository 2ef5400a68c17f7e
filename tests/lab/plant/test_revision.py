"""A result's hash stands for the code too: what the same parameters give changes with ``REVISION`` only."""

from __future__ import annotations

import pytest

from lab.plant.flavour import FLAVOURS, FlavourName
from lab.plant.parameters import REVISION
from tests.lab.plant.support import readings

SECONDS = 400
CLOSE = 1e-3
"""Relative: mathematical functions differ in their last digits from machine to machine."""

KNOWN: dict[int, dict[str, tuple[tuple[int, ...], ...]]] = {
    6: {
        "mariadb-10.5": (
            (1107130, 49423980, 190234),
            (1217580, 73538135, 166184),
            (1236693, 84088272, 162143),
        ),
        "mariadb-11.8": (
            (1132634, 14454712, 183560),
            (1191834, 75335044, 171901),
            (1228464, 79653460, 164395),
        ),
        "mysql-5.6": ((1020316, 59144336, 208254), (1155171, 78024542, 178833), (1157913, 78898869, 178273)),
        "mysql-5.7": ((1042873, 58375345, 203424), (1159791, 78959579, 178018), (1159791, 78959580, 177641)),
        "mysql-8.0.28": ((491963, 29358530, 130149), (644784, 49533173, 116786), (806276, 76836859, 102712)),
        "mysql-9.7": ((1018455, 41829748, 209408), (1229462, 77663419, 163395), (1251126, 78909129, 158895)),
        "percona-5.7": (
            (1059180, 61376659, 199823),
            (1159791, 78959580, 177960),
            (1159791, 78959580, 177638),
        ),
        "percona-8.4": (
            (1076792, 49937763, 196757),
            (1230514, 77409197, 163453),
            (1251943, 80485941, 158728),
        ),
    }
}
"""By revision and flavour: commits, modified age and pages flushed at the end, of each of ``CAPACITIES``."""

CAPACITIES = ((500, 1000), (200, 400), (100, 100))


def outcome(flavour: FlavourName) -> tuple[tuple[int, ...], ...]:
    """Return what a server of one kind comes to with each pair of C and M."""
    found = []
    for least, most in CAPACITIES:
        samples = readings(SECONDS, flavour=flavour, io_capacity=least, io_capacity_max=most)
        last = samples[-1]
        pages = last.pages_adaptive + last.pages_sync + last.pages_background
        found.append((last.commits, last.modified_age, pages))
    return tuple(found)


@pytest.mark.parametrize("flavour", sorted(FLAVOURS))
def test_the_same_hash_means_the_same_run(flavour: FlavourName) -> None:
    """Whoever has a result with its hash gets the same again; a model that changed has another hash."""
    found = outcome(flavour)
    known = KNOWN.get(REVISION, {}).get(flavour)
    assert known is not None, f"a new REVISION: keep {flavour!r}: {found} in KNOWN in place of the old ones"
    for one, other in zip(found, known, strict=True):
        assert one == pytest.approx(other, rel=CLOSE), f"raise REVISION, and keep {flavour!r}: {found}"
