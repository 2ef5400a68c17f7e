"""The page in a browser, beside a loop on the simulated server."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Route, expect

from api.register import NAME, Role, make, prepare, revoke
from api.tokens import Tokens
from tests.browser import looks
from tests.browser.fixtures import Open
from tests.browser.site import Site
from tests.browser.visit import pair_in
from tests.real.support import until
from tuner.records import Command, HoldCode
from tuner.settings import Mode

pytestmark = pytest.mark.browser

OVERRIDE_SECONDS = 12
PACE, SLOW_PACE = 0.5, 4.0
"""Real seconds of a tick; slow: the override is in sight for as long as a busy browser takes to look."""


@pytest.fixture(scope="module")
def at_work() -> Iterator[Site]:
    """Yield an active loop that holds its set-point, a quarter of an hour of it behind it."""
    with Site(pace=PACE) as site:
        yield site


@pytest.fixture
def site(at_work: Site) -> Site:
    """Return it as every test wants to find it: active, and nothing a person asked for in force."""
    at_work.pace(PACE)
    for name in ("cancel_override", "cancel_overlay", "resume"):
        at_work.command(name)
    at_work.command("mode", Mode.ACTIVE.value)
    until(lambda: not at_work.record().holds, 10.0, "no hold")
    return at_work


def test_says_what_it_does_and_why(site: Site, visit: Open) -> None:
    """The top line has state, deed, reason, and what the originals would make of the load."""
    seen = visit(site.url)

    expect(seen.state).to_have_text("Working")
    now = site.in_force()
    assert pair_in(seen.page.locator("#doing").inner_text()) == (now.io_capacity, now.io_capacity_max)
    expect(seen.page.locator("#why")).to_contain_text("set-point")
    expect(seen.page.locator("#without")).to_contain_text("10000/20000")
    assert seen.complaints == []
    assert seen.hosts == {site.url.split("/")[2]}


def test_an_advisory_loop_says_what_it_would_do(visit: Open) -> None:
    """Without leave to write the page says so, what an active loop would set, and what to expect of it."""
    with Site(mode=Mode.ADVISORY, pace=0.5, history=120.0) as watching:
        seen = visit(watching.url)
        expect(seen.state).to_have_text("Watching only")
        expect(seen.page.locator("#doing")).to_contain_text("would now set")
        expect(seen.page.locator("#without")).to_contain_text("fewer page writes")
        seen.ask("mode")
        expect(seen.dialog.locator(".change")).to_contain_text("advisory")
        assert pair_in(seen.dialog.locator(".change").inner_text()) == (10_000, 20_000)
        assert watching.writes() == 0


def test_charts_move(site: Site, visit: Open) -> None:
    """New ticks are drawn in every chart by themselves, and the numbers beside them follow."""
    seen = visit(site.url)
    drawn, figures, tick = seen.drawn(), seen.figures(), site.tick()

    until(lambda: site.tick() > tick + 5, 30.0, "five ticks")

    until(lambda: all(new != old for new, old in zip(seen.drawn(), drawn, strict=True)), 30.0, "new charts")
    assert seen.figures() != figures


def test_an_override_shows_and_expires(site: Site, visit: Open) -> None:
    """An override is asked for with old and new, is seen while it lasts, and is over by itself."""
    seen = visit(site.url)
    old = site.in_force().io_capacity_max
    wanted = 2 * old

    seen.ask("override")
    seen.dialog.locator('[name="io_capacity_max"]').fill(str(wanted))
    change = seen.dialog.locator(".change").inner_text()
    assert str(old) in change
    assert str(wanted) in change.replace("\u202f", "")
    seen.offer_seconds(OVERRIDE_SECONDS)
    site.pace(SLOW_PACE)
    seen.answer(site.token, minutes=str(OVERRIDE_SECONDS / 60))

    assert f"override to {wanted}" in seen.done()
    expect(seen.state).to_contain_text("override")
    until(lambda: site.in_force().io_capacity_max == wanted, 10.0, "the override in force")
    site.pace(PACE)
    expect(seen.state).to_have_text("Working")
    expect(seen.page.locator('[data-act="override"]')).to_be_visible()


def test_changed_settings_show_and_are_taken_back(site: Site, visit: Open) -> None:
    """What somebody changed while the daemon runs is seen, with who it was, and goes back to the file's."""
    seen = visit(site.url)
    expect(seen.page.locator("#besides")).to_be_hidden()
    site.board.submit(Command(name="overlay", who="token oncall", overlay={"max_io_capacity_max": 6000}))
    expect(seen.page.locator("#besides")).to_contain_text("Settings changed by token oncall")
    expect(seen.page.locator("#besides")).to_contain_text("max_io_capacity_max 6000")

    seen.ask("unsettle")
    expect(seen.dialog.locator(".change")).to_contain_text("max_io_capacity_max")
    seen.answer(site.token)
    seen.done()

    expect(seen.page.locator("#besides")).to_be_hidden()
    expect(seen.page.locator('[data-act="unsettle"]')).to_be_hidden()
    assert site.record().overlay is None


def test_a_pause_stops_the_writes(site: Site, visit: Open) -> None:
    """Paused from the page the loop writes its park and then nothing, and the page says so until resumed."""
    seen = visit(site.url)
    seen.ask("pause")
    seen.answer(site.token, reason="looking around")
    seen.done()
    expect(seen.state).to_have_text("Paused")
    expect(seen.page.locator("#holds")).to_contain_text("looking around")
    tick = site.tick()
    until(lambda: site.tick() > tick + 3, 10.0, "the park")
    writes, kept, tick = site.writes(), site.in_force(), site.tick()
    until(lambda: site.tick() > tick + 15, 30.0, "fifteen ticks")
    assert (site.writes(), site.in_force()) == (writes, kept)

    seen.ask("pause")
    seen.answer()
    seen.done()

    until(lambda: not site.record().holds, 10.0, "the end of the pause")
    expect(seen.state).to_have_text("Working")


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
        for _ in ("pause", "resume"):
            seen.ask("pause")
            seen.answer(night if not site.record().holds else None)
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


def test_nothing_is_asked_of_the_loop_before_a_yes(site: Site, visit: Open) -> None:
    """Every control asks first, with what would be written, and Escape leaves all as it was."""
    seen = visit(site.url)
    sent: list[str] = []
    seen.page.on("request", lambda one: sent.append(one.method) if one.method != "GET" else None)

    for act in ("mode", "pause", "override", "drain", "park", "restore"):
        seen.ask(act)
        expect(seen.dialog.locator(".change tbody tr").first).to_be_visible()
        seen.page.keyboard.press("Escape")
        expect(seen.dialog).to_have_count(0)

    assert sent == []


def test_an_override_outside_the_limits_is_not_even_asked_for(site: Site, visit: Open) -> None:
    """The question says between which values M may be, and takes no other."""
    settings = site.board.settings()
    assert settings is not None
    lowest, highest = (
        f"{value:,}".replace(",", "\u202f")
        for value in (settings.min_io_capacity_max, settings.max_io_capacity_max)
    )
    seen = visit(site.url)
    sent: list[str] = []
    seen.page.on("request", lambda one: sent.append(one.method) if one.method != "GET" else None)
    seen.ask("override")
    expect(seen.dialog).to_contain_text(f"pages/s, {lowest} to {highest}")

    seen.answer(site.token, io_capacity_max=str(settings.max_io_capacity_max + 1))

    expect(seen.dialog.locator('[name="io_capacity_max"]:invalid')).to_be_focused()
    assert sent == []


def test_what_happens_while_the_lists_are_asked_for_is_in_them(visit: Open) -> None:
    """An event that comes between the answer to a list and its arrival is not lost."""
    with Site(pace=PACE, history=120.0) as site:
        seen = visit(site.url)
        late: list[tuple[Route, APIResponse]] = []
        seen.page.route("**/v1/events?*", lambda route: late.append((route, route.fetch())))
        seen.page.goto(site.url)
        until(lambda: seen.state.is_visible() and bool(late), 60.0, "an answer that is held back")
        site.command("pause")
        expect(seen.page.locator("#events")).to_contain_text("paused by test")

        route, answer = late[0]
        route.fulfill(response=answer)

        expect(seen.page.locator("#events li")).to_have_count(len(site.board.events(limit=80)))
        expect(seen.page.locator("#events")).to_contain_text("paused by test")


def test_a_keyboard_is_enough(site: Site, visit: Open) -> None:
    """With Tab, Enter and the arrows alone a person looks along a chart, and pauses and resumes the loop."""
    looks.a_keyboard_is_enough(visit, site.url, site.token)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(site: Site, visit: Open, scheme: str) -> None:
    """In either colour scheme axe-core has no serious finding, on the page and with a question open."""
    seen = visit(site.url, scheme=scheme)
    page = seen.findings()
    seen.ask("override")
    question = seen.findings()

    assert page == []
    assert question == []


def test_dark_is_dark(site: Site, visit: Open) -> None:
    """Where the system is dark the page is dark, with light words."""
    looks.dark_is_dark(visit, site.url)


def test_a_phone_has_room_for_it(site: Site, visit: Open) -> None:
    """On a phone nothing is wider than the window, and state, reason and figures come without scrolling."""
    looks.a_phone_has_room(visit, site.url)


def test_a_daemon_that_comes_back_is_followed(visit: Open) -> None:
    """After a restart the page goes on by itself, with the new daemon's decisions and events alone."""
    with Site(pace=0.5) as first:
        seen = visit(first.url)
        old = seen.page.locator("#events li").all_inner_texts()
    expect(seen.verdict).to_have_attribute("data-level", "lost")
    with Site(pace=0.5, history=120.0, port=first.port) as second:
        expect(seen.state).to_have_text("Working")
        expect(seen.page.locator("#events li")).to_have_count(len(second.board.events()))
        assert seen.page.locator("#events li").all_inner_texts() != old
        drawn = seen.drawn()
        until(lambda: seen.drawn() != drawn, 30.0, "charts that move again")


def test_points_from_before_a_restart_stay(visit: Open) -> None:
    """The charts begin where they began, though the new daemon remembers none of it."""
    with Site(pace=0.5, history=300.0) as first:
        seen = visit(first.url)
        old = seen.oldest_point()
    expect(seen.verdict).to_have_attribute("data-level", "lost")
    with Site(pace=0.5, history=5.0, port=first.port) as second:
        expect(seen.state).to_have_text("Working")
        expect(seen.page.locator("#events li")).to_have_count(len(second.board.events()))
        assert seen.oldest_point() == old


def test_the_time_without_a_daemon_is_a_gap(site: Site, visit: Open) -> None:
    """What two daemons saw is one line each, with nothing between, nothing twice and nothing lost."""
    seen = visit(site.url)
    tables = seen.page.evaluate(
        """async () => {
          const { Series } = await import("/static/js/series.js");
          const series = new Series(["age"], 600);
          const answer = (start, end, oldest, ages) => ({ start, end, oldest, step: 1,
            columns: { time: Object.keys(ages).map(Number), age: Object.values(ages) } });
          const found = [];
          const keep = () => found.push(series.table(["age"]));
          series.load(answer(100, 104, 100.5, { 100: 1, 101: 2, 102: 3, 103: 4 }));
          series.add(104.2, { age: 5 }, false);
          series.load(answer(101, 110, null, { 101: null, 105: null, 109: null }));
          keep();
          series.load(answer(101, 112, 110.2, { 101: null, 110: 6, 111: 7 }));
          series.add(111.3, { age: 7 }, false);
          series.add(112.3, { age: 8 }, false);
          keep();
          series.load(answer(103, 114, 110.2, { 110: 6, 111: 7, 112: 8, 113: 9 }));
          keep();
          return found;
        }"""
    )

    assert tables == [
        [[101, 102, 103, 104], [2, 3, 4, 5]],
        [[101, 102, 103, 104, 105, 110, 111, 112], [2, 3, 4, 5, None, 6, 7, 8]],
        [[103, 104, 105, 110, 111, 112, 113], [4, 5, None, 6, 7, 8, 9]],
    ]


def test_a_gap_looks_like_a_gap(site: Site, visit: Open) -> None:
    """Neither a stretch of history without readings nor a reading that fails now is joined by a line."""
    seen = visit(site.url)
    table = seen.page.evaluate(
        """async () => {
          const { Series } = await import("/static/js/series.js");
          const series = new Series(["age"], 600);
          const age = [1, 2, null, null, null, null, 3, 4];
          series.load({ step: 1, end: 108, columns: { time: age.map((_, at) => 100 + at), age } });
          series.add(108.2, { age: 5 }, false);
          series.add(109.2, { age: null }, true);
          series.add(110.2, { age: 6 }, false);
          return series.table(["age"])[1];
        }"""
    )

    assert table == [1, 2, None, 3, 4, 5, None, 6]


def test_every_number_and_time_says_what_it_counts(site: Site, visit: Open) -> None:
    """C and M, every chart's axis and the page's times have a unit; a time of another day has its day."""
    seen = visit(site.url)
    expect(seen.page.locator("#doing")).to_contain_text(" pages/s.")
    expect(seen.page.locator("thead th", has_text="C / M")).to_have_text("C / M, pages/s")
    expect(seen.page.locator("#zone")).to_have_text(re.compile(r"^Times are UTC([+-]\d\d:\d\d)?\.$"))
    units = {"capacity": "pages/s", "flush": "pages/s", "rows": "rows/s", "cost": "pages"}
    for chart, unit in units.items():
        expect(seen.page.locator(f"#chart-{chart}")).to_contain_text(f", {unit}")

    same, other = seen.page.evaluate(
        """async () => {
          const { moment } = await import("/static/js/format.js");
          return [moment(1.7e9, 1.7e9 + 60), moment(1.7e9, 1.7e9 + 3 * 86400)];
        }"""
    )
    assert re.fullmatch(r"\d\d:\d\d:\d\d", same)
    assert re.fullmatch(rf"1[45] Nov {same}", other)


def test_c_is_seen_where_it_equals_m(site: Site, visit: Open) -> None:
    """The line that is drawn above the other one lets it through."""
    seen = visit(site.url)
    lines = seen.page.locator('[data-chart="capacity"] .key li')

    expect(lines.nth(0)).to_contain_text("IO Capacity Max (M)")
    expect(lines.nth(1)).to_contain_text("IO Capacity (C)")
    expect(lines.nth(1).locator(".swatch.dashed")).to_have_count(1)


def test_a_dead_loop_shows(visit: Open) -> None:
    """A loop that stands still is called that."""
    with Site(pace=0.5) as dying:
        seen = visit(dying.url)
        dying.pace(1000.0)
        expect(seen.state).to_have_text("The loop does not tick", timeout=90_000)
        expect(seen.verdict).to_have_attribute("data-level", "alarm")


def test_a_daemon_that_is_gone_shows(visit: Open) -> None:
    """Where nobody answers any more the page says so at once, and takes no more questions."""
    with Site(pace=0.5) as dying:
        seen = visit(dying.url)
    expect(seen.verdict).to_have_attribute("data-level", "lost")
    expect(seen.page.locator("#doing")).to_contain_text("Not known since")
    expect(seen.page.locator("#without")).to_contain_text("last heard of")
    expect(seen.page.locator("#link-text")).to_have_text("not connected")
    expect(seen.page.locator('[data-act="override"]')).to_be_disabled()
