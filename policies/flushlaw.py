"""The server's own adaptive flush law, forwards for one percentage and backwards for M.

Source: ``Adaptive_flush::get_pct_for_lsn`` and ``page_recommendation`` in MySQL 9.7, ``af_get_pct_for_lsn``
and ``page_cleaner_flush_pages_recommendation`` in MySQL 5.7.37, Percona Server and MariaDB 10.5.23,
10.11.18 and 11.8.6, ``page_cleaner_flush_pages_if_needed`` in MySQL 5.6.41 (all
storage/innobase/buf/buf0flu.cc)::

    pct = floor(k * X**exponent / divisor),  X = 100 * age / A,  k = M // C
    n = (C * pct / 100 + F' + min(p, need_cap * M)) / terms,  and no more than M

F' is the mean rate of the flushing so far and p the pages that the mean redo rate needs. At rest both are the
demand P, and so is n: then ``PCT = (terms - 1) * P - min(P, need_cap * M)``, without the last part where the
mean is of two terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

EARLY = 0.62
"""M that the law alone would need, over the M with which the age rests where batches end early.

MySQL 5.6.24 under an even load: 0.61 with M = 2000 at an age ratio of 0.45, 0.62 with M = 500 at 0.97
(docs/results/bench/old-mysql).
"""

TERMS_WITH_NEED = 3  # A mean of so many terms has p among them


@dataclass(frozen=True, slots=True)
class FlushLaw:
    """One server family's power law."""

    name: str  # ``legacy`` upstream; other families bring their own
    exponent: float  # power of the age ratio
    divisor: float  # what the power of the age percentage is divided by
    whole: bool = False  # the age percentage is cut to a whole number first
    terms: int = TERMS_WITH_NEED  # what n is the mean of: PCT, F' and, where there are three, p
    need_cap: float = 2.0  # p counts up to so many times M; 0 where p is no term
    # p over the pages flushed at rest: 1, and less where pages beside each other are flushed together,
    # because p counts only those that are old enough
    need_share: float = 1.0
    alone: bool = False  # from the flush limit on n is PCT alone
    m_moves_age: bool = True  # False where the age rests at the flush limit whatever M
    remedy: str = ""  # what would let M move the age, for people; empty where it does
    # a batch goes no further than the pages of the next second's redo, whatever is asked for
    stops_early: bool = False
    beyond: str = ""  # why M may bring no age back from the flush limit on, for people; empty where it does
    # the server counts pages as dirty for a time after they were written as neighbours
    lists_written: bool = False
    # when M moves no age on a server where it does, for people; empty where there is no such time
    sleeps: str = ""
    highest: float = 1.0  # age ratio that a set-point stays at or below; a person's may be higher

    @property
    def in_words(self) -> str:
        """Return how M and the age decide what is flushed, for people."""
        if not self.m_moves_age:
            return "no innodb_io_capacity_max moves the age below the flush limit"
        awake = ", while the page cleaner is awake" if self.sleeps else ""
        return f"flushes by the age to the power of {self.exponent:g}{awake}"

    def percentage(self, *, age: float, flush_limit: float, io_capacity: int, io_capacity_max: int) -> int:
        """Return the LSN part of the flush percentage, in percent of C, as the server computes it.

        The age must be above the server's low-water mark; below it the server says 0.
        """
        gain = io_capacity_max // io_capacity
        percent = 100.0 * age / flush_limit
        if self.whole:
            percent = math.floor(percent)
        return math.floor(gain * math.pow(percent, self.exponent) / self.divisor)

    @property
    def full_rate_ratio(self) -> float:
        """Return the age ratio above which the law asks for more than M, so that F = M."""
        return math.pow(self._inverse_gain * self._asked_at_cap, 1.0 / self.exponent)

    @property
    def _inverse_gain(self) -> float:
        """Return K/PCT at an age ratio of 1: PCT = K * 100**exponent * x**exponent / (100 * divisor)."""
        return 100.0 * self.divisor / math.pow(100.0, self.exponent)

    def gain_over_demand(self, ratio: float) -> float:
        """Return M/P that holds the age ratio in the steady state, never below 1: the law's inverse.

        Steady state: the averages equal F and F = P, so PCT = P and K* = P * c / x**exponent where all of p
        counts, and PCT = 2 * P - need_cap * M where it is capped; above ``full_rate_ratio`` the cap decides
        and M = P. Where p is only ``need_share`` of P, PCT = (2 - need_share) * P. Where M moves no age any M
        from P on gives the same age: 1.
        """
        if not self.m_moves_age:
            return 1.0
        by_law = self._inverse_gain / math.pow(ratio, self.exponent)
        whole = by_law * self._asked_by_all
        if self._need_is_capped(whole):
            whole = 2.0 / (1.0 / by_law + self.need_cap)
        return max(1.0, whole)

    def resting_gain(self, ratio: float) -> float:
        """Return M/P with which the age rests at a ratio: more than by the law where batches end early."""
        return self.gain_over_demand(ratio) / (EARLY if self.stops_early else 1.0)

    def stiffness(self, ratio: float) -> float:
        """Return the relative change of M that moves the resting age ratio by a relative change of 1.

        That is minus d ln(M/P) / d ln x: the exponent where all of p counts, and 0 where M is the cap.
        """
        if not self.m_moves_age or ratio >= self.full_rate_ratio:
            return 0.0
        by_law = self._inverse_gain / math.pow(ratio, self.exponent)
        if self._need_is_capped(by_law * self._asked_by_all):
            return self.exponent / (1.0 + self.need_cap * by_law)
        return self.exponent

    def resting_stiffness(self, ratio: float) -> float:
        """Return the ``stiffness`` of the place where the age rests.

        Where batches end early M is not flushed whole where it is the cap, so the age answers there as
        well, as it does to the law elsewhere. The age ratio of MySQL 5.6.24 went from 0.85 to 1.03 with M
        from 624 to 442, write combining included; that is 1.8 (docs/results/bench/old-mysql).
        """
        return self.exponent if self.stops_early else self.stiffness(ratio)

    def asking(self, ratio: float, pages: float) -> float:
        """Return the M, pages/s, with which the LSN part alone asks for so many pages a second."""
        return pages * self._inverse_gain / math.pow(ratio, self.exponent)

    @property
    def _asked_by_all(self) -> float:
        """PCT over P that holds the age where nothing of p is cut off."""
        return 2.0 - self.need_share if self.terms >= TERMS_WITH_NEED else 1.0

    @property
    def _asked_at_cap(self) -> float:
        """PCT over P that holds the age where M is as much as P."""
        return 2.0 - min(self.need_share, self.need_cap) if self.terms >= TERMS_WITH_NEED else 1.0

    def _need_is_capped(self, gain: float) -> bool:
        """Tell whether p is cut off with the M, over P, that holds the age where it is not."""
        return self.terms >= TERMS_WITH_NEED and self.need_cap * gain < self.need_share


LEGACY = FlushLaw(name="legacy", exponent=1.5, divisor=7.5, highest=math.inf)
"""MySQL 8.0.30 and later, and Percona Server with ``innodb_cleaner_lsn_age_factor = legacy``."""

LEGACY_WHOLE = FlushLaw(name="legacy-whole", exponent=1.5, divisor=7.5, whole=True, highest=math.inf)
"""MySQL 5.7 and 8.0 before 8.0.30, and Percona Server 8.0 before 8.0.30 with ``legacy``."""

LEGACY_57 = FlushLaw(name="legacy-57", exponent=1.5, divisor=7.5, whole=True, alone=True)
"""Percona Server 5.7 with ``legacy``: at the flush limit the averages no longer count."""

LEGACY_56 = FlushLaw(
    name="legacy-56", exponent=1.5, divisor=7.5, whole=True, terms=2, need_cap=0.0, stops_early=True
)
"""MySQL 5.6: n is the mean of PCT and F'.

A batch ends at ``oldest + lsn_avg_rate * (1 + n / F)``, with n and F of the loop before in whole numbers:
beyond one second's redo at the mean rate only in the loop after one that fell short.
"""

HIGH_CHECKPOINT = FlushLaw(name="high_checkpoint", exponent=2.5, divisor=700.5)
"""Percona Server 8.0 and later with ``innodb_cleaner_lsn_age_factor = high_checkpoint``, its default."""

HIGH_CHECKPOINT_WHOLE = FlushLaw(name="high_checkpoint-whole", exponent=2.5, divisor=700.5, whole=True)
"""The same before 8.0.30."""

HIGH_CHECKPOINT_57 = FlushLaw(name="high_checkpoint-57", exponent=2.5, divisor=700.5, whole=True, alone=True)
"""Percona Server 5.7 with the same, and likewise alone at the flush limit."""

MARIADB = FlushLaw(
    name="mariadb",
    exponent=1.5,
    divisor=7.5,
    whole=True,
    need_cap=1.0 / 3.0,
    beyond="above the flush limit the server flushes at most innodb_io_capacity_max pages/s and "
    "reacts late, so "
    "writers may wait before the age is back",
    lists_written=True,
)
"""MariaDB 10.5.24, 10.6.17, 10.11.7, 11.x of February 2024 and later, with ``innodb_max_dirty_pages_pct_lwm``
above 0.

The scan for p ends at M pages, before it is divided by 3 (``af_needed_for_redo``). With fewer dirty pages
than that variable says they flush for all of C whatever the age.

While the checkpoint age is beyond the flush limit, ``buf_flush_page_cleaner`` flushes up to M of the pages
that lie beyond it and does not come to this law, until a loop finds none.

A page that is written stays in the flush list, and in ``Innodb_buffer_pool_pages_dirty``, which is the list's
length, until it is changed again or the end of the list comes to it (``buf_page_t::write_complete``,
``buf_pool_t::get_oldest_modification``): soon where it was written in its turn, late as a neighbour.
"""

MARIADB_WAKES = replace(
    MARIADB,
    name="mariadb-wakes",
    sleeps="the page cleaner sleeps below the low-water mark of the age and wakes at the flush limit: "
    "in between no innodb_io_capacity_max moves the age",
    highest=0.8,
)
"""MariaDB 10.5.10 to 10.5.23, 10.6 before .13, 10.7, 10.8 before .8, 10.9 before .6, 10.10 before .4 and
10.11 before .3, with ``innodb_max_dirty_pages_pct_lwm`` = 0, their default.

Awake, ``buf_flush_page_cleaner`` goes on while ``af_needed_for_redo`` says that the age is above the
low-water mark, and ``page_cleaner_flush_pages_recommendation`` there goes by the percentage of the age with
any ``innodb_max_dirty_pages_pct_lwm`` (10.5.23; MDEV-26827 took that from its 0). Below the mark it waits
without a time limit, until a commit finds the age beyond the flush limit (``log_close``) and asks for all
that is dirty: an age that only touches it is at the low-water mark soon after.
"""

SOFT_LIMIT = replace(
    MARIADB,
    name="soft-limit",
    m_moves_age=False,
    beyond="",
    remedy="innodb_max_dirty_pages_pct_lwm = 0.001 lets it move the age",
)
"""MariaDB 10.5.9, 10.5.24, 10.6.17, 10.11.7, 11.x of February 2024 and later, with
``innodb_max_dirty_pages_pct_lwm`` = 0, its default.

The page cleaner sleeps until the checkpoint age is at the flush limit (``log_close``, ``buf_flush_ahead``),
and flushes up to M pages a second from there. Once awake it goes on at the mean of C, F' and p, whatever
the age, until that is below the low-water mark: with C at or above ``2 * P - min(P, M / 3)`` the age swings
between the two.
"""

AGE_BLIND = replace(
    SOFT_LIMIT,
    name="age-blind",
    remedy="MariaDB 10.5.24, 10.6.17, 10.11.7, 11.4.1 and later with innodb_max_dirty_pages_pct_lwm = 0.001 "
    "let it move the age",
)
"""MariaDB with MDEV-31939: 10.6.13 to 10.6.16, 10.11.3 to 10.11.6, 11.x before February 2024, and the last of
10.8 to 10.10.

There n = (C + F' + min(p, M / 3)) / 3 at any age. C alone would move the age, as an integrator that rests
nowhere: ``C = 2 * P - min(P, M / 3)`` holds an age, anything above drives it down and anything below drives
it to the flush limit. The loop sets M and makes C a fixed share of it, so that a C of its own cannot be
asked for; with that share the law is treated as one on which M moves no age.
"""
