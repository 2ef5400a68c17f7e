"""What a person does on the page, and what must be seen there: for a simulated server and for a real one."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

from playwright.sync_api import Dialog, Error, Locator, Page, expect

from tests.browser.fixtures import AXE

SERIOUS = frozenset({"serious", "critical"})
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1360, "height": 900}

NETWORK_CHANGED = "ERR_NETWORK_CHANGED"
TRIES = 5


class Visit:
    """One open page, and the steps that tests take on it.

    Attributes:
        page: the browser's.
        complaints: what the browser's console had to say: errors, broken policies, failed loads.
        hosts: every host that was asked for anything.
    """

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        self.hosts: set[str] = set()
        page.on("console", lambda said: self._complained(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))
        page.on("dialog", _dismiss)

    def open(self) -> None:
        """Open the page; return once it shows what the daemon does and has drawn its charts."""
        self.visit()
        self.shown()

    def visit(self) -> None:
        """Ask for the page; again where a container elsewhere ended the requests of Chromium."""
        for _ in range(TRIES):
            try:
                self.page.goto(self.url)
            except Error as error:
                if NETWORK_CHANGED not in error.message:
                    raise
            else:
                return
        raise AssertionError(f"the network changed at each of {TRIES} tries to open {self.url}")

    def _complained(self, text: str) -> None:
        if NETWORK_CHANGED not in text:
            self.complaints.append(text)

    def shown(self) -> None:
        """Return once the page shows what the daemon does and has drawn its charts."""
        expect(self.verdict).not_to_have_attribute("data-level", "lost")
        expect(self.page.locator("#plots canvas")).to_have_count(6)
        self.page.wait_for_function("document.querySelector('#tiles .figure')?.textContent.includes('%')")

    @property
    def verdict(self) -> Locator:
        """Return the panel that says whether all is well."""
        return self.page.locator("#verdict")

    @property
    def state(self) -> Locator:
        """Return the words for the state."""
        return self.page.locator("#state")

    @property
    def dialog(self) -> Locator:
        """Return the open question."""
        return self.page.locator("dialog[open]")

    def ask(self, act: str) -> None:
        """Open the question of a control."""
        self.page.locator(f'[data-act="{act}"]').click()
        expect(self.dialog).to_be_visible()

    def answer(self, token: str | None = None, **fields: str) -> None:
        """Fill in the open question and say yes."""
        for name, value in fields.items():
            field = self.dialog.locator(f'[name="{name}"]')
            if field.evaluate("one => one.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)
        if token is not None:
            self.dialog.locator('[name="token"]').fill(token)
        self.dialog.locator("#dialog-go").click()

    def offer_seconds(self, seconds: float) -> None:
        """Add a duration to those of the open question: the shortest one would make a test last as long."""
        self.page.evaluate(
            "([value, text]) => document.querySelector('[name=minutes]').append(new Option(text, value))",
            [str(seconds / 60), f"{seconds:g} seconds"],
        )

    def done(self) -> str:
        """Return what was said about an accepted change, once it was."""
        expect(self.dialog).to_have_count(0)
        expect(self.page.locator("#told")).to_be_visible()
        return self.page.locator("#told").inner_text()

    def drawn(self) -> list[str]:
        """Return every chart as it is drawn now."""
        script = "Array.from(document.querySelectorAll('#plots canvas'), one => one.toDataURL())"
        found: list[str] = self.page.evaluate(script)
        return found

    def oldest_point(self) -> timedelta:
        """Return the time of day of the first point in the charts, as it is read out."""
        self.page.locator('[data-chart="age"] .plot').press("Home")
        point = re.compile(r"at (\d\d:\d\d:\d\d): ")
        expect(self.page.locator("#said-age")).to_have_text(point)
        said = self.page.locator("#said-age").inner_text()
        self.page.keyboard.press("Escape")
        found = point.match(said)
        assert found is not None, said
        hours, minutes, seconds = map(int, found[1].split(":"))
        return timedelta(hours=hours, minutes=minutes, seconds=seconds)

    def figures(self) -> list[str]:
        """Return the newest numbers beside the charts."""
        return self.page.locator("#plots .value").all_inner_texts()

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        script = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return int(self.page.evaluate(script))

    def focused(self) -> str:
        """Return what has the keyboard's focus: its id, its control, its chart, or its tag."""
        return str(
            self.page.evaluate(
                """() => {
                  const one = document.activeElement;
                  return one.id || one.dataset.act || one.closest('[data-chart]')?.dataset.chart
                    || one.name || one.tagName;
                }"""
            )
        )

    def tab_to(self, wanted: str, most: int = 40) -> None:
        """Press Tab until something has the focus."""
        passed = []
        for _ in range(most):
            self.page.keyboard.press("Tab")
            passed.append(self.focused())
            if passed[-1] == wanted:
                return
        raise AssertionError(f"{wanted} is out of reach; Tab came to {passed}")

    def findings(self) -> list[str]:
        """Return what axe-core calls serious or critical."""
        # the library as an isolated script: the page's policy stays in force for the page itself
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found: dict[str, Any] = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert found["passes"], "axe-core looked at nothing"
        return [
            f"{one['id']}: {one['help']}: {json.dumps([node['target'] for node in one['nodes']])[:300]}"
            for one in found["violations"]
            if one["impact"] in SERIOUS
        ]


def pair_in(text: str) -> tuple[int, int]:
    """Return the first C and the first M in a text."""
    found = [re.search(rf"innodb_io_capacity{end}\s+([\d\u202f]+)", text) for end in ("", "_max")]
    first, second = (int(one[1].replace("\u202f", "")) for one in found if one is not None)
    return first, second


def _dismiss(dialog: Dialog) -> None:
    dialog.dismiss()
