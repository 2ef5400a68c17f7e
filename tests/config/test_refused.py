"""What is said of a configuration that is wrong."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from tests.config.support import Given
from tuner.config import tomlfile
from tuner.config.keys import KEYS, nearest_key
from tuner.config.load import ConfigError, load_config
from tuner.config.schema import Config


def test_everything_wrong_is_said_at_once(given: Given) -> None:
    """Source, value and what would be right, for each of them."""
    text = """
    mode = "active"
    [loop]
    set_pont = 0.8
    mode = "activ"
    ratio = 2.5
    [serve]
    x = 1
    [server]
    password = "swordfish"
    port = 99999
    """
    places = "a MySQL option file (server.defaults_file), a systemd credential named mysql-password, or"
    sections = "[server], [loop], [daemon], [redo], [api], [log], [fleet], [hosted], [[schedule]], [[hook]]"
    problems = given.refused(
        text, {"INNOBRIM_SETPIONT": "0.7", "INNOBRIM_LOOP_SET_POINT": "nan"}, {"loop.mod": "x"}
    )

    assert problems == (
        "FILE: mode: stands outside a section; did you mean mode in [loop]?",
        "FILE:loop.set_pont: unknown key; did you mean set_point in [loop]?",
        'FILE:loop.mode = "activ": must be one of advisory, active; did you mean active?',
        "FILE:loop.ratio = 2.5: must be a whole number from 1 up to 20",
        f"FILE: [serve]: unknown section; did you mean [server]? There are {sections}",
        f"FILE:server.password: no place for a secret; put the password into {places} INNOBRIM_PASSWORD",
        "FILE:server.port = 99999: must be a whole number from 1 up to 65,535",
        "INNOBRIM_SETPIONT: unknown variable; did you mean INNOBRIM_LOOP_SET_POINT?",
        "INNOBRIM_LOOP_SET_POINT=nan: must be a number above 0.2 up to 1",
        "flag loop.mod: unknown key",
    )
    assert "swordfish" not in "".join(problems)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("INNOBRIM_SETPOINT", "0.7", "unknown variable; did you mean INNOBRIM_LOOP_SET_POINT?"),
        ("INNOBRIM_MODE", "active", "unknown variable; did you mean INNOBRIM_LOOP_MODE?"),
        ("INNOBRIM_SERVER_PASSWORD", "x", "unknown variable; did you mean INNOBRIM_PASSWORD?"),
        (
            "INNOBRIM_LOOP_MAX_IO_CAPACITY",
            "7",
            "unknown variable; did you mean INNOBRIM_LOOP_MAX_IO_CAPACITY_MAX",
        ),
        ("INNOBRIM_CONFIG", "/x", "unknown variable; the configuration file is named with --config"),
        ("INNOBRIM_COLOUR", "red", "unknown variable; a key's variable is INNOBRIM_ + section + _ + key"),
        ("INNOBRIM_SERVICE_HOST", "db1", "unknown variable; did you mean INNOBRIM_SERVER_HOST?"),
        ("INNOBRIM_SERVICE_PORT", "three", "unknown variable; did you mean INNOBRIM_SERVER_PORT?"),
        ("INNOBRIM_SERVR_PORT", "3306", "unknown variable; did you mean INNOBRIM_SERVER_PORT?"),
        ("INNOBRIM_SERVER_PORT_8633_TCP_ADDR", "db1", "unknown variable; "),
        ("INNOBRIM_SERVER_HOSTS", "tcp://10.0.0.5:80", "unknown variable; did you mean INNOBRIM_SERVER_HOST"),
        ("INNOBRIM_SERVER_PORT", "http://10.0.0.5:80", "must be a whole number"),
        ("INNOBRIM_SERVER_PORT", "tcp://10.0.0.5", "must be a whole number"),
        ("INNOBRIM_API_PORT", "ten", "must be a whole number"),
        ("INNOBRIM_API_ENABLED", "false", 'port = 0 and socket = "-"'),
        ("INNOBRIM_LOOP_POLICY", "feedforward", "write cascade"),
    ],
)
def test_a_variable_that_sets_nothing_is_refused(given: Given, name: str, value: str, said: str) -> None:
    """Silence would leave the operator believing that it took effect, and a far-fetched guess misleads."""
    (problem,) = given.refused("", {name: value})

    assert problem.startswith(name)
    assert said in problem


@drawn(st.sampled_from(sorted(KEYS)), st.data())
def test_one_slip_of_the_finger_is_found(dotted: str, data: st.DataObject) -> None:
    """A key with two neighbouring letters swapped, or one left out, is recognised."""
    section, _, name = dotted.partition(".")
    place = data.draw(st.integers(0, len(name) - 2))
    swapped = name[:place] + name[place + 1] + name[place] + name[place + 2 :]
    dropped = name[:place] + name[place + 1 :]
    slip = data.draw(st.sampled_from([swapped, dropped]))
    if f"{section}.{slip}" not in KEYS and len(name) > 4:
        assert nearest_key(f"{section}.{slip}") == dotted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[loop]\nmin_io_capacity_max = 30000",
            "= 20000 (default); lower the first to 20000 or raise the second to 30000",
        ),
        (
            "[loop]\nratio = 3\nmin_io_capacity_max = 5000\nmax_io_capacity_max = 400",
            "lower the first to 399 or raise the second to 5001",
        ),
        (
            "[loop]\nmin_io_capacity_max = 5000\nmax_io_capacity_max = 150\nratio = 2",
            "max_io_capacity_max = 150 (FILE:loop.max_io_capacity_max); raise the second to 5000",
        ),
        (
            "[loop]\nratio = 4\nmin_io_capacity_max = 1001\nmax_io_capacity_max = 1003",
            "lower the first to 1000 or raise the second to 1004",
        ),
        (
            "[loop]\nratio = 10\nmax_io_capacity_max = 500",
            "(FILE:loop.max_io_capacity_max); lower the first to 5 or raise the second to 1000",
        ),
        (
            '[loop]\npolicy = "fixed"\nfixed_io_capacity_max = 30000',
            "is above loop.max_io_capacity_max = 20000 (default); lower the first to 20000",
        ),
        (
            '[loop]\npolicy = "fixed"\nfixed_io_capacity_max = 300\nmin_io_capacity_max = 400',
            "raise the first to 400 or lower the second to 300",
        ),
        (
            '[loop]\npolicy = "fixed"\nfixed_io_capacity_max = 30000',
            "lower the first to 20000 or raise the second to 30000",
        ),
        ('[loop]\nbaseline = "50/100"', "innodb_io_capacity is at least 100"),
        ('[server]\ntls = "off"\ntls_ca = "/ca.pem"', 'set tls = "required"'),
        ('[server]\ntls_ca = "/ca.pem"', 'set tls = "required"'),
        ('[daemon]\non_stop = "restore"', "must be one of park, leave"),
        ('[api]\nhost = "0.0.0.0"', "is not a loopback address"),
        ('[api]\nhost = "db1"', "does not begin with an address"),
        ('[api]\nhost = "10.0.0.5"', 'api.tls = "off" and innobrim run --insecure-api'),
        ('[api]\nhost = "127.0.0.1, db 1"', "'db 1' is no name of a machine"),
        ("[server]\nport = ", "not TOML"),
        ("a = " + "[" * 10_000, "not TOML that can be used: maximum recursion depth exceeded"),
        ("[loop]\nratio = " + "9" * 5_000, "not TOML that can be used: Exceeds the limit"),
        ("[loop]\nset_point = nan", "must be a number above 0.2 up to 1"),
        ("[loop]\nratio = true", "must be a whole number"),
        ("loop = 3", "FILE: loop must be a table: write [loop]"),
        ("[[loop]]\nratio = 3", "FILE: loop must be a table: write [loop]"),
        ("[[serve]]\nport = 3", "FILE: [serve]: unknown section; did you mean [server]?"),
        ("[kitchen]\nport = 3", "FILE: [kitchen]: unknown section. There are [server], [loop]"),
        ('name = "x"', "FILE: name: stands outside a section; each key stands in one of [server], [loop]"),
        ("[log]\nverbosity = 3", "FILE:log.verbosity: unknown key; [log] has level, format"),
        ("[api]\nenabled = false", 'port = 0 and socket = "-"'),
        ("[server]\nquery_timeout = 2.0", "server.timeout is for connecting"),
        ('[loop]\npolicy = "probe"', "write cascade"),
        ('[loop]\npolicy = "bayes-low-water"', "low_water_mark = true"),
    ],
)
def test_contradictions_are_refused(given: Given, text: str, said: str) -> None:
    """What cannot work is said before the daemon starts, not after."""
    (problem,) = given.refused(text)

    assert said in problem


def test_the_watchdog_outlives_the_slowest_tick(given: Given) -> None:
    """Two connects and 27 statements must stay below half of the watchdog's time."""
    assert load_config(None, environ={"WATCHDOG_USEC": "60000000"}, flags={}) == Config()

    (problem,) = given.refused("[server]\ntimeout = 2", {"WATCHDOG_USEC": "60000000"})
    assert "lets one tick take 58 s (2 connects and 27 statements)" in problem
    assert "raise WatchdogSec above 116" in problem


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "DIR: a directory; give --config the path of a TOML file"),
        (b"\xff", "not UTF-8 at byte 0"),
        ("[log]".encode("utf-16"), "UTF-16; save it as"),
        (b"", "--config is empty: give it the path of a TOML file"),
    ],
    ids=["directory", "no text", "UTF-16", "no name"],
)
def test_an_unreadable_file_says_why(tmp_path: Path, content: bytes | None, said: str) -> None:
    """A directory, bytes that are no text, and an option with an empty variable behind it."""
    path = tmp_path / "c.toml"
    path.write_bytes(content or b"")
    name = {None: str(tmp_path), b"": ""}.get(content, str(path))
    with pytest.raises(ConfigError, match=re.escape(said.replace("DIR", str(tmp_path)))):
        load_config(name, environ={}, flags={})


def test_a_key_given_twice_is_named(given: Given) -> None:
    """The line that TOML stumbles over is quoted as far as its key; a value may be a secret."""
    (problem,) = given.refused("[loop]\nratio = 3\nratio = 2\n[log]\n")
    assert problem.startswith("FILE: not TOML: Cannot overwrite a value (at line 3, column 10)")
    assert problem.endswith(': "ratio = …" is there already')

    (problem,) = given.refused("[server]\npassword = 1\npassword = swordfish")
    assert '"password = …"' in problem
    assert "swordfish" not in problem


def test_a_flag_is_called_what_the_user_typed(given: Given) -> None:
    """A wrong value of an option is shown behind the option's own name."""
    assert given.refused(flags={"server.port": -1, "api.port": -2, "loop.set_point": 7.0}) == (
        "--port = -1: must be a whole number from 1 up to 65,535",
        "--api-port = -2: must be a whole number from 0 up to 65,535",
        "--set-point = 7.0: must be a number above 0.2 up to 1",
    )


@pytest.mark.parametrize(
    ("text", "environ", "flags", "both"),
    [
        (
            '[server]\nsocket = "/x.sock"\nport = 3306\n',
            {},
            {},
            'FILE:server.socket = "/x.sock" and FILE:server.port = 3306',
        ),
        ("", {}, {"server.socket": "/x", "server.host": "db2"}, "--socket = /x and --host = db2"),
        (
            "",
            {"INNOBRIM_SERVER_SOCKET": "/x", "INNOBRIM_SERVER_HOST": "db2"},
            {},
            "INNOBRIM_SERVER_SOCKET=/x and INNOBRIM_SERVER_HOST=db2",
        ),
    ],
    ids=["file", "flags", "variables"],
)
def test_socket_and_host_from_one_source_are_refused(
    given: Given, text: str, environ: dict[str, str], flags: dict[str, object], both: str
) -> None:
    """Where nobody can know which server is meant, both are named and neither is taken."""
    assert given.refused(text, environ, flags) == (
        f"{both}: two ways to one server; leave out the socket, or host and port",
    )


@pytest.mark.parametrize(
    "dotted", sorted(key.dotted for key in KEYS.values() if key.kind is str and not key.choices)
)
def test_a_zero_byte_is_refused_by_name(given: Given, dotted: str) -> None:
    """No path, name or account has one; it is the key that is named, and not a traceback that is shown."""
    section, _, name = dotted.partition(".")
    (problem,) = given.refused(f'[{section}]\n{name} = "/a\\u0000b"\n')

    assert problem.startswith(f"FILE:{dotted} = ")
    assert "\0" not in problem


def test_a_policy_without_its_extra_is_refused(given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where scikit-optimize is not installed, bayes is refused with what to type; other policies are not."""
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "skopt" else real(name))

    (said,) = given.refused('[loop]\npolicy = "bayes"\n')

    assert said.endswith("needs scikit-optimize, which is not installed: pip install '.[bayes]'")
    assert "loop.policy = bayes (FILE" in said


def test_a_directory_that_may_not_be_entered_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may not look into the default file's directory is told so, and not that all is as by default."""

    def deny(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", deny)
    monkeypatch.setattr(tomlfile, "read_whole", deny)
    with pytest.raises(
        ConfigError, match=r"none\.toml: permission denied; it must be readable by the account"
    ):
        load_config(None, environ={}, flags={})
