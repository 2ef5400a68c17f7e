"""What page writes cost: wear of a device with a rated endurance, or money for each I/O operation."""

from __future__ import annotations

import re
from typing import NamedTuple

_NUMBER = r"\d{1,9}(\.\d{1,6})?"
_WAYS = (
    f"{_NUMBER} TBW",
    f"{_NUMBER} DWPD of {_NUMBER} TB for {_NUMBER} years",
    f"{_NUMBER} [A-Z]{{3}} per million",
)
PRICE_PATTERN = rf"^({'|'.join(_WAYS)})$(?!\n)"
"""What ``daemon.write_price`` takes."""

ACCEPTED = '"600 TBW", "1 DWPD of 3.84 TB for 5 years" or "0.20 USD per million", with your numbers'

_DAYS, _TERABYTE, _MILLION = 365.0, 1e12, 1e6


class WritePrice(NamedTuple):
    """What one page costs, and in which unit."""

    for_page: float
    unit: str  # ``% of 600 TBW``, or a currency


def write_price(text: str, *, page_size: int) -> WritePrice | None:
    """Return what a page of so many bytes costs; None where the text names no price or endurance above 0.

    A page counts once: what a doublewrite buffer writes more is not in it, and a page is one operation.
    """
    numbers = [float(one) for one in re.findall(r"\d+(?:\.\d+)?", text)]
    if not re.match(PRICE_PATTERN, text) or min(numbers) <= 0.0:
        return None
    if text.endswith(" per million"):
        return WritePrice(numbers[0] / _MILLION, text.split()[1])
    endurance = numbers[0] if text.endswith(" TBW") else numbers[0] * numbers[1] * numbers[2] * _DAYS
    return WritePrice(100.0 * page_size / (endurance * _TERABYTE), f"% of {endurance:.10g} TBW")
