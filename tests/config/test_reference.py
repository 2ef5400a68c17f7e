"""The generated pages are current."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.cli import metrics_reference
from tuner.config import reference
from tuner.config.keys import KEYS
from tuner.servers import document as servers

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "document", "command"),
    [
        ("configuration.md", reference.document, reference.COMMAND),
        ("metrics.md", metrics_reference.document, metrics_reference.COMMAND),
        ("servers.md", servers.here, servers.COMMAND),
    ],
)
def test_the_page_is_what_its_command_writes(page: str, document: object, command: str) -> None:
    """Whoever changes a key or a field generates the page again."""
    assert callable(document)

    assert (DOCS / page).read_text(encoding="utf-8") == document(), f"run: {command}"


def test_every_key_is_explained() -> None:
    """Each key has a line of help, and the page has each key."""
    page = reference.document()

    for key in KEYS.values():
        assert key.description
        assert f"`{key.variable}`" in page
