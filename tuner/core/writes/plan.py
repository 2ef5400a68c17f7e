"""The SETs between two pairs of C and M, in an order that is legal and safe at every point.

The server clamps C to M and M to C without an error, and its flush law uses the integer
ratio: the effective gain is ``K = C * (M // C)``. Whoever stops between two statements must
leave C <= M and a gain between the old and the new one.
"""

from __future__ import annotations

from tuner.records import CAPACITY_MINIMUM, Capacity

CAPACITY = "innodb_io_capacity"
CAPACITY_MAX = "innodb_io_capacity_max"
LONGEST = 4

MOST_RATIO = 20
"""Largest k that is chosen: an idle server flushes C pages a second, and is to be done in reasonable time."""

Steps = tuple[tuple[str, int], ...]

PAIR = "innodb_io_capacity/innodb_io_capacity_max"  # How C and M are named where both are told


def rounded(io_capacity_max: float, *, ratio: int, lowest: int, highest: int) -> Capacity:
    """Return the pair with M = ratio * C nearest to the wanted M and inside the limits."""
    smallest = -(-lowest // ratio)
    largest = highest // ratio
    capacity = min(largest, max(smallest, round(io_capacity_max / ratio)))
    return Capacity(io_capacity=capacity, io_capacity_max=ratio * capacity)


def near(io_capacity_max: float, *, home: int, ratio: int | None, lowest: int, highest: int) -> Capacity:
    """Return the pair with M near the wanted one, a whole multiple of C, and C near where it was.

    C is what an idle server flushes a second, and what change-buffer merges go by; the flush law only sees M
    where k is whole. So the multiple is the one that keeps C nearest to ``home``, at most ``MOST_RATIO``.

    Args:
        ratio: k where the operator wants it fixed; None otherwise.
    """
    if ratio is None:
        wanted = min(float(highest), max(float(lowest), io_capacity_max))
        ratio = max(1, min(MOST_RATIO, round(wanted / home), int(wanted) // CAPACITY_MINIMUM))
        if highest // ratio * ratio < lowest:
            ratio = 1
    return rounded(io_capacity_max, ratio=ratio, lowest=lowest, highest=highest)


def plan(old: Capacity, new: Capacity) -> Steps:
    """Return the fewest SETs that lead from one pair to the other; empty when they are the same.

    Two are enough where both pairs have whole ratios; an odd pair may need one more.

    Raises:
        ValueError: no such order exists (never for a legal new pair with a whole ratio).
    """
    low, high = sorted((old.gain, new.gain))
    frontier: list[tuple[Capacity, Steps]] = [(old, ())]
    seen = {old}
    for _ in range(LONGEST + 1):
        following: list[tuple[Capacity, Steps]] = []
        for pair, steps in frontier:
            if pair == new:
                return steps
            for candidate, step in _moves(pair, old, new):
                if candidate not in seen and _legal(candidate, new, low, high):
                    seen.add(candidate)
                    following.append((candidate, (*steps, step)))
        frontier = following
    raise ValueError(f"no safe order of SETs from {old} to {new}")


def on_the_way(old: Capacity, new: Capacity) -> tuple[Capacity, ...]:
    """Return the pairs in force after each SET of ``plan``, the last one the new pair itself.

    Whoever dies while writing has left one of them, or the old pair.
    """
    try:
        steps = plan(old, new)
    except ValueError:
        return (new,)
    pair, passed = old, []
    for name, value in steps:
        known = (value, pair.io_capacity_max) if name == CAPACITY else (pair.io_capacity, value)
        pair = Capacity(*known)
        passed.append(pair)
    return tuple(passed) or (new,)


def _moves(pair: Capacity, old: Capacity, new: Capacity) -> list[tuple[Capacity, tuple[str, int]]]:
    """Return what one SET can reach: the ends' own values, and M rounded down to a whole ratio."""
    maxima = {new.io_capacity_max, old.io_capacity_max, old.gain, new.gain, pair.gain}
    capacities = {new.io_capacity, old.io_capacity}
    moves = [(Capacity(c, pair.io_capacity_max), (CAPACITY, c)) for c in sorted(capacities)]
    moves += [(Capacity(pair.io_capacity, m), (CAPACITY_MAX, m)) for m in sorted(maxima)]
    return [move for move in moves if move[0] != pair]


def _legal(pair: Capacity, new: Capacity, low: int, high: int) -> bool:
    if pair.io_capacity > pair.io_capacity_max:
        return False
    return pair == new or low <= pair.gain <= high
