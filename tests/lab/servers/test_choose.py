"""Which server is taken: what can be had here, and what words name one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import docker
import docker.errors
import pytest

from lab.servers import choose as chooser
from lab.servers import made
from lab.servers.choose import Family, is_image, server_named
from lab.servers.images import best, stored
from lab.servers.spec import MARIADB, MYSQL, MYSQL_56, MYSQL_57, MYSQL_80, Kind, LabServerError
from lab.servers.version import Version, asked_version, image_version


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", MYSQL),
        ("mysqld  Ver 8.0.30 for Linux on x86_64 (MySQL Community Server - GPL)", MYSQL),
        ("Ver 8.4.8-1.el9", MYSQL),
        ("mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28)", MYSQL),
        ("mysqld  Ver 8.0.29 for Linux on x86_64 (MySQL Community Server - GPL)", MYSQL_80),
        ("mysqld  Ver 5.7.44 for Linux on x86_64", MYSQL_57),
        ("mysqld  Ver 5.6.24 for linux-glibc2.5 on x86_64 (MySQL Community Server (GPL))", MYSQL_56),
        ("mysqld  Ver 10.11.18-MariaDB-0+deb12u1 for debian-linux-gnu", MARIADB),
        ("mariadbd  Ver 11.8.6-MariaDB-0+deb13u1 from Debian for debian-linux-gnu", MARIADB),
        ("mysqld  Ver 5.5.62 for Linux on x86_64", "MySQL 5.5.62 is not supported: MySQL 5.6 is the oldest"),
        (
            "mysqld  Ver 10.4.34-MariaDB for Linux",
            "MariaDB 10.4.34 is not supported: MariaDB 10.5 is the oldest",
        ),
        ("mysqld  Ver 5.6.51-91.0 for Linux (Percona Server (GPL))", "Percona Server 5.7 is the oldest"),
        ("something else", "not understood"),
    ],
)
def test_versions_are_told_apart_or_refused(text: str, found: Kind | str) -> None:
    """What a server says decides how it is started; one too old is told the oldest that would do."""
    version = asked_version(text)
    if isinstance(found, Kind):
        assert isinstance(version, Version)
        assert version.kind is found
    else:
        assert found in str(version)


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


def client(tags: Mapping[str, str], *going: str) -> SimpleNamespace:
    """Return a Docker daemon's client: images by tag, with an entry of the environment; some go meanwhile."""

    def get(name: str) -> SimpleNamespace:
        if name not in tags:
            raise docker.errors.ImageNotFound(name)
        entry = tags[name]
        return SimpleNamespace(tags=[name], attrs={"Config": {"Env": [entry] if entry else None}})

    def pull(_name: str) -> None:
        raise docker.errors.APIError("500 for http+docker://localhost", explanation="no such host")

    return SimpleNamespace(
        api=SimpleNamespace(images=lambda *, filters: [{"Id": name} for name in (*going, *tags) if filters]),
        images=SimpleNamespace(get=get, pull=pull),
        close=lambda: None,
    )


OTHERS = {"debian:12.5": "", "mariadb:11.4": "MARIADB_VERSION=1:11.4.5", "percona:5.6": "PS_VERSION=5.6.51"}
NEW = {"mysql:9.1": "MYSQL_VERSION=9.1.0", "mysql:8.0": "MYSQL_VERSION=8.0.42"}
OLD = {"mysql:5.7": "MYSQL_VERSION=5.7.44"}


@pytest.mark.parametrize(
    ("more", "family", "name"),
    [
        (NEW, None, "mysql:8.0"),
        (OLD, None, "mysql:5.7"),
        (OLD, "mariadb", "mariadb:11.4"),
        ({}, None, "mariadb:11.4"),
    ],
)
def test_the_best_image_of_the_family_is_taken(
    more: dict[str, str], family: Family | None, name: str
) -> None:
    """MySQL comes before MariaDB, our list before the rest, and what is too old is shown with the reason."""
    refusals: list[str] = []
    assert best(stored(client({**OTHERS, **more})), refusals, family) == name
    assert [one.partition(": ")[0] for one in refusals] == ["image percona:5.6"]


def test_without_sysbench_there_is_no_real_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no load can be driven no server is chosen, and the load driver is named as what is missing."""
    monkeypatch.setattr("shutil.which", lambda _name: None)
    found = chooser.choose()
    assert found.name == ""
    assert "sysbench" in found.refusals[0]
    with pytest.raises(ValueError, match="no load driver"):
        found.server()


def program(path: Path, said: str) -> Path:
    """Write a program that says this, whatever it is asked."""
    path.write_text(f"#!/bin/sh\necho '{said}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("words", "image"),
    [
        ("mysql:8.4", True),
        ("innobrim/mysql:9.7", True),
        ("registry.example:5000/db/mysql:8.0.42", True),
        ("mariadb:10.11", True),
        ("percona/percona-server:8.0", True),
        ("mysqld", False),
        ("mariadbd", False),
    ],
)
def test_words_tell_what_they_name(words: str, *, image: bool) -> None:
    """No option has to say which kind is meant."""
    assert is_image(words) is image


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("8.4", "'8.4' names no server; did you mean mysql:8.4?"),
        ("mysql", "an image needs its version, such as mysql:9.7"),
        ("postgres://db1", "'postgres://db1' names no server"),
        ("", "'' names no server"),
        ("MySQL 8", "'MySQL 8' names no server"),
        ("/no/such/mysqld", "/no/such/mysqld: no such file"),
    ],
)
def test_words_that_name_nothing_are_shown_with_what_would(words: str, why: str) -> None:
    """Every refusal lists the ways to name a server."""
    with pytest.raises(LabServerError) as refusal:
        is_image(words)
    assert why in str(refusal.value)
    assert "mysql:8.4" in str(refusal.value)


def test_a_path_is_a_program(tmp_path: Path) -> None:
    """What lies there decides; a directory or a text is none."""
    assert not is_image(str(program(tmp_path / "mysqld", "x")))
    (tmp_path / "notes").write_text("x")
    with pytest.raises(LabServerError, match="no program that can be run"):
        is_image(str(tmp_path / "notes"))
    with pytest.raises(LabServerError, match="a directory; name the mysqld in it"):
        is_image(str(tmp_path))


@pytest.fixture
def made_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a checkout's .cache with two servers, beside a Docker daemon with the images of two more."""
    monkeypatch.setattr(made, "CACHE", tmp_path)
    for place in ("mysql-8.0.31/bin", "mariadb-11.4.5/bin", "mysql-5.7.22/share", "mysql-8.0.15.log/bin"):
        (tmp_path / place).mkdir(parents=True)
    program(tmp_path / "mysql-8.0.31/bin/mysqld", "mysqld  Ver 8.0.31 for Linux on x86_64")
    program(tmp_path / "mariadb-11.4.5/bin/mariadbd", "mariadbd  Ver 11.4.5-MariaDB for linux")
    here = client(
        {"innobrim/mysql:9.7": "", "mariadb:11.8": "", "innobrim/mariadb:10.5": ""}, "layer of a build"
    )
    monkeypatch.setattr(docker, "from_env", lambda **_given: here)
    return tmp_path


@pytest.mark.parametrize(("name", "kind"), [("mysql-8.0.31", MYSQL), ("mariadb-11.4.5", MARIADB)])
@pytest.mark.usefixtures("made_here")
def test_a_server_of_make_servers_has_a_name(name: str, kind: Kind) -> None:
    """Its folder's name is enough; what it is, its program says."""
    assert not is_image(name)
    assert server_named(name).kind is kind


@pytest.mark.usefixtures("made_here")
def test_an_image_of_make_servers_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first dash is a colon in the image's tag, and nothing is fetched for it."""
    asked: list[str] = []
    images = SimpleNamespace(
        tags=lambda: ["innobrim/mariadb:10.5"], image_server=lambda image, *_, **__: asked.append(image)
    )
    monkeypatch.setattr(chooser, "_images", lambda: images)
    server_named("mariadb-10.5")

    assert is_image("mariadb-10.5")
    assert asked == ["innobrim/mariadb:10.5"]


@pytest.mark.parametrize("name", ["mysql-5.7.22", "mysql-8.4", "mariadb-11.8"])
@pytest.mark.usefixtures("made_here")
def test_a_name_that_is_not_here_is_shown_with_those_that_are(name: str) -> None:
    """Folders with a program and our own images are listed, whatever a build beside makes and removes."""
    with pytest.raises(LabServerError) as refusal:
        server_named(name)

    assert f"{name} is not here" in str(refusal.value)
    assert "here are mariadb-10.5, mariadb-11.4.5, mysql-8.0.31, mysql-9.7;" in str(refusal.value)
    assert "make servers" in str(refusal.value)


@pytest.mark.usefixtures("made_here")
def test_without_a_docker_daemon_folders_have_their_names_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For an image it is said that no daemon answers, beside the names that are left."""

    def silent(**_given: object) -> None:
        raise docker.errors.DockerException("no socket")

    monkeypatch.setattr(docker, "from_env", silent)
    assert server_named("mysql-8.0.31").kind is MYSQL
    with pytest.raises(LabServerError, match=r"here are mariadb-11\.4\.5, mysql-8\.0\.31.*no socket"):
        server_named("mysql-9.7")


def test_a_mysqld_that_is_too_old_is_refused(tmp_path: Path) -> None:
    """It is refused before anything is made of it."""
    old = program(tmp_path / "old", "mysqld  Ver 5.5.62 for Linux on x86_64")
    with pytest.raises(
        LabServerError, match=r"old: MySQL 5\.5\.62 is not supported: MySQL 5\.6 is the oldest"
    ):
        server_named(str(old))


@pytest.mark.parametrize(
    ("image", "oldest"),
    [("mysql:5.5", "MySQL 5.6"), ("mariadb:10.4", "MariaDB 10.5"), ("percona:5.6", "Percona Server 5.7")],
)
def test_images_that_are_too_old_are_refused_unfetched(image: str, oldest: str) -> None:
    """Nobody waits for an image only to read that it is not supported."""
    with pytest.raises(LabServerError, match=f"{image}: .* is not supported: {oldest} is the oldest"):
        server_named(image)


def test_an_image_that_cannot_be_fetched_is_said_with_those_that_are_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a way to a registry it is said what can be named instead, and no address of an API."""
    here = client({"innobrim/mysql:9.7": ""}, "layer of a build")
    monkeypatch.setattr(docker, "from_env", lambda **_given: here)
    with pytest.raises(LabServerError) as refusal:
        server_named("mysql:8.4", say=lambda _text: None)
    assert str(refusal.value) == ("mysql:8.4: cannot be fetched (no such host); here are innobrim/mysql:9.7")
