"""Which server is taken, and what is said about the others."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from lab.servers import choose as chooser
from lab.servers.flavour import Flavour, Version, asked_version, image_version


@pytest.mark.parametrize(
    ("text", "flavour"),
    [
        ("/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", Flavour.MYSQL),
        ("mysqld  Ver 8.0.30 for Linux on x86_64 (MySQL Community Server - GPL)", Flavour.MYSQL),
        ("Ver 8.4.8-1.el9", Flavour.MYSQL),
        ("mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28)", Flavour.MYSQL),
        ("mysqld  Ver 8.0.29 for Linux on x86_64 (MySQL Community Server - GPL)", Flavour.MYSQL_57),
        ("mysqld  Ver 5.7.44 for Linux on x86_64", Flavour.MYSQL_57),
        ("mysqld  Ver 5.6.24 for linux-glibc2.5 on x86_64 (MySQL Community Server (GPL))", Flavour.MYSQL_56),
        ("mysqld  Ver 10.11.18-MariaDB-0+deb12u1 for debian-linux-gnu", Flavour.MARIADB),
        ("mariadbd  Ver 11.8.6-MariaDB-0+deb13u1 from Debian for debian-linux-gnu", Flavour.MARIADB),
    ],
)
def test_supported_versions_are_told_apart(text: str, flavour: Flavour) -> None:
    """What a server says of itself decides how it is started."""
    version = asked_version(text)
    assert isinstance(version, Version)
    assert version.flavour is flavour


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("mysqld  Ver 5.5.62 for Linux on x86_64", "MySQL 5.5.62 is not supported: MySQL 5.6 is the oldest"),
        (
            "mysqld  Ver 10.4.34-MariaDB for Linux",
            "MariaDB 10.4.34 is not supported: MariaDB 10.5 is the oldest",
        ),
        ("mysqld  Ver 5.6.51-91.0 for Linux (Percona Server (GPL))", "Percona Server 5.7 is the oldest"),
        ("something else", "not understood"),
    ],
)
def test_refused_versions_say_why(text: str, why: str) -> None:
    """A server that is too old is named with the oldest one that would do."""
    refusal = asked_version(text)
    assert isinstance(refusal, str)
    assert why in refusal


@pytest.mark.parametrize(
    ("tag", "environment", "version"),
    [
        ("innobrim/mysql:9.7", [], Version("MySQL", (9, 7))),
        ("innobrim/mariadb:11.8", [], Version("MariaDB", (11, 8))),
        ("mysql:8.0", ["PATH=/bin", "MYSQL_VERSION=8.0.42-1.el9"], Version("MySQL", (8, 0, 42))),
        ("mariadb:lts", ["MARIADB_VERSION=1:11.8.2+maria~ubu2404"], Version("MariaDB", (11, 8, 2))),
        ("percona/percona-server:8.0", ["PS_VERSION=8.0.36-28.1"], Version("Percona Server", (8, 0, 36))),
        ("registry.example:5000/db/mysql:8.4.8", [], Version("MySQL", (8, 4, 8))),
        ("mysql:8.0", [], None),
        ("mysql:latest", [], None),
        ("debian:12.5", [], None),
    ],
)
def test_an_image_is_known_by_environment_or_tag(
    tag: str, environment: list[str], version: Version | None
) -> None:
    """A tag that both sides of 8.0.30 may have says nothing, nor does one without a number."""
    assert image_version(tag, environment) == version


class Images:
    """A Docker daemon's images."""

    def __init__(self, **tags: str) -> None:
        self.tags = tags

    def list(self) -> list[SimpleNamespace]:
        return [
            SimpleNamespace(tags=[tag], attrs={"Config": {"Env": [entry] if entry else None}})
            for tag, entry in self.tags.items()
        ]


OTHERS = {"debian:12.5": "", "mariadb:11.4": "MARIADB_VERSION=1:11.4.5", "percona:5.6": "PS_VERSION=5.6.51"}


@pytest.mark.parametrize(
    ("more", "family", "name", "flavour"),
    [
        (
            {"mysql:9.1": "MYSQL_VERSION=9.1.0", "mysql:8.0": "MYSQL_VERSION=8.0.42"},
            None,
            "mysql:8.0",
            "mysql",
        ),
        ({"mysql:5.7": "MYSQL_VERSION=5.7.44"}, None, "mysql:5.7", "mysql-5.7"),
        ({"mysql:5.7": "MYSQL_VERSION=5.7.44"}, "mariadb", "mariadb:11.4", "mariadb"),
        ({}, None, "mariadb:11.4", "mariadb"),
    ],
)
def test_the_best_image_of_the_family_is_taken(
    more: dict[str, str], family: chooser.Family | None, name: str, flavour: str
) -> None:
    """MySQL comes before MariaDB, our list before the rest, and what is too old is shown with the reason."""
    refusals: list[chooser.Refusal] = []
    images = Images(**OTHERS, **more).list()
    found = chooser._best(None, images, refusals, pull=False, family=family)
    assert found is not None
    assert (found.name, found.version.flavour) == (name, flavour)
    assert [one.what for one in refusals] == ["image percona:5.6"]


def test_without_sysbench_there_is_no_real_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no load can be driven no server is chosen, and the load driver is named as what is missing."""
    monkeypatch.setattr("shutil.which", lambda _name: None)
    found = chooser.choose()
    assert found.kind == "none"
    assert "sysbench" in str(found.refusals[0])
    with pytest.raises(ValueError, match="no load driver"):
        found.server()


IMAGE = chooser.Usable("mysql:8.4", Version("MySQL", (8, 4, 8)))
PROGRAM = chooser.Usable("/usr/sbin/mariadbd", Version("MariaDB", (10, 11, 18)))


def test_an_image_is_preferred_over_a_local_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """An image that is there is taken; where one would have to be fetched, the server of this machine is."""
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(
        chooser, "_image", lambda _refusals, *, pull, family: None if pull else family or IMAGE
    )
    assert chooser.choose().name == "mysql:8.4"
    monkeypatch.setattr(chooser, "_local", lambda _refusals, _family: PROGRAM)
    local = chooser.choose(pull=True)
    assert (local.kind, local.name, local.flavour) == ("local", "/usr/sbin/mariadbd", Flavour.MARIADB)
    assert local.why == "/usr/sbin/mariadbd is MariaDB 10.11.18"
