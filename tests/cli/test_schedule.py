"""``innobrim schedule``: what is active, what comes, and whose value counts where windows overlap."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.support import ended, innobrim
from tests.daemon.almanac import at
from tuner.config import load

NOW = at("UTC", 2026, 11, 1, 0, 45)
ACTIVE = '[loop]\nmode = "active"\n'


def written(name: str, cron: str, minutes: int, effect: str = "drain = true", zone: str = "UTC") -> str:
    """Return a schedule's table as it stands in a file."""
    when = f'cron = "{cron}"\nminutes = {minutes}\ntimezone = "{zone}"\n'
    return f'[[schedule]]\nname = "{name}"\n{when}{effect}\n'


NIGHT = (
    written("backup", "30 1 * * *", 60, "drain = true\nset_point = 0.6", "America/New_York")
    + written("night", "0 22 * * *", 480, "set_point = 0.5", "America/New_York")
    + written("berlin", "0 1 * * *", 60, "set_point = 0.6", "Europe/Berlin")
)
LISTED = """\
active now:
  berlin: set_point = 0.6; since Sun 2026-11-01 01:00 +01:00, until Sun 2026-11-01 02:00 +01:00, 15m left
next day:
  begins                       ends                         name    effects
  Sat 2026-10-31 22:00 -04:00  Sun 2026-11-01 05:00 -05:00  night   set_point = 0.5
  Sun 2026-11-01 01:30 -04:00  Sun 2026-11-01 01:30 -05:00  backup  set_point = 0.6, drain = true
  Mon 2026-11-02 01:00 +01:00  Mon 2026-11-02 02:00 +01:00  berlin  set_point = 0.6
overlaps:
  backup and night, first Sun 2026-11-01 01:30 -04:00: set_point as night has it
"""


run = partial(innobrim, "schedule")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory, at a known time."""
    monkeypatch.setattr(time, "time", lambda: NOW)
    return tmp_path


def asked(path: Path, text: str, *words: str) -> Result:
    """Run the command with this configuration."""
    path.joinpath("c.toml").write_text(text, encoding="utf-8")
    return run("--config", str(path / "c.toml"), *words)


def plan(path: Path, text: str, *words: str) -> Any:  # noqa: ANN401 - JSON
    """Return what machines get for this configuration."""
    return json.loads(asked(path, text, "--days", "1", "--json", *words).stdout)


def test_it_lists_what_is_active_and_what_comes(here: Path) -> None:
    """Times are those of each schedule's zone with the offset of then; overlaps say whose value counts."""
    result = asked(here, ACTIVE + NIGHT, "--days", "1")

    assert (result.exit_code, result.output) == (0, LISTED)


def test_machines_get_the_same(here: Path) -> None:
    """One object, with ISO times, Unix times and the effects as values."""
    found = plan(here, NIGHT)
    night, backup, berlin = found["coming"]

    assert (found["now"], found["days"], [one["name"] for one in found["active"]]) == (NOW, 1, ["berlin"])
    assert (backup["begins"], backup["ends"]) == ("2026-11-01T01:30-04:00", "2026-11-01T01:30-05:00")
    assert backup["ends_at"] - backup["begins_at"] == 3_600
    assert backup["effects"] == {"set_point": 0.6, "drain": True}
    assert (night["name"], berlin["timezone"]) == ("night", "Europe/Berlin")
    assert found["overlaps"] == [
        {"names": ["backup", "night"], "begins": backup["begins"], "wins": {"set_point": "night"}}
    ]


def test_overlaps_are_of_windows_with_time_in_common(here: Path) -> None:
    """Windows that meet do not overlap; those that touch no effect of each other count both."""
    text = (
        written("early", "0 2 * * *", 60)
        + written("late", "0 3 * * *", 60)
        + written("night", "30 2 * * *", 60, "max_shutdown_seconds = 60")
    )
    found = plan(here, text)

    assert [one["names"] for one in found["overlaps"]] == [["early", "night"], ["late", "night"]]
    assert all(one["wins"] == {} for one in found["overlaps"])
    assert asked(here, text).output.count(": all of both count\n") == 2


def test_a_dense_listing_says_what_it_leaves_out(here: Path) -> None:
    """Text and JSON are bounded, say how many windows are left out, and list all when asked."""
    text = ACTIVE + written("dense", "*/5 * * * *", 1)
    output = asked(here, text, "--days", "1").output

    assert output.endswith("\n  and 187 more; --limit 287 lists them all\n")
    assert output.count("drain = true") == 101
    assert (len(plan(here, text, "--limit", "5")["coming"]), plan(here, text)["more"]) == (5, 187)
    assert " more; " not in asked(here, text, "--days", "1", "--limit", "287").output


def test_dense_schedules_are_listed_in_little_time(here: Path) -> None:
    """A year of three schedules of every second minute or denser takes no minute of anybody's time."""
    crons = {"a": "* * * * *", "b": "*/2 * * * *", "c": "1-59/2 * * * *"}
    text = "".join(written(name, cron, 1) for name, cron in crons.items())
    begun = time.process_time()
    output = asked(here, text, "--days", "60").output

    assert time.process_time() - begun < 20.0 * 60 / 366
    assert f"and {60 * 1440 - 101} more; " in output
    assert "b and c" not in output


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (NIGHT, "the configuration's mode is advisory: windows are shown, and nothing is written for them"),
        (
            "[loop]\nset_point = 0.7\n" + NIGHT,
            "loop.set_point = 0.7 comes before the set_point of any schedule",
        ),
        (
            "[loop]\nset_point = 0.7\n" + NIGHT.replace("drain = true", "max_recovery_seconds = 60"),
            "loop.set_point = 0.7 comes before the set_point and max_recovery_seconds of any schedule",
        ),
        (
            written("always", "* * * * *", 5),
            "always begins again before it is over, and has no end in sight; a drain is to end: give it",
        ),
    ],
    ids=["advisory", "set-point", "budget", "endless"],
)
def test_what_keeps_a_window_from_its_effect_is_noted(here: Path, text: str, note: str) -> None:
    """People and machines read what comes before a schedule, or that it never ends."""
    assert f"note: {note}" in asked(here, text).output
    assert any(one.startswith(note) for one in plan(here, text)["notes"])


def test_without_a_schedule_it_says_so(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty schedule is fine; who relies on the default path learns that no file is there."""
    path = here / "innobrim.toml"
    monkeypatch.setattr(load, "DEFAULT_PATH", str(path))
    empty, none = asked(here, ""), run()
    path.write_text(NIGHT, encoding="utf-8")

    assert (empty.exit_code, none.exit_code) == (0, 0)
    assert empty.output.startswith("no schedule: ")
    assert plan(here, "")["coming"] == []
    assert f"there is no {path}" in none.output
    assert "no configuration file" not in (there := run().output)
    assert "backup" in there


@pytest.mark.parametrize(
    ("cron", "days", "later"),
    [("0 0 1 6 *", "7", "Tue 2027-06-01 00:00"), ("0 2 29 2 *", "366", "Tue 2028-02-29 02:00")],
    ids=["far", "leap day"],
)
def test_a_window_beyond_the_days_is_named(here: Path, cron: str, days: str, later: str) -> None:
    """A schedule that is far away leaves no empty table, and says when it comes."""
    output = asked(here, ACTIVE + written("far", cron, 60), "--days", days).output

    assert output == f"active now: none\nnext {days} days: none begins; the next is far, {later} +00:00\n"


@pytest.mark.parametrize(
    ("cron", "minutes", "told"),
    [
        ("* * * * *", 5, "for more than a week, without an end in sight"),
        ("0 2 * * *", 2000, "for more than a week, without an end in sight"),
        (
            "*/5 22-23,0-5 * * *",
            10,
            "since Sat 2026-10-31 22:00 +00:00, until Sun 2026-11-01 06:05 +00:00, 5h 20m left",
        ),
        ("0 12 * 9-10 *", 1440, "for more than a week, until Sun 2026-11-01 12:00 +00:00, 11h 15m left"),
        (
            "*/5 0-17 * * *",
            10,
            "since Sun 2026-11-01 00:00 +00:00, until Sun 2026-11-01 18:05 +00:00, 17h 20m left",
        ),
    ],
    ids=["always", "long windows", "began again", "for weeks", "beyond the days"],
)
def test_an_active_window_has_its_real_beginning_and_end(
    here: Path, cron: str, minutes: int, told: str
) -> None:
    """One that begins again before it is over is one stretch, as the loop lives it."""
    assert (
        f"  one: drain = true; {told}\n" in asked(here, written("one", cron, minutes), "--days", "1").output
    )


def test_a_wrong_configuration_ends_it(here: Path) -> None:
    """Exit 2, with the line that a daemon would refuse it with; other days than a year has are one, too."""
    ended(
        asked(here, NIGHT.replace("Europe/Berlin", "Europe/Berln")),
        2,
        'schedule[3] "berlin".timezone = "Europe/Berln"',
    )
    assert all(asked(here, NIGHT, "--days", days).exit_code == 2 for days in ("0", "367", "x"))
