"""What a configuration is: where values come from, which source beats which, and what stops no start."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.config.support import Given
from tuner.config.keys import BY_VARIABLE, KEYS, NO_KEYS, WITHOUT_EFFECT, Key
from tuner.config.load import ConfigError, load_config
from tuner.config.schema import Config
from tuner.settings import Mode

COMPOSE = Path(__file__).parents[2] / "deploy" / "compose" / "compose.yaml"
WINDOW = '[[schedule]]\nname = "night"\ncron = "0 1 * * *"\nminutes = 60\ndrain = true\n'


def test_nothing_at_all_is_the_defaults() -> None:
    """Without file, variable or flag the daemon is advisory and complete."""
    assert load_config(None, environ={"PATH": "/bin"}, flags={}) == Config()
    assert Config().loop.mode is Mode.ADVISORY


def test_there_are_at_most_forty_keys() -> None:
    """A configuration that nobody can learn is none."""
    assert len(KEYS) <= 40


@pytest.mark.parametrize(
    ("written", "goal"),
    [
        ("2GiB", (2 * 2**30, False)),
        ("512G unchecked", (512 * 2**30, True)),
        ("64M", (64 * 2**20, False)),
        ("300MiB unchecked", (300 * 2**20, True)),
        *((one, None) for one in ("2", "2 GiB", "600G", "0G", "-1G", "9M", "2T", "2GiB checked", "10%")),
    ],
)
def test_a_redo_log_grows_to_a_size_alone(given: Given, written: str, goal: tuple[int, bool] | None) -> None:
    """Whole MiB or GiB are taken, also with unchecked; all else is refused with what would be right."""
    text = f'[redo]\ngrow_to = "{written}"\n'
    if goal is not None:
        assert given.load(text).redo.goal == goal
        return
    (problem,) = given.refused(text)
    for part in ("redo.grow_to", written, "such as 2G"):
        assert part in problem


def test_a_long_interval_is_no_stale_reading(given: Given) -> None:
    """What is called stale, or an emergency, takes two readings at least."""
    loop = given.load("[daemon]\ninterval = 10.0\n").loop

    assert (loop.stale_seconds, loop.emergency_seconds) == (20.0, 20.0)


def test_flags_beat_variables_beat_the_file(given: Given) -> None:
    """Each source overrules the one before; what was not given, or is empty, does not; none empties a key."""
    text = '[loop]\nratio = 3\nmin_io_capacity_max = 900\nset_point = 0.5\npolicy = "pid"\n'
    environ = {"INNOBRIM_LOOP_RATIO": "4", "INNOBRIM_LOOP_SET_POINT": "0.6", "INNOBRIM_API_PORT": "0"}
    config = given.load(text, environ, {"loop.ratio": 5, "loop.set_point": None, "loop.mode": "active"})

    assert (config.loop.ratio, config.loop.set_point, config.loop.policy) == (5, 0.6, "pid")
    assert (config.loop.mode, config.api.port) == (Mode.ACTIVE, 0)
    assert given.load(text, {"INNOBRIM_LOOP_SET_POINT": ""}).loop.set_point == 0.5
    assert given.load(text, {"INNOBRIM_LOOP_SET_POINT": "none"}).loop.set_point is None


def test_the_default_file_is_read_where_there_is_one(tmp_path: Path) -> None:
    """No --config needed; a file that was asked for must exist. A byte order mark is no letter."""
    (tmp_path / "none.toml").write_bytes(b"\xef\xbb\xbf[api]\nport = 9000\n")
    assert load_config(None, environ={}, flags={}).api.port == 9000

    with pytest.raises(ConfigError, match=r"other\.toml: no such file"):
        load_config(str(tmp_path / "other.toml"), environ={}, flags={})


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_every_key_can_be_set_by_file_and_variable(given: Given, key: Key) -> None:
    """A text in the environment means the same as its value in the file."""
    samples: dict[object, str] = {bool: "true", int: str(key.bounds.le or 5), float: str(key.bounds.le)}
    words = (*key.choices[-1:], *(key.bounds.examples or ()), samples.get(key.kind, "localhost"))
    quoted = words[0] if key.kind in samples else f'"{words[0]}"'
    others = {
        f"INNOBRIM_LOOP_{name}": "4000000000"
        for name in ("MAX_IO_CAPACITY_MAX", "MIN_IO_CAPACITY_MAX", "FIXED_IO_CAPACITY_MAX")
    }
    others.pop(key.variable, None)
    if key.name == "tls_ca":
        others["INNOBRIM_SERVER_TLS"] = "required"

    by_file = given.load(f"[{key.section}]\n{key.name} = {quoted}\n", others)
    assert given.load("", {**others, key.variable: words[0]}) == by_file
    assert BY_VARIABLE[key.variable] is key


def test_a_certificate_authority_is_used_or_refused(given: Given) -> None:
    """Whoever names a certificate authority gets a server that is checked against it, or an error."""
    text = '[server]\ntls = "required"\ntls_ca = "/ca.pem"\n'

    assert given.load(text).server.tls_ca == "/ca.pem"
    assert "would not be checked" in given.refused(text, {"INNOBRIM_SERVER_TLS": "preferred"})[0]


def test_limits_need_not_be_multiples_themselves(given: Given) -> None:
    """Odd limits are fine as long as one whole multiple of the ratio lies between them."""
    text = "[loop]\nratio = 4\nmin_io_capacity_max = 1001\nmax_io_capacity_max = 1007\n"

    assert given.load(text).loop.min_io_capacity_max == 1001


@pytest.mark.parametrize(
    ("api", "expected"),
    [
        ('host = "::1"', ("::1", (), False, None)),
        ('host = "localhost"', ("localhost", (), False, None)),
        ('host = "0.0.0.0"\nport = 0', ("0.0.0.0", (), False, None)),  # noqa: S104 - nobody listens
        (
            'host = "10.0.0.5, db1.example.com,db1"\ntls = "/c.pem:/k.pem"',
            ("10.0.0.5", ("db1.example.com", "db1"), True, "/c.pem:/k.pem"),
        ),
        ('host = "10.0.0.5"\ntls = "off"', ("10.0.0.5", (), True, None)),
    ],
)
def test_an_address_of_the_api_is_loopback_or_has_a_word_about_tls(
    given: Given, api: str, expected: tuple[str, tuple[str, ...], bool, str | None]
) -> None:
    """An address with names after it is read apart; a certificate lets it be public, and so does tls off."""
    found = given.load(f"[api]\n{api}\n").api

    assert (found.address, found.names, found.public, found.certificate) == expected


@pytest.mark.parametrize(
    ("environ", "flags", "socket"),
    [
        ({}, {"server.host": "db2.example"}, None),
        ({}, {"server.port": 3306}, None),
        ({"INNOBRIM_SERVER_HOST": "db2.example"}, {}, None),
        ({"INNOBRIM_SERVER_SOCKET": "/y.sock"}, {"server.port": 3307}, None),
        ({"INNOBRIM_SERVER_HOST": "db2.example"}, {"server.socket": "/z"}, "/z"),
        ({}, {"server.user": "x"}, "/x.sock"),
    ],
)
def test_a_stronger_host_or_port_overrules_a_socket(
    given: Given, environ: dict[str, str], flags: dict[str, object], socket: str | None
) -> None:
    """Whoever names a server on the command line gets that server, not the one behind the file's socket."""
    assert given.load('[server]\nsocket = "/x.sock"\n', environ, flags).server.socket == socket


@pytest.mark.parametrize("dotted", sorted(WITHOUT_EFFECT))
def test_a_key_that_nothing_depends_on_any_more_stops_no_upgrade(given: Given, dotted: str) -> None:
    """The file counts as it is without it; a note names the key and why it may go."""
    section, _, key = dotted.partition(".")
    text = WINDOW if section == "schedule" else f"[{section}]\n"
    plain = given.load(text)

    assert given.load(f"{text}{key} = 1\n") == plain
    (note,) = given.notes
    assert key in note
    assert WITHOUT_EFFECT[dotted] in note


@pytest.mark.parametrize("name", sorted(NO_KEYS))
def test_variables_that_are_no_keys_any_more_or_the_compose_files_stop_nothing(
    given: Given, name: str
) -> None:
    """Whoever has exported them goes on, with a note; the compose file takes no others."""
    own = set(re.findall(r"[$][{](INNOBRIM_[A-Z_]+)", COMPOSE.read_text(encoding="utf-8")))

    assert own == {"INNOBRIM_IMAGE", "INNOBRIM_PORT", "INNOBRIM_LOOP_MODE"}
    assert given.load("", {"INNOBRIM_IMAGE": "x:1", name: "8634"}) == Config()
    assert [note.partition(":")[0] for note in given.notes] == [f"{name}=8634"]


def links(service: str, address: str = "10.0.0.5", protocol: str = "tcp") -> dict[str, str]:
    """Return what Kubernetes sets for a Service with two ports, one of them with a name."""
    host = f"[{address}]" if ":" in address else address
    found = {
        f"{service}_SERVICE_HOST": address,
        f"{service}_SERVICE_PORT": "8633",
        f"{service}_SERVICE_PORT_HTTP_API": "8633",
        f"{service}_PORT": f"{protocol}://{host}:8633",
    }
    for port in ("8633", "9104"):
        one = f"{service}_PORT_{port}_{protocol.upper()}"
        found |= {
            one: f"{protocol}://{host}:{port}",
            f"{one}_PROTO": protocol,
            f"{one}_PORT": port,
            f"{one}_ADDR": address,
        }
    return found


@pytest.mark.parametrize(
    "service",
    [
        "INNOBRIM",
        "INNOBRIM_API",
        "INNOBRIM_SERVER",
        "INNOBRIM_SERVICE",
        "INNOBRIM_LOOP_MODE",
        "INNOBRIM_DB_1",
    ],
)
@pytest.mark.parametrize(
    ("address", "protocol"),
    [("10.0.0.5", "tcp"), ("fd00::5", "tcp"), ("10.0.0.5", "udp"), ("10.0.0.5", "sctp")],
)
def test_a_kubernetes_service_of_that_name_changes_nothing(
    given: Given, service: str, address: str, protocol: str
) -> None:
    """Each of a Service's links is known by its own form; one with a key's name is noted."""
    for name, value in links(service, address, protocol).items():
        assert given.load("", links("INNOBRIM") | {name: value}) == Config()
        noted = f"{name}={value}: is the address of" if name in BY_VARIABLE else None
        assert [note.partition(" a Kubernetes")[0] for note in given.notes] == [noted] * (noted is not None)


@pytest.mark.parametrize("name", ["INNOBRIM_SERVICE_HOST", "INNOBRIM_SERVICE_PORT"])
def test_a_link_alone_that_may_be_a_slip_is_said(given: Given, name: str) -> None:
    """Without the rest of a Service it may be meant for server.host or server.port: that is said."""
    assert given.load("", {name: links("INNOBRIM")[name], "INNOBRIM_PORT": "8634"}) == Config()
    (note, _) = sorted(given.notes, reverse=True)

    assert note.startswith(f"{name}=")
    assert name.replace("SERVICE", "SERVER") in note


def test_a_key_beside_a_service_of_its_name_counts(given: Given) -> None:
    """A key with a value of its own form is taken, whatever Services there are."""
    environ = links("INNOBRIM_SERVER") | links("INNOBRIM_API")
    config = given.load("", environ | {"INNOBRIM_SERVER_PORT": "3307", "INNOBRIM_SERVER_HOST": "db1"})
    assert [note.partition("=")[0] for note in given.notes] == ["INNOBRIM_API_PORT"]

    assert (config.server.host, config.server.port, config.api.port) == ("db1", 3307, 8633)


@pytest.mark.parametrize(
    "dotted",
    ["daemon.state_directory", "server.socket", "api.socket", "server.defaults_file", "server.tls_ca"],
)
def test_a_tilde_is_the_users_home(
    given: Given, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dotted: str
) -> None:
    """A path may start with ~/ in every source; somebody else's home is refused, not taken for a name."""
    section, _, name = dotted.partition(".")
    monkeypatch.setenv("HOME", str(tmp_path))
    others = {"INNOBRIM_SERVER_TLS": "required"}
    text = f'[{section}]\n{name} = "~/in/file"\n'

    for flags, path in (({}, "in/file"), ({dotted: "~/typed"}, "typed")):
        config = given.load(text, others, flags)
        assert getattr(getattr(config, section), name) == f"{tmp_path}/{path}"
    (problem,) = given.refused(text.replace("~/in", "~bob"), others)
    assert problem.startswith(f'FILE:{dotted} = "~bob/file": the home of another user is not looked up')


def test_a_policy_with_its_extra_is_taken(given: Given) -> None:
    """With scikit-optimize installed, bayes is a policy like any other."""
    assert given.load('[loop]\npolicy = "bayes"\n').loop.policy == "bayes"
