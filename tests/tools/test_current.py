"""The generated pages are current."""

from __future__ import annotations

import pytest

from tools.__main__ import DOCS, PAGES, text_of
from tuner.config.keys import KEYS


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_its_command_writes(name: str) -> None:
    """Whoever changes a key, a field, a fault or a fixture generates the page again."""
    assert (DOCS / name).read_text(encoding="utf-8") == text_of(name), f"run: python -m tools {name}"


def test_every_key_is_explained() -> None:
    """Each key has a line of help, and the page has each key."""
    page = text_of("configuration.md")

    for key in KEYS.values():
        assert key.description
        assert f"`{key.variable}`" in page
