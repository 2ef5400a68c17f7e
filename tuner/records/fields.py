"""The table of fields, read off the records; what metrics, history and CSV are made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from msgspec import Meta

from tuner.records import Estimate, Sample, Window


@dataclass(frozen=True, slots=True)
class Field:
    """One number that a tick record carries.

    Attributes:
        record: ``sample``, ``estimate`` or ``window``.
        name: attribute name, unique over both records.
        unit: bytes, pages, seconds, their rates, or ratio.
        help: one line for people.
        kind: gauge, counter, or empty where it is no metric.
        pmm: the legend under which PMM charts it, or empty.
        optional: may be absent.
    """

    record: str
    name: str
    unit: str
    help: str
    kind: str
    pmm: str
    optional: bool

    def value(self, *, sample: Sample | None, estimate: Estimate | None) -> float | None:
        """Return the field's value in a record, whole numbers exactly; None where there is none."""
        source = sample if self.record == "sample" else estimate
        if source is None:
            return None
        found = getattr(source, self.name)
        return found if found is None or type(found) is int else float(found)


def _fields_of(record: type[Any], label: str) -> Iterator[Field]:
    for name, hint in get_type_hints(record, include_extras=True).items():
        if get_origin(hint) is not Annotated:
            continue
        base, *notes = get_args(hint)
        if base is str:
            continue
        for note in notes:
            if isinstance(note, Meta):
                extra = note.extra or {}
                yield Field(
                    record=label,
                    name=name,
                    unit=str(extra.get("unit", "")),
                    help=note.description or "",
                    kind=str(extra.get("kind", "")),
                    pmm=str(extra.get("pmm", "")),
                    optional=type(None) in get_args(base),
                )


WINDOW_FIELDS: tuple[Field, ...] = tuple(_fields_of(Window, "window"))
"""What is told of each active window of the schedule; no part of the numbers over time."""

FIELDS: tuple[Field, ...] = (*_fields_of(Sample, "sample"), *_fields_of(Estimate, "estimate"))
BY_NAME: dict[str, Field] = {field.name: field for field in FIELDS}
