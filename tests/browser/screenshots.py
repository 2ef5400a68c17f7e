"""The pictures of the page in docs/images: ``python -m tests.browser.screenshots``.

A loop on the simulated server, from the default setting to its set-point, in ten minutes.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tests.browser.visit import DESK, PHONE, Visit
from tests.served import Site
from tuner.records import Command

FOLDER = Path(__file__).parents[2] / "docs" / "images"
SECONDS = 560.0
STILL = 20.0
"""Real seconds of a tick while a picture is taken."""

LIMIT_MS = 120_000.0
PICTURES: dict[str, dict[str, Any]] = {
    "page-light": {"color_scheme": "light", "viewport": DESK | {"height": 1348}},
    "page-dark": {"color_scheme": "dark", "viewport": DESK | {"height": 822}},
    "page-phone": {"color_scheme": "dark", "viewport": PHONE},
    "page-override": {"color_scheme": "light", "viewport": DESK | {"height": 800}},
}


def take(browser: Browser, site: Site, name: str) -> None:
    """Write one picture."""
    site.pace(1.0)
    context = browser.new_context(reduced_motion="reduce", **PICTURES[name])
    context.set_default_timeout(LIMIT_MS)
    seen = Visit(context.new_page(), site.url)
    seen.open()
    site.pace(STILL)
    if name == "page-override":
        seen.ask("override")
        seen.dialog.locator('[name="io_capacity_max"]').fill("900")
    seen.page.screenshot(path=FOLDER / f"{name}.png")
    site.board.submit(Command(name="none", who="screenshots"))  # ends the long tick
    context.close()


def main() -> None:
    """Write every picture."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    flags = ["--disable-gpu", "--disable-dev-shm-usage", "--no-sandbox"]
    with Site(history=SECONDS) as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=flags, timeout=LIMIT_MS
        )
        for name in PICTURES:
            take(browser, site, name)
        browser.close()


if __name__ == "__main__":
    main()
