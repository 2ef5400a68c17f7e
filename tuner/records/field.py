"""How a field of a record describes itself."""

from __future__ import annotations

from typing import Any

from msgspec import Meta


def field(help_text: str, unit: str = "", kind: str = "", pmm: str = "") -> Meta:
    """Describe a field: ``kind`` is gauge, counter or empty where it is no metric."""
    extra: dict[str, Any] = {"unit": unit, "kind": kind, "pmm": pmm}
    return Meta(description=help_text, extra=extra)
