"""One file for a group, and exceptions in each host's own file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from tests.config.support import Given
from tuner.config import load
from tuner.config.fleet import belongs, in_force, place
from tuner.config.load import examine
from tuner.config.schema import Config, FleetTable
from tuner.settings import Mode, Settings

GROUP = """
[server]
socket = "/run/mysqld/mysqld.sock"
[loop]
mode = "active"
max_io_capacity_max = 20000
[[schedule]]
name = "backup"
cron = "0 1 * * *"
minutes = 60
drain = true
[fleet]
active_percent = 10
servers = ["a", "b"]
"""


def test_the_hosts_file_wins_key_by_key_and_each_value_says_its_file(given: Given, tmp_path: Path) -> None:
    """A host's exception beats the group, whatever the group's others are, and each value names its file."""
    (tmp_path / "group.toml").write_text(GROUP, encoding="utf-8")
    own = 'include = "group.toml"\n[server]\nhost = "10.0.0.5"\n[loop]\nmax_io_capacity_max = 8000\n'
    config = given.load(
        f'{own}[[schedule]]\nname = "backup"\ncron = "0 2 * * *"\nminutes = 5\ndrain = true\n'
    )
    sources = examine(str(given.path), environ={}, flags={}).sources

    assert (config.loop.mode, config.loop.max_io_capacity_max) == (Mode.ACTIVE, 8000)
    assert (config.server.host, config.server.socket) == ("10.0.0.5", None)
    assert [one.cron for one in config.schedule] == ["0 2 * * *"]
    assert config.fleet == FleetTable(active_percent=10.0, servers=("a", "b"))
    assert sources["loop.mode"].origin == str(tmp_path / "group.toml")
    assert (sources["loop.max_io_capacity_max"].origin, sources["loop.mode"].line) == (str(given.path), 5)
    assert config.files == (str(given.path), str(tmp_path / "group.toml"))


def test_of_two_included_files_the_later_one_wins(given: Given, tmp_path: Path) -> None:
    """A list is read in its order, and an included file may include others."""
    (tmp_path / "base.toml").write_text("[loop]\nratio = 2\ndwell_seconds = 11.0\n", encoding="utf-8")
    (tmp_path / "site.toml").write_text('include = ["base.toml"]\n[loop]\nratio = 3\n', encoding="utf-8")
    (tmp_path / "late.toml").write_text("[loop]\ndwell_seconds = 12.0\n", encoding="utf-8")
    loop = given.load('include = ["site.toml", "late.toml"]').loop

    assert (loop.ratio, loop.dwell_seconds) == (3, 12.0)


def test_a_file_that_several_include_is_read_once(
    given: Given, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it changes while the files are read, one version of it counts, and no mixture of two."""
    base = tmp_path / "base.toml"
    base.write_text("[loop]\nratio = 2\n[fleet]\npaused = true\n", encoding="utf-8")
    for name in ("one.toml", "two.toml"):
        (tmp_path / name).write_text('include = "base.toml"\n', encoding="utf-8")
    read = load.read_toml

    def changed_after(path: str, *more: str) -> object:
        found = read(path, *more)
        if path == str(base):
            base.write_text("[loop]\nratio = 3\n", encoding="utf-8")
        return found

    monkeypatch.setattr(load, "read_toml", changed_after)
    config = given.load('include = ["one.toml", "two.toml"]')

    assert (config.loop.ratio, config.fleet.paused) == (2, True)
    assert config.files == tuple(
        str(one) for one in (given.path, tmp_path / "one.toml", base, tmp_path / "two.toml")
    )


def test_a_mistake_in_a_file_that_several_include_is_told_once(given: Given, tmp_path: Path) -> None:
    """However many ways lead to it, it is one mistake."""
    (tmp_path / "base.toml").write_text("[loop]\nratio = 99\n", encoding="utf-8")
    for name in ("one.toml", "two.toml"):
        (tmp_path / name).write_text('include = "base.toml"\n', encoding="utf-8")

    assert len(given.refused('include = ["one.toml", "two.toml"]')) == 1


@pytest.mark.parametrize(
    ("host", "group", "parts"),
    [
        ('include = "gone.toml"', "", ("gone.toml: no such file", "mend the include in FILE")),
        ("include = 3", "", ("FILE:include = 3", 'such as "group.toml"')),
        ('include = ["group.toml", ""]', "", ("FILE:include", "a list of paths")),
        ('include = "group.toml"', 'include = "c.toml"', ("FILE includes", "a circle")),
        (
            'include = "group.toml"',
            "[loop]\nratoi = 2",
            ("group.toml:loop.ratoi", "did you mean ratio in [loop]"),
        ),
        ('include = "group.toml"', "[loop]\nratio = 99", ("group.toml:loop.ratio = 99", "up to 20")),
        ('[loop]\ninclude = "group.toml"', "", ("FILE:loop.include", "above the first table")),
        ("[fleet]\nactive_percent = 101", "", ("FILE:fleet.active_percent = 101", "from 0 up to 100")),
        ("[fleet]\npausd = true", "", ("FILE:fleet.pausd", "did you mean paused in [fleet]")),
        ('[fleet]\nservers = "a"', "", ("FILE:fleet.servers", "a list of texts")),
    ],
)
def test_what_is_wrong_names_the_file_and_the_key(
    given: Given, tmp_path: Path, host: str, group: str, parts: tuple[str, ...]
) -> None:
    """Each mistake is told with its file, its key, its value and what would be right."""
    (tmp_path / "group.toml").write_text(group, encoding="utf-8")
    (problem,) = given.refused(host)

    for part in parts:
        assert part in problem


def test_an_included_file_that_others_can_change_is_refused(given: Given, tmp_path: Path) -> None:
    """Whoever could write to it could make a host active, as with the host's own file."""
    (tmp_path / "group.toml").write_text(GROUP, encoding="utf-8")
    (tmp_path / "group.toml").chmod(0o666)

    (problem,) = given.refused('include = "group.toml"')
    assert f"chmod o-w {tmp_path / 'group.toml'}" in problem


@drawn(st.text(), st.floats(0.0, 100.0), st.floats(0.0, 100.0))
def test_a_server_of_a_smaller_stage_is_one_of_every_larger(identity: str, one: float, other: float) -> None:
    """A stage that grows takes no server out; none belongs to 0 percent, and each to 100."""
    small, large = sorted((one, other))

    assert belongs(identity, large) or not belongs(identity, small)
    assert belongs(identity, 100.0)
    assert not belongs(identity, 0.0)


def test_a_stage_is_as_large_as_it_says() -> None:
    """Of ten thousand servers about as many belong to a stage as its percentage says."""
    names = [hashlib.md5(str(n).encode()).hexdigest() for n in range(10_000)]  # noqa: S324 - no secret

    for percent in (1.0, 10.0, 50.0):
        assert sum(place(name) < percent for name in names) == pytest.approx(100 * percent, rel=0.2)


def test_the_fleet_makes_no_server_active_that_its_configuration_does_not() -> None:
    """A stage only takes away: a host whose own file says advisory stays so at 100 percent."""
    stage = FleetTable(active_percent=100.0)

    assert in_force(Config(fleet=stage), "x").mode is Mode.ADVISORY
    assert in_force(Config(loop=Settings(mode=Mode.ACTIVE), fleet=stage), "x").mode is Mode.ACTIVE
    assert (
        in_force(Config(loop=Settings(mode=Mode.ACTIVE), fleet=FleetTable(active_percent=0.0)), "x").mode
        is Mode.ADVISORY
    )
