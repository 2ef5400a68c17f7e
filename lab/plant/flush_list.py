"""Which flush list a server with a load has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lab.plant.instances import Instances
from lab.plant.neighbours import Areas
from lab.plant.pages import Ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.plant.access import Stream

DENSE = 2.0
"""Changes of each page while the age goes to the flush limit, from which on areas are taken as a whole."""


def flush_list(
    touched: Sequence[Stream],
    *,
    neighbours: bool,
    lists_written: bool,
    instances: int,
    until_limit: float,
    lsn: float,
) -> Ledger:
    """Return an empty flush list; one of single pages where the pages of an area have little in common.

    That is so where they are not touched evenly, where new pages are filled, or where fewer than ``DENSE``
    changes of each page fit into the log up to the flush limit.

    Args:
        touched: what the load touches.
        neighbours: the server flushes them, and its buffer pool holds all pages.
        lists_written: a page stays in the list that was written for one beside it.
        instances: of the buffer pool, each of which is asked for the same share of a batch.
        until_limit: commits until the age is at the flush limit.
        lsn: current LSN, bytes.
    """
    if neighbours and len(touched) == 1 and touched[0].pages < math.inf:
        stream = touched[0]
        if until_limit * stream.touches >= DENSE * stream.pages:
            if instances > 1:
                return Instances(stream, lsn=lsn, instances=instances)
            return Areas(stream, lsn=lsn, lists_written=lists_written)
    return Ledger(touched, lsn=lsn)
