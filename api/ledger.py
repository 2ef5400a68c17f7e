"""The ledger of what was saved, as status, page and metrics show it: never a number without its bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

from msgspec import Meta, Struct

from tuner.config.price import write_price
from tuner.core.memory import Learned
from tuner.core.savings.ledger import said
from tuner.records import Facts


class Bounded(Struct, frozen=True):
    """A number with its bounds; negative is a loss."""

    least: Annotated[float, Meta(description="at least so much")]
    likely: Annotated[float, Meta(description="the likeliest")]
    most: Annotated[float, Meta(description="at most so much")]


class Ledger(Struct, frozen=True):
    """What was saved against the settings found, for the same redo, under values of InnoBrim's."""

    since: Annotated[float, Meta(description="when the first minute that counts ended, Unix time")]
    seconds: Annotated[float, Meta(description="how long InnoBrim's values were in force since, all in all")]
    pages_written: Annotated[float, Meta(description="pages that became dirty in that time; each is written")]
    pages_saved: Annotated[Bounded, Meta(description="pages that the settings found would have written more")]
    bytes_saved: Annotated[Bounded, Meta(description="the same in bytes, without a doublewrite buffer's")]
    share_saved: Annotated[
        Bounded, Meta(description="the same as a share of what the settings found would have written")
    ]
    text: Annotated[str, Meta(description="the same in words")]
    worth: Annotated[
        Bounded | None, Meta(description="the same by daemon.write_price; none where that is not set")
    ] = None
    unit: Annotated[str, Meta(description="of worth: % of the rated endurance, or a currency")] = ""


def ledger_of(learned: Learned | None, facts: Facts | None, *, price: str | None) -> Ledger | None:
    """Return the ledger to show; None before the first minute that counts.

    Args:
        learned: what was learned of the server.
        facts: the server.
        price: ``daemon.write_price``.
    """
    if learned is None or facts is None or learned.savings.since == 0.0:
        return None
    savings, page_size = learned.savings, facts.page_size

    def bounded(times: float) -> Bounded:
        return Bounded(savings.least * times, savings.likely * times, savings.most * times)

    text, worth, unit = said(savings, page_size=page_size), None, ""
    found = None if price is None else write_price(price, page_size=page_size)
    if found is not None:
        worth, unit = bounded(found.for_page), found.unit
        text += f"; that is {worth.likely:.3g} {unit}, {worth.least:.3g} to {worth.most:.3g}"
    return Ledger(
        since=savings.since,
        seconds=savings.seconds,
        pages_written=savings.written,
        pages_saved=bounded(1.0),
        bytes_saved=bounded(page_size),
        share_saved=Bounded(*map(savings.share, (savings.least, savings.likely, savings.most))),
        text=text,
        worth=worth,
        unit=unit,
    )


BOUNDS = Bounded.__struct_fields__

SHOWN: Mapping[str, tuple[str, Callable[[Ledger], Bounded | None]]] = {
    "saved_pages": (
        "pages that the settings found would have written more since activation; negative for a loss",
        lambda ledger: ledger.pages_saved,
    ),
    "saved_bytes": ("the same in bytes, without a doublewrite buffer's", lambda ledger: ledger.bytes_saved),
    "saved_ratio": (
        "the same as a share of all that the settings found would have written",
        lambda ledger: ledger.share_saved,
    ),
    "saved_worth": (
        "the same by daemon.write_price: percent of the rated endurance, or its currency; none without",
        lambda ledger: ledger.worth,
    ),
}
"""Metrics: name to help and number; each has its bounds as a label."""


def bounds_of(ledger: Ledger | None, of: Callable[[Ledger], Bounded | None]) -> dict[str, float] | None:
    """Return a number's bounds by name; None where there is none."""
    found = None if ledger is None else of(ledger)
    return None if found is None else {name: getattr(found, name) for name in BOUNDS}
