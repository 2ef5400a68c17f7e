"""Chromium without a window, and pages in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.real.fixtures import missing

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browser.visit import Visit

AXE = Path(__file__).parents[2] / ".cache" / "axe-core" / "axe.min.js"

LIMIT_MS = 60_000.0
"""For a page on a machine that has much else to do."""

Open = Callable[..., "Visit"]
"""Opens the page of a daemon in a window of its own; ``closed``: it has nothing to show without a token."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Yield a browser, for no longer than it is needed: while it runs nothing else can have an event loop."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - every run of pytest imports this module

    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None or not AXE.exists():
        missing(f"{'chromium' if program is None else AXE}: lab/setup/servers.sh gets it")
    flags = ["--disable-gpu", "--disable-dev-shm-usage"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # the sandbox does not work for root
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=flags, timeout=2 * LIMIT_MS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Open]:
    """Return what opens a page; whatever it opened is closed at the end."""
    from playwright.sync_api import expect  # noqa: PLC0415 - as above

    from tests.browser.visit import DESK, Visit  # noqa: PLC0415 - as above

    expect.set_options(timeout=LIMIT_MS)
    contexts = []

    def opened(
        url: str,
        *,
        scheme: Literal["light", "dark"] = "light",
        window: dict[str, int] | None = None,
        closed: bool = False,
    ) -> Visit:
        size: Any = window or DESK
        context = chromium.new_context(color_scheme=scheme, viewport=size, reduced_motion="reduce")
        context.set_default_timeout(LIMIT_MS)
        contexts.append(context)
        found = Visit(context.new_page(), url)
        if closed:
            found.visit()
        else:
            found.open()
        return found

    yield opened
    for context in contexts:
        context.close()
