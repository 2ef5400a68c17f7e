"""``innobrim fleet`` beside a real Prometheus that scrapes many daemons."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.daemons import SOON, Daemons, fleet, prometheus, rolled_out
from tests.real.support import until

HOSTS = 40
GROUP = '[loop]\nmode = "active"\n[fleet]\nactive_percent = 100\n'


@pytest.fixture(scope="module")
def scraped() -> Iterator[tuple[str, str, Path]]:
    """Yield the URLs of a Prometheus that has scraped all and of its targets, and the group's file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        group = folder / "group.toml"
        group.write_text(GROUP, encoding="utf-8")
        daemons = Daemons(HOSTS, group, worse=0.1)
        daemons.held, daemons.down = {"db0001"}, {"db0002"}
        with daemons.served() as targets, prometheus(targets, folder, interval=2) as (url, _):
            until(lambda: scraped_by(url) >= HOSTS - 1, SOON, "every daemon scraped")
            yield url, targets, group


def scraped_by(url: str) -> int:
    """Return how many daemons have been scraped."""
    try:
        return int(fleet("--prometheus", url).answer.get("answering", 0))
    except AssertionError:
        return 0


def test_it_shows_who_is_held_who_is_worst_and_what_runs(scraped: tuple[str, str, Path]) -> None:
    """Of all at once: the one that does not answer first, then those that did worse, then the held."""
    url, targets, _ = scraped
    ran = fleet("--prometheus", url, "--targets", targets)
    worst = {one["name"]: one["trouble"] for one in ran.answer["worst"]}

    assert ran.code == 1
    assert (ran.answer["hosts"], ran.answer["answering"]) == (HOSTS, HOSTS - 1)
    assert ran.answer["worst"][0]["name"] == "db0002"
    assert "gets no answer" in worst["db0002"]
    assert "paused" in worst["db0001"]
    assert sum("did worse" in said for said in worst.values()) == 4
    assert [(one["code"], one["hosts"]) for one in ran.answer["held"]] == [("paused", ["db0001"])]
    assert ran.answer["modes"] == {"active": 35, "advisory": 4, "unknown": 1}
    assert ran.answer["saved_pages"] == 1000.0 * (HOSTS - 1)


def test_a_stage_in_which_many_got_worse_stops(scraped: tuple[str, str, Path]) -> None:
    """Four of forty are more than chance does, whatever was observed of the others."""
    url, targets, group = scraped
    ran = fleet("activate", "--prometheus", url, "--targets", targets, "--group", str(group), "--write")

    assert (ran.code, ran.answer["verdict"], len(ran.answer["worse"])) == (1, "stop", 4)
    assert group.read_text(encoding="utf-8") == GROUP


@pytest.mark.parametrize(
    ("selector", "part"),
    [('job="mysql"', "--selector"), ('job="innobrim', "answers 400"), ("", "--selector")],
)
def test_labels_that_select_nothing_are_told(
    scraped: tuple[str, str, Path], selector: str, part: str
) -> None:
    """Exit 2 with what was asked for and which option is right, or with Prometheus' own words."""
    ran = fleet("--prometheus", scraped[0], "--selector", selector or 'job="x",instance=~"y"')

    assert ran.code == 2
    assert part in ran.answer["detail"]


@pytest.mark.prove
@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(("share", "stage"), [(0.03, 10.0), (0.0, 100.0)])
def test_a_thousand_servers(share: float, stage: float) -> None:
    """The fleet is shown within two seconds; a rollout stops where 3 % get worse, and else reaches all.

    Measure on a machine that is idle: ``docs/results/fleet.md`` has the figures.
    """
    looks = list(rolled_out(1000, share, interval=30, observe="90s"))

    assert min(look["shown_seconds"] for look in looks) < 2.0
    assert looks[-1]["percent"] == stage
    assert looks[-1]["verdict"] == ("stop" if share else "proceed")
