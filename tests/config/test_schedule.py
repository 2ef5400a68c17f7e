"""The schedule in the configuration file: what is taken, and what is said of one that is wrong."""

from __future__ import annotations

import zoneinfo

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from tests.config.support import Given
from tuner.config import schedule as reading
from tuner.config.crontab import CrontabError, read_crontab
from tuner.config.keys import ARRAYS, KEYS
from tuner.config.schema import ScheduleTable

GOOD = """
[[schedule]]
name = "nightly-backup"
cron = "30 1 * * *"
minutes = 90
timezone = "Europe/Berlin"
drain = true
"""

NAME = (
    "a text of up to 64 letters, digits, spaces and _ . : + - that begins with a letter, a digit or _, "
    "such as nightly-backup"
)


def test_a_schedule_is_read_from_the_file(given: Given) -> None:
    """Each table becomes a schedule, in the file's order, with what it leaves out as by default."""
    day = '[[schedule]]\nname = "day"\ncron = "0 8 * * mon-fri"\nminutes = 600\nset_point = 0.5\n'

    assert given.load(GOOD + day).schedule == (
        ScheduleTable("nightly-backup", "30 1 * * *", 90, timezone="Europe/Berlin", drain=True),
        ScheduleTable("day", "0 8 * * mon-fri", 600, set_point=0.5),
    )


def test_the_schedule_has_no_plain_key() -> None:
    """No variable and no flag sets a part of it, so it is none of the forty."""
    assert not any(key.section == "schedule" for key in KEYS.values())
    assert set(ARRAYS["schedule"]) == set(ScheduleTable.__struct_fields__)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("drain = true", "dain = true", ".dain: unknown key; did you mean drain?"),
        ("drain = true", 'drain = "yes"', '.drain = "yes": must be true or false'),
        (
            "drain = true",
            "",
            ": has no effect; give at least one of set_point, drain = true, max_recovery_seconds",
        ),
        ("drain = true", "drain = false", ": has no effect; give at least one of set_point"),
        ("drain = true", "set_point = 1.5", ".set_point = 1.5: must be a number above 0.2 up to 1"),
        ("drain = true", "set_point = nan", ".set_point = nan: must be a number above 0.2 up to 1"),
        ("drain = true", "max_recovery_seconds = 0", " = 0: must be a number from 1 up to 86,400"),
        ("minutes = 90", "minutes = 0", ".minutes = 0: must be a whole number from 1 up to 10,080"),
        ("minutes = 90", "minutes = 10081", ".minutes = 10081: must be a whole number from 1 up to 10,080"),
        ("minutes = 90", "minutes = 1.5", ".minutes = 1.5: must be a whole number from 1 up to 10,080"),
        ("minutes = 90", "", ".minutes is missing; it must be a whole number from 1 up to 10,080"),
        (
            "Europe/Berlin",
            "Europe/Berln",
            '.timezone = "Europe/Berln": must be a time zone of the IANA; did you mean Europe/Berlin?',
        ),
        (
            "Europe/Berlin",
            "CEST",
            '.timezone = "CEST": must be a time zone of the IANA; such as Europe/Berlin or UTC',
        ),
        ("Europe/Berlin", "Europe", '.timezone = "Europe": must be a time zone of the IANA; '),
        ("Europe/Berlin", "../etc/passwd", '.timezone = "../etc/passwd": must be a time zone of the IANA; '),
        *(
            ("Europe/Berlin", name, f'.timezone = "{name}": must be a time zone of the IANA; ')
            for name in ("right/Europe/Berlin", "posix/Europe/Berlin", "posixrules", "Factory", "localtime")
        ),
        ("30 1 * * *", "61 1 * * *", """.cron = "61 1 * * *": minute '61' must be 0 to 59, not 61"""),
        (
            "30 1 * * *",
            "30 1 * *",
            'of month, month, day of week) such as "30 1 * * *"; there are 4',
        ),
        ("30 1 * * *", "@daily", '''.cron = "@daily": must have five fields; write "0 0 * * *"'''),
    ],
)
def test_a_bad_value_is_refused_with_what_would_be_right(
    given: Given, old: str, new: str, problem: str
) -> None:
    """The line names file, number and name of the table, key, value, and what would be right."""
    (found,) = given.refused(GOOD.replace(old, new))

    assert found.startswith('FILE:schedule[1] "nightly-backup"')
    assert problem in found


def test_all_tables_are_judged_at_once(given: Given) -> None:
    """Two of the same name are refused by number, and what is wrong with the next table is said as well."""
    problems = given.refused(GOOD + GOOD + '[[schedule]]\ncron = "0 1 31 4,6 *"\nminutes = 5\ndrain = true\n')

    never = "no month among 4,6 has a day 31: the window would never begin"
    taken = "schedule[1] has this name; each needs one of its own"
    assert problems == (
        f'FILE:schedule[2] "nightly-backup".name = "nightly-backup": {taken}',
        f"FILE:schedule[3].name is missing; it must be {NAME}",
        f'FILE:schedule[3].cron = "0 1 31 4,6 *": {never}',
    )


@pytest.mark.parametrize(
    "name",
    ["", " ", " a", "-", "a,b", "<b>", "a\\tb", "a\\nb", "a\\n", "x" * 65, "x" * 300, 'a\\"b', "{}"],
)
def test_a_name_is_one_word_of_a_line(given: Given, name: str) -> None:
    """A name that would spoil a line of the log or a metric's label is refused, with what one may have."""
    (found,) = given.refused(GOOD.replace("nightly-backup", name))

    assert ".name = " in found
    assert found.endswith(f": must be {NAME}")


@pytest.mark.parametrize(
    ("written", "shown"),
    [("a\\nb", "a\\nb"), ("a\\tb", "a\\tb"), ("a\\u001bb", "a\\x1bb"), ("\\u2028", "\\u2028")],
)
def test_a_refused_name_stays_in_its_line(given: Given, written: str, shown: str) -> None:
    """A line end in a name, as any other control character, is escaped in the error, which stays one line."""
    (found,) = given.refused(GOOD.replace("nightly-backup", written).replace("drain", "dain"))[:1]

    assert f'[1] "{shown}".' in found
    assert found.isprintable()


def test_one_table_in_single_brackets_is_no_array(given: Given) -> None:
    """Whoever writes [schedule], or misspells it, is told how it is written."""
    (single,) = given.refused(GOOD.replace("[[schedule]]", "[schedule]"))
    (misspelt,) = given.refused(GOOD.replace("[[schedule]]", "[[shedule]]"))

    assert single == "FILE:schedule must be an array of tables: write [[schedule]] before each"
    assert misspelt.startswith("FILE: [shedule]: unknown section; did you mean [[schedule]]?")


def test_a_variable_sets_no_schedule(given: Given) -> None:
    """A variable that looks like one is refused with where a schedule stands."""
    (found,) = given.refused(GOOD, {"INNOBRIM_SCHEDULE_DRAIN": "true"})

    assert found == (
        "INNOBRIM_SCHEDULE_DRAIN: unknown variable; a schedule stands in the configuration file alone, as a "
        "table [[schedule]]"
    )


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        (None, "Multiple conflicting time zone configurations found: /etc/timezone: UTC; "),
        (
            "Nowhere/Bad",
            'the environment\'s TZ = "Nowhere/Bad" is no time zone of the IANA; set it to one, or ',
        ),
    ],
)
def test_a_machine_without_a_time_zone_has_to_be_told_one(
    given: Given, monkeypatch: pytest.MonkeyPatch, environment: str | None, why: str
) -> None:
    """Where the machine's own zone cannot be told, a schedule without one is refused, in one line."""

    def contradict() -> None:
        raise zoneinfo.ZoneInfoNotFoundError(
            "Multiple conflicting time zone configurations found:\n/etc/timezone: UTC\n"
        )

    if environment is None:
        monkeypatch.delenv("TZ", raising=False)
        monkeypatch.setattr(reading, "reload_localzone", contradict)
    else:
        monkeypatch.setenv("TZ", environment)
    (problem,) = given.refused(GOOD.replace('timezone = "Europe/Berlin"\n', ""))

    assert problem == (
        'FILE:schedule[1] "nightly-backup".timezone is not given, and the machine\'s own cannot be told: '
        f"{why}name one here, such as Europe/Berlin or UTC"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("* 24 * * *", "hour '24' must be 0 to 23, not 24"),
        ("* * 0 * *", "day of month '0' must be 1 to 31, not 0"),
        ("* * * 13 *", "month '13' must be 1 to 12 or jan to dec, not 13"),
        ("* * * * 8", "day of week '8' must be 0 to 7 or sun to sat, not 8"),
        ("* * * jam *", "month 'jam' must be 1 to 12 or jan to dec, not 'jam'"),
        ("5-1 * * * *", "minute '5-1' must be a range that goes up; else write two of them"),
        ("*/0 * * * *", "minute '*/0' must have a step from 1 up to 60, not 0"),
        ("*/61 * * * *", "minute '*/61' must have a step from 1 up to 60, not 61"),
        ("* * L * *", "day of month 'L' must be 1 to 31, not 'L'"),
        (
            "* * ? * *",
            "day of month '?' must be 1 to 31, a range such as 1-5, or *; each may have a step such as */2",
        ),
        ("1,,2 * * * *", "minute '' must be 0 to 59, a range"),
        ("*-5 * * * *", "minute '*-5' must be 0 to 59, a range"),
        ("0 0 30 2 *", "no month among 2 has a day 30: the window would never begin"),
    ],
)
def test_a_crontab_that_cannot_be_read_names_the_field(text: str, problem: str) -> None:
    """Field, what stands there, and what would be right."""
    with pytest.raises(CrontabError) as caught:
        read_crontab(text)

    assert str(caught.value).startswith(problem)


@drawn(st.text(alphabet="0123456789*/-,LW#?@ abdefjmnosuvwy", max_size=30))
def test_no_crontab_is_too_odd_to_be_judged(text: str) -> None:
    """Whatever is written is read within its bounds, or refused in words."""
    try:
        found = read_crontab(text)
    except CrontabError:
        pass
    else:
        assert found.minutes <= set(range(60))
        assert found.hours <= set(range(24))
        assert found.days <= set(range(1, 32))
        assert found.months <= set(range(1, 13))
        assert found.weekdays <= set(range(7))
