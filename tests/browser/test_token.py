"""The page and its token: wrong, right, needed to look, revoked while it is open."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from api.tokens import NAME, Role, Tokens, make, prepare, revoke
from tests.browser.fixtures import Open
from tests.served import Site
from tuner.records import HoldCode

pytestmark = pytest.mark.browser

PACE = 0.5
"""Real seconds of a tick."""


@pytest.fixture
def site() -> Iterator[Site]:
    """Yield an active loop of its own, whose tokens are those of the tests."""
    with Site(pace=PACE, history=120.0) as found:
        yield found


def test_a_wrong_token_is_refused_and_a_right_one_asked_for_once(site: Site, visit: Open) -> None:
    """A change with a wrong token is refused in words; the right one is asked for once, and kept nowhere."""
    seen = visit(site.url)
    seen.ask("pause")
    seen.answer("not-the-token")
    expect(seen.dialog.locator("#dialog-error")).to_contain_text("token")
    expect(seen.dialog.locator('[name="token"]')).to_be_focused()
    assert not any(hold.code is HoldCode.PAUSED for hold in site.record().holds)

    seen.answer(site.token)
    seen.done()
    expect(seen.state).to_have_text("Paused")
    seen.ask("pause")
    expect(seen.dialog.locator('[name="token"]')).to_have_count(0)
    seen.answer()
    seen.done()

    kept = "[localStorage.length, sessionStorage.length, document.cookie.length]"
    assert seen.page.evaluate(kept) == [0, 0, 0]
    seen.open()
    seen.ask("pause")
    expect(seen.dialog.locator('[name="token"]')).to_have_count(1)


def test_where_reading_needs_a_token_the_page_asks_for_it(visit: Open) -> None:
    """Before the token the page shows nothing of the server; with it, all."""
    with Site(pace=0.5, history=120.0, open_reading=False) as guarded:
        seen = visit(guarded.url, closed=True)
        expect(seen.dialog.locator("#dialog-error")).to_contain_text("token")
        expect(seen.verdict).to_have_attribute("data-level", "lost")
        seen.answer("a-wrong-one")
        expect(seen.dialog.locator("#dialog-error")).to_contain_text("token")

        seen.answer(guarded.token)

        seen.shown()
        expect(seen.state).to_have_text("Working")


@pytest.fixture
def register(tmp_path: Path) -> Path:
    """Return the directory of a register of tokens."""
    return prepare(tmp_path).parent


def read_at_once(register: Path) -> Tokens:
    """Return the register as a daemon sees it that looks at each request, not once a second."""
    return Tokens(register / NAME, monotonic=map(float, itertools.count()).__next__)


def test_a_token_that_is_revoked_is_asked_for_anew(register: Path, visit: Open) -> None:
    """Revoked while the page is open, the token is gone there too: said at once, also in an open question."""
    night = make(register, "night", Role.OPERATE, expires=None)
    with Site(pace=PACE, history=120.0, tokens=read_at_once(register)) as site:
        seen = visit(site.url)
        for token in (night, None):  # paused, and resumed by the same control
            seen.ask("pause")
            seen.answer(token)
            seen.done()
        expect(seen.state).to_have_text("Working")
        seen.ask("pause")
        expect(seen.dialog.locator('[name="token"]')).to_have_count(0)

        revoke(register, "night")

        expect(seen.dialog.locator("#dialog-error")).to_contain_text("was revoked")
        expect(seen.dialog.locator('[name="token"]')).to_have_count(1)
        expect(seen.page.locator("#token-button")).to_have_text("Token…")
        seen.answer()
        expect(seen.dialog.locator("#dialog-error")).to_contain_text("send Authorization")
        assert not site.record().holds

        expect(seen.state).to_have_text("Working")  # reading is open, and goes on
        seen.answer(make(register, "morning", Role.OPERATE, expires=None))
        seen.done()
        expect(seen.state).to_have_text("Paused")


def test_where_reading_needs_the_revoked_token_nothing_can_be_asked(register: Path, visit: Open) -> None:
    """The page then says what is missing, takes no more questions, and goes on with another token."""
    night = make(register, "night", Role.OPERATE, expires=None)
    with Site(pace=PACE, history=120.0, open_reading=False, tokens=read_at_once(register)) as site:
        seen = visit(site.url, closed=True)
        expect(seen.dialog).to_be_visible()
        seen.answer(night)
        seen.shown()

        revoke(register, "night")

        expect(seen.state).to_have_text("The daemon wants a token")
        expect(seen.verdict).to_have_attribute("data-level", "lost")
        expect(seen.page.locator("#doing")).to_contain_text("Not known since")
        expect(seen.dialog.locator("#dialog-error")).to_contain_text("was revoked")
        for control in seen.page.locator("#steer button:visible").all():
            expect(control).to_be_disabled()

        seen.answer(make(register, "morning", Role.READ, expires=None))
        seen.shown()
        expect(seen.state).to_have_text("Working")


def test_a_late_refusal_of_an_old_token_leaves_the_new_one(site: Site, visit: Open) -> None:
    """An answer to a request that went out with the token before drops nothing."""
    seen = visit(site.url)
    kept = seen.page.evaluate(
        """async () => {
          const { forget, hasToken, setToken } = await import("/static/js/api.js");
          setToken("new");
          return [forget({ sent: "old" }), hasToken(), forget({ sent: "new" }), hasToken()];
        }"""
    )

    assert kept == [False, True, True, False]
