"""A flush list page by page, as MySQL 5 and MariaDB 11.8 keep it: what the plant's areas are the mean of.

Source: storage/innobase/buf/buf0flu.cc of MariaDB, ``buf_do_flush_list_batch``,
``buf_flush_check_neighbors``; ``buf_pool_t::insert_into_flush_list``, ``buf_page_t::write_complete``.
Of MySQL 5.6, ``buf_flush_try_neighbors``, ``buf_flush_write_complete``.
"""

from __future__ import annotations

import random

AREA = 64


class PageList:
    """Pages in the order in which they were changed first since they were written last."""

    def __init__(self, pages: int, *, counts_written: bool, seed: int = 1) -> None:
        """Start with every page clean and out of the list; say whether one stays in it that is written."""
        self._pages = pages
        self._counts_written = counts_written
        self._random = random.Random(seed)  # noqa: S311 - a reproducible load, not a secret
        self._list: dict[int, int] = {}  # page to the change that put it there, oldest first
        self._dirty: set[int] = set()
        self._changes = 0
        self.beside = 0

    def change(self, number: int) -> None:
        """Change so many pages, each any."""
        for _ in range(number):
            self._changes += 1
            page = self._random.randrange(self._pages)
            if page not in self._dirty:
                self._list.pop(page, None)  # a written one has its place no longer
                self._list[page] = self._changes
                self._dirty.add(page)

    def flush(self, number: int) -> None:
        """Write so many pages from the end of the list on, each with the dirty ones on either side."""
        written = 0
        while self._dirty and written < number:
            page = next(iter(self._list))
            if page not in self._dirty:
                del self._list[page]
                continue
            run = [one for one in self._around(page) if one != page]
            self._dirty.discard(page)
            beside = run[: number - written - 1]
            self._dirty.difference_update(beside)
            if not self._counts_written:
                for one in (page, *beside):
                    del self._list[one]
            self.beside += len(beside)
            written += 1 + len(beside)
        self._clear()

    def _around(self, page: int) -> range:
        low = high = page
        first, last = page // AREA * AREA, min(self._pages, page // AREA * AREA + AREA)
        while low > first and low - 1 in self._dirty:
            low -= 1
        while high + 1 < last and high + 1 in self._dirty:
            high += 1
        return range(low, high + 1)

    def _clear(self) -> None:
        while self._list and next(iter(self._list)) not in self._dirty:
            del self._list[next(iter(self._list))]

    @property
    def listed(self) -> int:
        """Return the pages in the list, in MariaDB those that are written already among them."""
        return len(self._list)

    @property
    def dirty(self) -> int:
        """Return the pages that are not written yet."""
        return len(self._dirty)

    @property
    def age(self) -> int:
        """Return the changes since the one that the oldest dirty page is in the list for."""
        self._clear()
        return self._changes - next(iter(self._list.values())) if self._list else 0

    def ahead(self, changes: int) -> int:
        """Return the pages of the list that lie so many changes ahead of the oldest dirty one, or less."""
        self._clear()
        if not self._list:
            return 0
        end = next(iter(self._list.values())) + changes
        return sum(placed <= end for placed in self._list.values())
