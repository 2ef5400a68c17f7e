"""The page beside a daemon that comes, goes, stands still and comes back: nothing lost, nothing twice."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from playwright.sync_api import APIResponse, Route, expect

from tests.browser.fixtures import Open
from tests.browser.visit import Visit
from tests.real.support import until
from tests.served import Site

pytestmark = pytest.mark.browser

PACE = 0.5
"""Real seconds of a tick."""

TRIES = 6
"""Times that a page asks for a file of its own."""

DAY = timedelta(days=1)

STEP = timedelta(seconds=1)
"""A point is read out at the beginning of its second, which another answer may cut elsewhere."""


@pytest.fixture
def site() -> Iterator[Site]:
    """Yield an active loop of its own."""
    with Site(pace=PACE, history=120.0) as found:
        yield found


def all_listed(seen: Visit, site: Site) -> bool:
    """Tell whether the page lists as many events as there are; the loop may add one at any moment."""
    return seen.page.locator("#events li").count() == len(site.board.events(limit=80))


@pytest.mark.parametrize(
    "name", ["js/main.js", "js/verdict.js", "page.css", "vendor/uplot/uPlot.iife.min.js"]
)
def test_a_file_that_did_not_arrive_is_asked_for_again(site: Site, visit: Open, name: str) -> None:
    """A network that changes while the page loads leaves no dead page: it is loaded again."""
    seen = visit(site.url)
    asked: list[Route] = []

    def lose_once(route: Route) -> None:
        asked.append(route)
        if len(asked) == 1:
            route.abort("connectionaborted")
        else:
            route.continue_()

    seen.page.route(f"**/static/{name}", lose_once)
    seen.page.goto(site.url)
    until(lambda: seen.state.is_visible() and len(asked) > 1, 60.0, f"{name} asked for again")

    seen.shown()


def test_a_file_that_never_arrives_is_named_and_asked_for_no_more(site: Site, visit: Open) -> None:
    """A page that cannot be whole says which file is missing, and leaves the daemon alone after six tries."""
    seen = visit(site.url)
    asked: list[Route] = []

    def lose(route: Route) -> None:
        asked.append(route)
        route.abort("connectionaborted")

    seen.page.route("**/static/js/main.js", lose)
    seen.page.goto(site.url)

    expect(seen.state).to_have_text("/static/js/main.js did not arrive; a reload asks for it again")
    assert len(asked) == TRIES

    seen.page.unroute("**/static/js/main.js")
    seen.open()


def test_a_page_that_lost_a_file_outlives_the_daemon(visit: Open) -> None:
    """A daemon that ends while the page loads leaves it waiting, and is found when it comes back."""
    with Site(pace=0.5, history=120.0) as first:
        seen = visit(first.url)
        seen.page.route("**/static/js/verdict.js", lambda route: route.abort("connectionaborted"))
        seen.page.route("**/livez", lambda route: route.abort("connectionrefused"))
        seen.page.goto(first.url)
        expect(seen.state).to_contain_text("the page is loaded again")
    seen.page.unroute_all()
    with Site(pace=0.5, history=120.0, port=first.port):
        seen.shown()


def test_a_daemon_that_comes_back_is_followed(visit: Open) -> None:
    """After a restart the page goes on by itself, with the new daemon's decisions and events alone."""
    with Site(pace=0.5) as first:
        seen = visit(first.url)
        old = seen.page.locator("#events li").all_inner_texts()
    expect(seen.verdict).to_have_attribute("data-level", "lost")
    with Site(pace=0.5, history=120.0, port=first.port) as second:
        expect(seen.state).to_have_text("Working")
        until(lambda: all_listed(seen, second), 60.0, "all events in the list")
        assert seen.page.locator("#events li").all_inner_texts() != old
        drawn = seen.drawn()
        until(lambda: seen.drawn() != drawn, 60.0, "charts that move again")


def test_points_from_before_a_restart_stay(visit: Open) -> None:
    """The charts begin where they began, though the new daemon remembers none of it."""
    with Site(pace=0.5, history=300.0) as first:
        seen = visit(first.url)
        old = seen.oldest_point()
    expect(seen.verdict).to_have_attribute("data-level", "lost")
    with Site(pace=0.5, history=5.0, port=first.port) as second:
        expect(seen.state).to_have_text("Working")
        until(lambda: all_listed(seen, second), 60.0, "all events in the list")
        moved = (seen.oldest_point() - old) % DAY
        assert min(moved, DAY - moved) <= STEP


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


def test_a_late_tick_is_no_gap(site: Site, visit: Open) -> None:
    """A machine that was busy for seconds is not drawn as an outage; the loop itself calls none stale."""
    seen = visit(site.url)
    table = seen.page.evaluate(
        """async () => {
          const { Series } = await import("/static/js/series.js");
          const series = new Series(["age"], 600);
          for (const [at, age] of [[100.2, 1], [104.9, 2], [109.9, 3]]) series.add(at, { age }, false);
          return series.table(["age"])[1];
        }"""
    )

    assert table == [1, 2, None, 3]


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

        until(lambda: all_listed(seen, site), 60.0, "all events in the list")
        expect(seen.page.locator("#events")).to_contain_text("paused by test")


def test_a_dead_loop_shows(visit: Open) -> None:
    """A loop that stands still is called that."""
    with Site(pace=0.5) as dying:
        seen = visit(dying.url)
        dying.pace(1000.0)
        expect(seen.state).to_have_text("The loop has stopped", timeout=90_000)
        expect(seen.verdict).to_have_attribute("data-level", "alarm")


def test_a_daemon_that_is_gone_shows(visit: Open) -> None:
    """Where nobody answers any more the page says so at once, and takes no more questions."""
    with Site(pace=0.5) as dying:
        seen = visit(dying.url)
    expect(seen.verdict).to_have_attribute("data-level", "lost")
    expect(seen.page.locator("#doing")).to_contain_text("Not known since")
    expect(seen.page.locator("#without")).to_contain_text("last answered")
    expect(seen.page.locator("#link-text")).to_have_text("not connected")
    expect(seen.page.locator('[data-act="override"]')).to_be_disabled()
