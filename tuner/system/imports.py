"""Importing a library without what it takes along wherever that is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hidden(module: str) -> Iterator[None]:
    """Make the import of one module fail meanwhile; one that is imported already stays."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]  # None makes an import fail, as documented
    try:
        yield
    finally:
        del sys.modules[module]
