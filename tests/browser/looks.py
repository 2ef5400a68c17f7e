"""What the page must be for everybody, whatever daemon it shows: on a phone, in the dark, by keyboard."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.fixtures import Open
from tests.browser.visit import PHONE, Visit

_COLOURS = "(({backgroundColor, color}) => [backgroundColor, color])(getComputedStyle(document.body))"


def a_phone_has_room(visit: Open, url: str) -> None:
    """Check that nothing is wider than the window, and that state and figures come without scrolling."""
    seen = visit(url, window=PHONE)
    assert seen.overflow() <= 0
    for part in ("#state", "#doing", "#why", "#tiles"):
        assert _box(seen, part)["y"] < PHONE["height"], part
    seen.ask("override")
    assert _box(seen, "dialog[open]")["width"] <= PHONE["width"]


def dark_is_dark(visit: Open, url: str) -> None:
    """Check that paper and ink change places with the system's colour scheme."""
    for scheme, sign in (("light", 1.0), ("dark", -1.0)):
        paper, ink = visit(url, scheme=scheme).page.evaluate(_COLOURS)
        assert sign * (_luminance(paper) - _luminance(ink)) > 0.6, scheme


def a_keyboard_is_enough(visit: Open, url: str, token: str) -> None:
    """Look along a chart, pause and resume by Tab, Enter and arrows alone; nothing may be held before."""
    seen = visit(url)
    keys = seen.page.keyboard
    seen.tab_to("age")
    keys.press("ArrowLeft")
    keys.press("ArrowLeft")
    expect(seen.page.locator("#said-age")).to_contain_text("at ")
    expect(seen.page.locator("#said-age")).to_contain_text("Uncheckpointed Bytes")
    keys.press("Escape")

    seen.open()
    seen.tab_to("pause")
    keys.press("Enter")
    seen.tab_to("token")
    keys.type(token)
    keys.press("Enter")
    seen.done()
    expect(seen.state).to_have_text("Paused")
    assert seen.focused() == "pause"
    keys.press("Enter")
    seen.tab_to("dialog-go")
    keys.press("Enter")
    seen.done()
    expect(seen.state).to_have_text("Working")


def _box(seen: Visit, part: str) -> dict[str, float]:
    found = seen.page.locator(part).bounding_box()
    assert found is not None, part
    return {"y": found["y"], "width": found["width"]}


def _luminance(colour: str) -> float:
    red, green, blue = (int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
