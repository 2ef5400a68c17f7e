"""``innobrim schedule``: what is active, what comes, and whose value counts where windows overlap."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.almanac import at
from tuner.cli.main import cli
from tuner.config import load

NOW = at("UTC", 2026, 11, 1, 0, 45)
NIGHT = """
[[schedule]]
name = "backup"
cron = "30 1 * * *"
minutes = 60
timezone = "America/New_York"
drain = true
set_point = 0.6

[[schedule]]
name = "night"
cron = "0 22 * * *"
minutes = 480
timezone = "America/New_York"
set_point = 0.5
learn = false

[[schedule]]
name = "berlin"
cron = "0 1 * * *"
minutes = 60
timezone = "Europe/Berlin"
set_point = 0.6
"""

DRAINS = "the drain of backup decides while it is under way, at or below the set-point otherwise in force"
WINS = f"set_point as night has it, {DRAINS}"
LISTED = f"""\
active now:
  berlin: set_point = 0.6; since Sun 2026-11-01 01:00 +01:00, until Sun 2026-11-01 02:00 +01:00, 15m left
next day:
  begins                       ends                         name    effects
  Sat 2026-10-31 22:00 -04:00  Sun 2026-11-01 05:00 -05:00  night   set_point = 0.5, learn = false
  Sun 2026-11-01 01:30 -04:00  Sun 2026-11-01 01:30 -05:00  backup  set_point = 0.6, drain = true
  Mon 2026-11-02 01:00 +01:00  Mon 2026-11-02 02:00 +01:00  berlin  set_point = 0.6
overlaps:
  backup and night, once, Sun 2026-11-01 01:30 -04:00 to Sun 2026-11-01 01:30 -05:00: {WINS}
"""


ALWAYS = """
[[schedule]]
name = "{name}"
cron = "{cron}"
minutes = {minutes}
timezone = "UTC"
drain = true
"""

EVERY = """
[[schedule]]
name = "{name}"
cron = "{cron}"
minutes = {minutes}
timezone = "UTC"
set_point = {value}
"""


def asked(path: Path, text: str, *words: str) -> Result:
    """Run the command with this configuration."""
    path.joinpath("c.toml").write_text(text, encoding="utf-8")
    return run("schedule", "--config", str(path / "c.toml"), *words)


def run(*words: str) -> Result:
    """Run a command."""
    return CliRunner().invoke(cli, words, prog_name="innobrim")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory, at a known time."""
    monkeypatch.setattr(time, "time", lambda: NOW)
    return tmp_path


def test_it_lists_what_is_active_and_what_comes(here: Path) -> None:
    """Times are those of each schedule's zone with the offset of then; overlaps say whose value counts."""
    result = asked(here, '[loop]\nmode = "active"\n' + NIGHT, "--days", "1")

    assert result.exit_code == 0
    assert result.output == LISTED


def test_machines_get_the_same(here: Path) -> None:
    """One object, with ISO times, Unix times and the effects as values."""
    plan = json.loads(asked(here, NIGHT, "--days", "1", "--json").stdout)

    assert (plan["now"], plan["days"], [one["name"] for one in plan["active"]]) == (NOW, 1, ["berlin"])
    night, backup, berlin = plan["coming"]
    assert (backup["begins"], backup["ends"]) == ("2026-11-01T01:30-04:00", "2026-11-01T01:30-05:00")
    assert backup["ends_at"] - backup["begins_at"] == 3_600
    assert backup["effects"] == {"set_point": 0.6, "drain": True}
    assert night["overlaps"][0]["wins"] == {"set_point": "night"}
    assert (berlin["timezone"], berlin["overlaps"]) == ("Europe/Berlin", [])
    assert plan["notes"] == [
        "the configuration's mode is advisory: windows are shown, and nothing is written for them"
    ]


def test_nothing_in_common_counts_on_both_sides(here: Path) -> None:
    """Windows that overlap without touching each other's effects are said to count both."""
    text = NIGHT.replace("drain = true\nset_point = 0.6\n", "drain = true\n")

    output = asked(here, text.replace("set_point = 0.5\n", "")).output

    assert "no effect in common, so all of both count" in output


def test_a_drain_over_a_set_point_is_said_to_decide(here: Path) -> None:
    """Who drains inside another window's set-point or budget reads that the drain decides meanwhile."""
    night = NIGHT.replace("drain = true\nset_point = 0.6\n", "drain = true\n")
    for text in (night, night.replace("set_point = 0.5", "max_shutdown_seconds = 60")):
        assert asked(here, text, "--days", "1").output.count(f": {DRAINS}\n") == 1

        plan = json.loads(asked(here, text, "--days", "1", "--json").stdout)
        assert [one["overlaps"][0]["drain_decides"] for one in plan["coming"][:2]] == ["backup", "backup"]
        assert plan["coming"][0]["overlaps"][0]["wins"] == {}


def test_a_rival_that_begins_beyond_what_is_looked_ahead_is_an_overlap(here: Path) -> None:
    """A listed window names all that overlaps it to its own end, whatever the number of days."""
    text = """
[[schedule]]
name = "night"
cron = "0 20 * * *"
minutes = 660
timezone = "UTC"
set_point = 0.7

[[schedule]]
name = "backup"
cron = "0 3 * * *"
minutes = 60
timezone = "UTC"
set_point = 0.4
"""
    output = asked(here, '[loop]\nmode = "active"\n' + text, "--days", "1").output
    plan = json.loads(asked(here, text, "--days", "1", "--json").stdout)

    assert output.endswith(
        "  night   set_point = 0.7\noverlaps:\n  night and backup, 2 times, "
        "first Sun 2026-11-01 03:00 +00:00 to Sun 2026-11-01 04:00 +00:00: set_point as backup has it\n"
    )
    assert [one["begins"] for one in plan["coming"]] == ["2026-11-01T03:00+00:00", "2026-11-01T20:00+00:00"]
    assert plan["coming"][1]["overlaps"][0]["begins"] == "2026-11-02T03:00+00:00"


def test_an_overlap_that_comes_again_is_said_once_with_its_number(here: Path) -> None:
    """Who has a window without end beside a frequent one reads what comes, and one line of overlaps."""
    text = EVERY.format(name="sp1", cron="* * * * *", minutes=5, value=0.5)
    text += EVERY.format(name="sp2", cron="*/15 * * * *", minutes=5, value=0.6)
    plan = json.loads(asked(here, text, "--days", "1", "--json").stdout)

    lines = asked(here, '[loop]\nmode = "active"\n' + text, "--days", "1").output.splitlines()

    span = "Sun 2026-11-01 00:45 +00:00 to Sun 2026-11-01 00:50 +00:00"
    assert [line for line in lines if "sp1" in line] == [
        "  sp1: set_point = 0.5; active without end",
        f"  sp1 and sp2, 96 times, first {span}: set_point as sp1 has it",
        "note: sp1 never ends, as it begins again before it is over",
    ]
    assert (
        len(lines)
        == len(("active now:", "sp1", "sp2", "next day:", "begins", "overlaps:", "pair", "note")) + 95
    )
    assert [one["times"] for one in plan["active"][0]["overlaps"]] == [96]
    assert (plan["overlaps"][0]["names"], plan["overlaps"][0]["times"]) == (["sp1", "sp2"], 96)


def test_two_windows_without_end_overlap_all_the_time(here: Path) -> None:
    """No time is made up for an overlap that has neither beginning nor end."""
    text = "".join(
        EVERY.format(name=name, cron="* * * * *", minutes=2, value=value)
        for name, value in (("a", 0.5), ("b", 0.6))
    )

    assert "\n  a and b, all the time: set_point as a has it\n" in asked(here, text).output


def test_a_dense_listing_says_what_it_leaves_out(here: Path) -> None:
    """Text and JSON are bounded, name how many windows are left out and the last, and list all when asked."""
    text = '[loop]\nmode = "active"\n' + EVERY.format(name="dense", cron="*/5 * * * *", minutes=1, value=0.5)

    output = asked(here, text, "--days", "1").output
    listed = asked(here, text, "--days", "1", "--limit", "287").output
    plan = json.loads(asked(here, text, "--days", "1", "--limit", "5", "--json").stdout)
    whole = json.loads(asked(here, text, "--days", "1", "--json").stdout)

    assert output.endswith(
        "\n  and 187 more, the last is dense, Mon 2026-11-02 00:40 +00:00; --limit 287 lists them all\n"
    )
    assert output.count("set_point") == 101
    assert listed.count("set_point") == 288
    assert " more, " not in listed
    assert (len(plan["coming"]), plan["more"], plan["last"]["begins"]) == (5, 282, "2026-11-02T00:40+00:00")
    assert (len(whole["coming"]), whole["more"], whole["last"]) == (287, 0, None)


def test_a_year_of_dense_schedules_is_listed_in_some_seconds(here: Path) -> None:
    """Three schedules of every second minute or denser take no minutes of anybody's time."""
    crons = ("* * * * *", "*/2 * * * *", "1-59/2 * * * *")
    text = "".join(
        EVERY.format(name=name, cron=cron, minutes=1, value=0.5)
        for name, cron in zip("abc", crons, strict=True)
    )
    begun = time.process_time()

    output = asked(here, text, "--days", "366").output

    assert time.process_time() - begun < 20.0
    assert f"and {366 * 1440 - 101} more, " in output
    assert "  a and b, 263520 times, first " in output
    assert "b and c" not in output


def test_a_set_point_of_a_persons_own_is_noted(here: Path) -> None:
    """Who sets loop.set_point learns that no schedule's counts beside it."""
    result = asked(here, "[loop]\nset_point = 0.7\n" + NIGHT)

    assert "note: loop.set_point = 0.7 comes before the set_point of any schedule" in result.output


def test_without_a_schedule_it_says_so(here: Path) -> None:
    """An empty schedule is fine, and the answer says where to read on."""
    result = asked(here, "")

    assert result.exit_code == 0
    assert result.output.startswith("no schedule: the configuration has no [[schedule]] table")
    assert json.loads(asked(here, "", "--json").stdout)["coming"] == []


def test_without_a_file_it_says_that_none_was_read(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who relies on the default path learns that nothing is there, and a file that is read says nothing."""
    path = here / "innobrim.toml"
    monkeypatch.setattr(load, "DEFAULT_PATH", str(path))
    note = f"no configuration file was read: there is no {path}; name another one with --config"

    none, as_json = (run("schedule", *words) for words in ([], ["--json"]))
    path.write_text(NIGHT, encoding="utf-8")
    there = run("schedule")

    assert none.exit_code == 0
    assert none.output.splitlines()[1:] == [f"note: {note}"]
    assert json.loads(as_json.stdout)["notes"] == [note]
    assert "no configuration file" not in there.output
    assert "backup" in there.output


def test_nothing_active_and_nothing_coming_is_said(here: Path) -> None:
    """A schedule that is far away leaves no empty table behind."""
    far = '[[schedule]]\nname = "far"\ncron = "0 0 1 6 *"\nminutes = 60\ntimezone = "UTC"\ndrain = true\n'

    lines = asked(here, '[loop]\nmode = "active"\n' + far).output.splitlines()

    assert lines == [
        "active now: none",
        "next 7 days: none begins; the next is far, Tue 2027-06-01 00:00 +00:00",
    ]


def test_a_window_of_a_leap_day_is_named_years_ahead(here: Path) -> None:
    """Who asks for 29 February learns when it is, although that is beyond the most days."""
    leap = ALWAYS.format(name="leap", cron="0 2 29 2 *", minutes=60)
    plan = json.loads(asked(here, leap, "--days", "366", "--json").stdout)

    output = asked(here, leap, "--days", "366").output

    assert "none begins; the next is leap, Tue 2028-02-29 02:00 +00:00" in output
    assert (plan["coming"], plan["later"]["begins"]) == ([], "2028-02-29T02:00+00:00")


def test_a_wrong_configuration_ends_it(here: Path) -> None:
    """Exit 2, with the line that a daemon would refuse it with."""
    result = asked(here, NIGHT.replace("Europe/Berlin", "Europe/Berln"))

    assert result.exit_code == 2
    assert 'schedule[3] "berlin".timezone = "Europe/Berln"' in result.output
    assert "did you mean Europe/Berlin?" in result.output


@pytest.mark.parametrize("days", ["0", "367", "x"])
def test_days_have_bounds(here: Path, days: str) -> None:
    """Another number of days is a mistake of usage."""
    assert asked(here, NIGHT, "--days", days).exit_code == 2


def test_a_window_that_never_ends_is_said_to(here: Path) -> None:
    """One that begins again before it is over has no end, however far one looks; a drain is warned of."""
    text = ALWAYS.format(name="always", cron="* * * * *", minutes=5)
    result = asked(here, text, "--days", "1")

    assert "always: drain = true; active without end\nnext day: none begins\n" in result.output
    assert "note: always never ends, as it begins again before it is over; a drain is to end" in result.output
    (always,) = json.loads(asked(here, text, "--days", "1", "--json").stdout)["active"]
    assert (always["begins"], always["begins_at"], always["ends"]) == (None, None, None)


def test_an_endless_window_of_long_windows_has_no_beginning(here: Path) -> None:
    """A daily window of more than a day is active without end, not since this morning's."""
    text = ALWAYS.format(name="daily", cron="0 2 * * *", minutes=2000).replace(
        "drain = true", "learn = false"
    )

    assert "daily: learn = false; active without end\n" in asked(here, text).output


def test_an_active_window_began_when_its_schedule_began(here: Path) -> None:
    """A window that has begun again before it was over is active since the first of these beginnings."""
    text = ALWAYS.format(name="night", cron="*/5 22-23,0-5 * * *", minutes=10)

    since = "since Sat 2026-10-31 22:00 +00:00, until Sun 2026-11-01 06:05 +00:00, 5h 20m left"
    assert f"night: drain = true; {since}\n" in asked(here, text).output


def test_a_window_of_weeks_is_active_for_more_than_a_week(here: Path) -> None:
    """Where the beginning lies further back than is looked, that is said in place of a wrong time."""
    text = ALWAYS.format(name="autumn", cron="0 12 * 9-10 *", minutes=1440)

    told = "for more than a week, until Sun 2026-11-01 12:00 +00:00, 11h 15m left"
    assert f"autumn: drain = true; {told}\n" in asked(here, text).output


def test_the_end_of_a_window_is_found_beyond_what_is_looked_ahead(here: Path) -> None:
    """A window that goes on through the working day ends with it, also where the look ahead ends before."""
    text = ALWAYS.format(name="day", cron="*/5 0-17 * * *", minutes=10)
    day = json.loads(asked(here, text, "--days", "1", "--json").stdout)

    assert [one["ends"] for one in (*day["active"], *day["coming"])] == [
        "2026-11-01T18:05+00:00",
        "2026-11-02T18:05+00:00",
    ]
    assert not any("never ends" in note for note in day["notes"])


def test_a_set_point_of_a_person_is_said_to_come_before_budgets_too(here: Path) -> None:
    """The note names everything of the schedules that loop.set_point takes the effect from."""
    night = NIGHT.replace("drain = true", "max_recovery_seconds = 60")
    result = asked(here, "[loop]\nset_point = 0.8\n" + night)

    assert (
        "note: loop.set_point = 0.8 comes before the set_point and max_recovery_seconds of any schedule"
        in result.output
    )


def test_a_window_of_months_has_an_end(here: Path) -> None:
    """A window that begins again every day until its months are over is not called endless."""
    text = ALWAYS.format(name="winter", cron="0 */2 * 1,2,11,12 *", minutes=120)
    result = asked(here, text, "--days", "1")

    assert "until Mon 2027-03-01 00:00 +00:00" in result.output
    assert "never ends" not in result.output
