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


@contextmanager
def built_when_used() -> Iterator[None]:
    """Have models of pydantic's that are made meanwhile build their validators at their first use."""
    from pydantic import BaseModel  # noqa: PLC0415 - a daemon without API must not carry it

    BaseModel.model_config["defer_build"] = True
    try:
        yield
    finally:
        del BaseModel.model_config["defer_build"]
