"""Where values come from, and which source beats which."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tools import configuration_page
from tuner.config.keys import BY_VARIABLE, KEYS, Key
from tuner.config.load import ConfigError, load_config
from tuner.config.schema import Config
from tuner.settings import Mode


def test_nothing_at_all_is_the_defaults() -> None:
    """Without file, variable or flag the daemon is advisory and complete."""
    assert load_config(None, environ={"PATH": "/bin"}, flags={}) == Config()
    assert Config().loop.mode is Mode.ADVISORY


def test_there_are_at_most_forty_keys() -> None:
    """A configuration that nobody can learn is none."""
    assert len(KEYS) <= 40


def test_a_long_interval_is_no_stale_reading(tmp_path: Path) -> None:
    """What is called stale, or an emergency, takes two readings at least."""
    path = tmp_path / "c.toml"
    path.write_text("[daemon]\ninterval = 10.0\n")
    loop = load_config(str(path), environ={}, flags={}).loop

    assert (loop.stale_seconds, loop.emergency_seconds) == (20.0, 20.0)


def test_flags_beat_variables_beat_the_file(tmp_path: Path) -> None:
    """Each source overrules the one before; a flag that was not given does not."""
    path = tmp_path / "c.toml"
    path.write_text('[loop]\nratio = 3\nmin_io_capacity_max = 900\nset_point = 0.5\npolicy = "pid"\n')
    config = load_config(
        str(path),
        environ={
            "INNOBRIM_LOOP_RATIO": "4",
            "INNOBRIM_LOOP_SET_POINT": "0.6",
            "INNOBRIM_API_PORT": "0",
        },
        flags={"loop.ratio": 5, "loop.set_point": None, "loop.mode": "active"},
    )

    assert (config.loop.ratio, config.loop.set_point, config.loop.policy) == (5, 0.6, "pid")
    assert (config.loop.mode, config.api.port) == (Mode.ACTIVE, 0)


def test_the_default_file_is_read_where_there_is_one(tmp_path: Path) -> None:
    """No --config needed; a file that was asked for must exist."""
    (tmp_path / "none.toml").write_text("[api]\nport = 9000\n")
    assert load_config(None, environ={}, flags={}).api.port == 9000

    with pytest.raises(ConfigError, match=r"other\.toml: no such file"):
        load_config(str(tmp_path / "other.toml"), environ={}, flags={})


def test_a_variable_can_empty_what_the_file_sets(tmp_path: Path) -> None:
    """The word none leaves an optional key out; an empty variable is no variable."""
    path = tmp_path / "c.toml"
    path.write_text("[loop]\nset_point = 0.7\n")
    given = {"INNOBRIM_LOOP_SET_POINT": "none"}

    assert load_config(str(path), environ=given, flags={}).loop.set_point is None
    assert load_config(str(path), environ={"INNOBRIM_LOOP_SET_POINT": ""}, flags={}).loop.set_point == 0.7


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_every_key_can_be_set_by_file_and_variable(key: Key, tmp_path: Path) -> None:
    """A text in the environment means the same as its value in the file."""
    samples: dict[object, tuple[str, str]] = {
        bool: ("true", "true"),
        int: (str(key.bounds.le or 5), str(key.bounds.le or 5)),
        float: (str(key.bounds.le), str(key.bounds.le)),
        str: ('"localhost"', "localhost"),
    }
    word = key.choices[-1] if key.choices else key.bounds.examples[0] if key.bounds.examples else ""
    in_file, in_variable = (f'"{word}"', word) if word else samples[key.kind]
    helpers = "[loop]\nmax_io_capacity_max = 4000000000\nmin_io_capacity_max = 4000000000\n"
    helpers += "fixed_io_capacity_max = 4000000000\n"
    base = tomllib.loads(helpers)["loop"]
    if key.section == "loop":
        base.pop(key.name, None)
    others = {f"INNOBRIM_LOOP_{name}".upper(): str(value) for name, value in base.items()}
    if key.name == "tls_ca":
        others["INNOBRIM_SERVER_TLS"] = "required"
    path = tmp_path / "c.toml"
    path.write_text(f"[{key.section}]\n{key.name} = {in_file}\n")

    by_file = load_config(str(path), environ=others, flags={})
    assert load_config(None, environ={**others, key.variable: in_variable}, flags={}) == by_file
    assert BY_VARIABLE[key.variable] is key


def test_a_certificate_authority_is_used_or_refused(tmp_path: Path) -> None:
    """Whoever names a certificate authority gets a server that is checked against it, or an error."""
    path = tmp_path / "c.toml"
    path.write_text('[server]\ntls = "required"\ntls_ca = "/ca.pem"\n')

    assert load_config(str(path), environ={}, flags={}).server.tls_ca == "/ca.pem"
    with pytest.raises(ConfigError, match="the server would not be checked"):
        load_config(str(path), environ={"INNOBRIM_SERVER_TLS": "preferred"}, flags={})


def test_limits_need_not_be_multiples_themselves(tmp_path: Path) -> None:
    """Odd limits are fine as long as one whole multiple of the ratio lies between them."""
    path = tmp_path / "c.toml"
    path.write_text("[loop]\nratio = 4\nmin_io_capacity_max = 1001\nmax_io_capacity_max = 1007\n")

    assert load_config(str(path), environ={}, flags={}).loop.min_io_capacity_max == 1001


def test_loopback_is_loopback(tmp_path: Path) -> None:
    """The names and addresses of this machine are fine, and so is anything that nobody can reach."""
    path = tmp_path / "c.toml"
    for text in (
        'host = "::1"',
        'host = "localhost"',
        'host = "0.0.0.0"\nport = 0',
    ):
        path.write_text(f"[api]\n{text}\n")
        assert load_config(str(path), environ={}, flags={}).api.host in text


def test_a_public_address_has_a_certificate_or_a_word_against_one(tmp_path: Path) -> None:
    """An address with names after it is read apart; a certificate lets it be public, and so does tls off."""
    path = tmp_path / "c.toml"
    path.write_text('[api]\nhost = "10.0.0.5, db1.example.com,db1"\ntls = "/c.pem:/k.pem"\n')
    api = load_config(str(path), environ={}, flags={}).api

    assert (api.address, api.names, api.public) == ("10.0.0.5", ("db1.example.com", "db1"), True)
    assert api.certificate == "/c.pem:/k.pem"
    plain = load_config(str(path), environ={"INNOBRIM_API_TLS": "off"}, flags={}).api
    assert (plain.public, plain.certificate) == (True, None)


def test_a_stronger_host_or_port_overrules_a_socket(tmp_path: Path) -> None:
    """Whoever names a server on the command line gets that server, not the one behind the file's socket."""
    path = tmp_path / "s.toml"
    path.write_text('[server]\nsocket = "/x.sock"\n')
    other = {"INNOBRIM_SERVER_HOST": "db2.example"}

    for environ, flags in (
        ({}, {"server.host": "db2.example"}),
        ({}, {"server.port": 3306}),
        (other, {}),
        ({"INNOBRIM_SERVER_SOCKET": "/y.sock"}, {"server.port": 3307}),
    ):
        assert load_config(str(path), environ=environ, flags=flags).server.socket is None
    assert load_config(str(path), environ=other, flags={"server.socket": "/z"}).server.socket == "/z"
    assert load_config(str(path), environ={}, flags={"server.user": "x"}).server.socket == "/x.sock"


def test_the_example_in_the_reference_is_the_defaults(tmp_path: Path) -> None:
    """Whoever copies it changes nothing."""
    path = tmp_path / "c.toml"
    path.write_text(configuration_page.example())

    assert load_config(str(path), environ={}, flags={}) == Config()
