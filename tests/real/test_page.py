"""The page in a browser, beside a daemon that writes to a real MySQL under load."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.servers.base import LabServer
from tests.api.factory import free_port
from tests.browser import looks
from tests.browser.fixtures import Open
from tests.real.installation import Innobrim
from tests.real.support import DEFAULT, Work, global_sets, in_force, under_load, until
from tuner.records import Capacity

pytestmark = [pytest.mark.real, pytest.mark.browser]

OVERRIDE_SECONDS = 30
QUIET_TICKS = 15
WRITE_LIMIT = 90.0


class Site:
    """A daemon with its page on loopback."""

    def __init__(self, daemon: Innobrim, port: int) -> None:
        self.daemon = daemon
        self.url = f"http://127.0.0.1:{port}/"

    @property
    def token(self) -> str:
        """Return the token that a person would look up."""
        return (self.daemon.state / "token").read_text(encoding="ascii").strip()


@pytest.fixture(scope="module")
def site(server: LabServer, work: Work, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Yield an active daemon under load that has written something of its own."""
    under_load(server, work, DEFAULT)
    port = free_port()
    with Innobrim(server, tmp_path_factory.mktemp("page")) as daemon:
        daemon.start("--active", "--api-port", str(port))
        daemon.await_own_write(WRITE_LIMIT)
        yield Site(daemon, port)


def test_shows_the_server_and_moves(site: Site, visit: Open) -> None:
    """The page names the server, all charts move by themselves, and no other host is asked for anything."""
    seen = visit(site.url)
    seen.page.locator("#server", has_text="MySQL 9.7").wait_for()
    seen.page.locator("#without", has_text=f"innodb_io_capacity_max {DEFAULT.io_capacity_max}").wait_for()
    drawn = seen.drawn()

    until(lambda: all(new != old for new, old in zip(seen.drawn(), drawn, strict=True)), 60.0, "new charts")

    assert seen.complaints == []
    assert seen.hosts == {site.url.split("/")[2]}


def test_a_pause_stops_the_writes(server: LabServer, site: Site, visit: Open) -> None:
    """Paused from the page the server sees the park and then no SET any more, by its own count."""
    seen = visit(site.url)
    seen.ask("pause")
    seen.answer(site.token)
    seen.done()
    seen.page.get_by_text("Paused", exact=True).wait_for()
    site.daemon.await_ticks(3)
    sets, kept = global_sets(server), in_force(server)
    site.daemon.await_ticks(QUIET_TICKS)
    assert (global_sets(server), in_force(server)) == (sets, kept)
    assert isinstance(kept, Capacity)

    seen.ask("pause")
    seen.answer()
    seen.done()

    seen.page.get_by_text("Working", exact=True).wait_for()


def test_a_phone_has_room_for_it(site: Site, visit: Open) -> None:
    """A real server's name, reasons and figures fit on a phone."""
    looks.a_phone_has_room(visit, site.url)
