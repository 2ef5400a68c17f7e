"""The page in a browser, beside a loop on the simulated server."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser import looks
from tests.browser.fixtures import Open
from tests.browser.visit import pair_in
from tests.real.support import until
from tests.served import Site
from tuner.findings.redo_growth import Growing
from tuner.records import Command
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
    until(lambda: not at_work.record().holds, 60.0, "no hold")
    return at_work


def test_says_what_it_does_and_why(site: Site, visit: Open) -> None:
    """The top line has state, deed, reason, and what the originals would make of the load."""
    seen = visit(site.url)

    expect(seen.state).to_have_text("Working")
    expect(seen.page.locator("#doing")).to_contain_text("Holds the age at")

    def right() -> bool:
        now, shown = site.in_force(), pair_in(seen.page.locator("#doing").inner_text())
        return shown == (now.io_capacity, now.io_capacity_max)

    until(right, 60.0, "the pair in force")
    expect(seen.page.locator("#why")).to_contain_text("set-point")
    expect(seen.page.locator("#without")).to_contain_text("innodb_io_capacity_max 20000")
    assert seen.complaints == []
    assert seen.hosts == {site.url.split("/")[2]}


def test_an_age_far_from_its_set_point_is_not_said_to_be_held(visit: Open) -> None:
    """While the loop travels the page says which way, and from where."""
    with Site(pace=0.5, history=30.0) as travelling:
        seen = visit(travelling.url)

        expect(seen.page.locator("#doing")).to_contain_text("Lets the age rise; it is at")


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

    until(lambda: site.tick() > tick + 5, 60.0, "five ticks")

    until(lambda: all(new != old for new, old in zip(seen.drawn(), drawn, strict=True)), 60.0, "new charts")
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
    until(lambda: site.in_force().io_capacity_max == wanted, 60.0, "the override in force")
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


def test_a_trial_is_told_with_whose_turn_it_is(site: Site, visit: Open) -> None:
    """Nobody takes the originals' turn for a loop that lost its way; its result stays, and why it is over."""
    seen = visit(site.url)
    site.board.submit(Command(name="trial", who="ann", value=1, ttl=7200.0))
    expect(seen.state).to_have_text("Working, with a trial")
    expect(seen.page.locator("#doing")).to_contain_text(
        "A trial has the originals in force, innodb_io_capacity 10"
    )
    expect(seen.page.locator("#besides")).to_contain_text(
        "now the turn of the originals. So far: no verdict yet"
    )

    site.command("stop_trial")

    expect(seen.state).to_have_text("Working")
    expect(seen.page.locator("#besides")).to_contain_text("Last trial, ended")
    expect(seen.page.locator("#besides")).to_contain_text("; a person stopped it.")


def test_how_far_the_redo_log_is_grown_is_told(site: Site, visit: Open) -> None:
    """With redo.grow_to the page says what status says: the sizes, what is in the way, and when next."""
    site.board.growth = lambda: Growing(2**31, 2**30, None, "gave up", 2**29, time.time() + 60.0)
    besides = visit(site.url).page.locator("#besides")
    line = r"Redo log 1 GiB, 512 MiB found; redo\.grow_to 2 GiB: gave up; next try .*\d\d:\d\d\."
    expect(besides).to_contain_text(re.compile(line))

    site.board.growth = lambda: None
    expect(besides).not_to_contain_text("Redo log")


def test_a_pause_stops_the_writes(site: Site, visit: Open) -> None:
    """Paused from the page the loop writes its park and then nothing, and the page says so until resumed."""
    seen = visit(site.url)
    seen.ask("pause")
    seen.answer(site.token, reason="looking around")
    seen.done()
    expect(seen.state).to_have_text("Paused")
    expect(seen.page.locator("#holds")).to_contain_text("looking around")
    tick = site.tick()
    until(lambda: site.tick() > tick + 3, 60.0, "the park")
    writes, kept, tick = site.writes(), site.in_force(), site.tick()
    until(lambda: site.tick() > tick + 15, 60.0, "fifteen ticks")
    assert (site.writes(), site.in_force()) == (writes, kept)

    seen.ask("pause")
    seen.answer()
    seen.done()

    until(lambda: not site.record().holds, 60.0, "the end of the pause")
    expect(seen.state).to_have_text("Working")


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


def test_every_number_and_time_says_what_it_counts(site: Site, visit: Open) -> None:
    """C and M, every chart's axis and the page's times have a unit; a time of another day has its day."""
    seen = visit(site.url)
    expect(seen.page.locator("#doing")).to_contain_text(" pages/s.")
    expect(seen.page.locator("thead th", has_text="io_capacity")).to_contain_text(", pages/s")
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


def test_every_digit_is_shown(site: Site, visit: Open) -> None:
    """A pair up to 2^64 − 1 is shown to the last digit; texts and other numbers stay as they are."""
    top = 2**64 - 1
    wide = {"io_capacity": 2**53 + 1, "io_capacity_max": top}
    sent = {
        "in_force": wide,
        "small": 12_345,
        "largest": 2**53 - 1,
        "fraction": 0.12345678901234567,
        "text": f'a "quoted" reason: {top}, [{top}]\\',
        "list": [1, -5, 1e300, None, True],
    }
    shown, whole, kept = visit(site.url).page.evaluate(
        """async (sent) => {
          const { parse } = await import("/static/js/api.js");
          const { pair, whole } = await import("/static/js/format.js");
          const found = parse(sent);
          return [pair(found.in_force), whole(found.small), JSON.stringify(found)];
        }""",
        json.dumps(sent),
    )

    thin = "\u202f"
    assert shown == f"{2**53 + 1:,} / {top:,}".replace(",", thin)
    assert whole == f"12{thin}345"
    assert json.loads(kept) == sent | {"in_force": {name: str(value) for name, value in wide.items()}}


def test_c_is_seen_where_it_equals_m(site: Site, visit: Open) -> None:
    """The line that is drawn above the other one lets it through."""
    seen = visit(site.url)
    lines = seen.page.locator('[data-chart="capacity"] .key li')

    expect(lines.nth(0)).to_contain_text("IO Capacity Max")
    expect(lines.nth(1)).to_contain_text("IO Capacity")
    expect(lines.nth(1).locator(".swatch.dashed")).to_have_count(1)


def test_each_decision_opens_its_reasons_by_keyboard(site: Site, visit: Open) -> None:
    """Enter on a decision opens its sentences, Escape closes them, and the focus is back where it was."""
    seen = visit(site.url)
    button = seen.page.locator("#decisions tr.wrote button.more").first
    if not button.count():
        site.board.submit(Command(name="override", who="test", value=1200, ttl=5.0))
    button.focus()
    seen.page.keyboard.press("Enter")

    expect(seen.page.locator("#why-body")).to_contain_text("innodb_io_capacity_max went from")
    expect(seen.page.locator("#why-body")).to_contain_text("of the flush limit")
    assert seen.findings() == []
    assert seen.complaints == []
    seen.page.keyboard.press("Escape")
    expect(seen.page.locator("#why-dialog")).to_be_hidden()
    assert seen.page.evaluate("document.activeElement.className") == "more"
