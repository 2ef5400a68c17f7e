"""Variables that others set with our prefix stop nothing, and a slip of ours is still one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tuner.config.keys import BY_VARIABLE
from tuner.config.load import load_config
from tuner.config.schema import Config, ConfigError

COMPOSE = Path(__file__).parents[2] / "deploy" / "compose" / "compose.yaml"
SERVICES = (
    "INNOBRIM",
    "INNOBRIM_API",
    "INNOBRIM_SERVER",
    "INNOBRIM_SERVICE",
    "INNOBRIM_LOOP_MODE",
    "INNOBRIM_DB_1",
)


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


def load(environ: dict[str, str]) -> tuple[Config, list[str]]:
    """Return the configuration from these variables, and what was said about it."""
    said: list[str] = []
    return load_config(None, environ=environ, flags={}, noted=said.append), said


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    ("address", "protocol"),
    [("10.0.0.5", "tcp"), ("fd00::5", "tcp"), ("10.0.0.5", "udp"), ("10.0.0.5", "sctp")],
)
def test_a_service_of_that_name_changes_nothing(service: str, address: str, protocol: str) -> None:
    """Whatever a Kubernetes Service is called, its links are no keys; one with a key's name is said."""
    environ = links(service, address, protocol)
    taken_for = [f"{name}={environ[name]}: is the address of" for name in BY_VARIABLE if name in environ]
    config, said = load(environ)

    assert config == Config()
    assert [line.partition(" a Kubernetes")[0] for line in said] == taken_for


@pytest.mark.parametrize(("name", "value"), sorted(links("INNOBRIM").items()))
def test_a_link_alone_stops_nothing(name: str, value: str) -> None:
    """Each of the links is known by its own form, also where somebody has taken the others away."""
    assert load({name: value})[0] == Config()


@pytest.mark.parametrize("name", ["INNOBRIM_SERVICE_HOST", "INNOBRIM_SERVICE_PORT"])
def test_a_link_alone_that_may_be_a_slip_is_said(name: str) -> None:
    """Without the rest of a Service it may be meant for server.host or server.port: that is said."""
    _, (said,) = load({name: links("INNOBRIM")[name]})

    assert said.startswith(f"{name}=")
    assert name.replace("SERVICE", "SERVER") in said


def test_a_key_beside_a_service_of_its_name_counts() -> None:
    """A key with a value of its own form is taken, whatever Services there are."""
    environ = links("INNOBRIM_SERVER") | links("INNOBRIM_API")
    config, said = load(environ | {"INNOBRIM_SERVER_PORT": "3307", "INNOBRIM_SERVER_HOST": "db1"})

    assert (config.server.host, config.server.port, config.api.port) == ("db1", 3307, 8633)
    assert [line.partition("=")[0] for line in said] == ["INNOBRIM_API_PORT"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("INNOBRIM_SERVICE_HOST", "db1"),
        ("INNOBRIM_SERVICE_PORT", "three"),
        ("INNOBRIM_SERVR_PORT", "3306"),
        ("INNOBRIM_SERVER_PORT", "http://10.0.0.5:80"),
        ("INNOBRIM_SERVER_PORT", "tcp://10.0.0.5"),
        ("INNOBRIM_API_PORT", "ten"),
        ("INNOBRIM_SERVER_PORT_8633_TCP_ADDR", "db1"),
        ("INNOBRIM_SETPIONT", "10.0.0.5"),
        ("INNOBRIM_SERVER_HOSTS", "tcp://10.0.0.5:80"),
    ],
)
def test_a_slip_of_the_finger_is_still_refused(name: str, value: str) -> None:
    """What has neither name nor value of a link is an error by name, as ever."""
    with pytest.raises(ConfigError) as caught:
        load({name: value})

    assert caught.value.problems[0].startswith(name)


def test_the_compose_files_own_variables_may_be_exported() -> None:
    """Who exports what the compose file takes can go on using every command; a port is said to be no key."""
    own = set(re.findall(r"[$][{](INNOBRIM_[A-Z_]+)", COMPOSE.read_text(encoding="utf-8")))
    config, said = load({"INNOBRIM_IMAGE": "x:1", "INNOBRIM_PORT": "8634"})

    assert own == {"INNOBRIM_IMAGE", "INNOBRIM_PORT", "INNOBRIM_LOOP_MODE"}
    assert config == Config()
    assert [one.partition(":")[0] for one in said] == ["INNOBRIM_PORT=8634"]
