"""The words that name a server, and what is said about words that do not."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace

import docker
import docker.errors
import pytest

from lab.servers.base import LabServerError
from lab.servers.choose import Kind, kind_of, server_named
from lab.servers.flavour import Flavour
from lab.servers.local import LocalServer


def program(path: Path, said: str) -> Path:
    """Write a program that says this, whatever it is asked."""
    path.write_text(f"#!/bin/sh\necho '{said}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("mysql:8.4", Kind.IMAGE),
        ("innobrim/mysql:9.7", Kind.IMAGE),
        ("registry.example:5000/db/mysql:8.0.42", Kind.IMAGE),
        ("mysql://dba@db1:3306/", Kind.OWN),
        ("mariadb:10.11", Kind.IMAGE),
        ("percona/percona-server:8.0", Kind.IMAGE),
        ("mysqld", Kind.PROGRAM),
        ("mariadbd", Kind.PROGRAM),
    ],
)
def test_words_tell_what_they_name(words: str, kind: Kind) -> None:
    """No option has to say which kind is meant."""
    assert kind_of(words) is kind


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("8.4", "'8.4' names no server; did you mean mysql:8.4?"),
        ("mysql", "an image needs its version, such as mysql:9.7"),
        ("postgres://db1", "postgres:// is no server of ours"),
        ("", "'' names no server"),
        ("MySQL 8", "'MySQL 8' names no server"),
        ("/no/such/mysqld", "/no/such/mysqld: no such file or directory"),
    ],
)
def test_words_that_name_nothing_are_shown_with_what_would(words: str, why: str) -> None:
    """Every refusal lists the three ways to name a server."""
    with pytest.raises(LabServerError) as refusal:
        kind_of(words)
    assert why in str(refusal.value)
    assert "mysql:8.4" in str(refusal.value)
    assert "mysql://USER@HOST:PORT" in str(refusal.value)


@pytest.mark.parametrize("words", ["./mysqld", ".hidden/mysqld"])
def test_a_path_from_here_may_begin_with_any_dot(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No image's name begins with a dot, so what does is a path, a hidden directory's too."""
    (tmp_path / ".hidden").mkdir()
    program(tmp_path / words, "x")
    monkeypatch.chdir(tmp_path)
    assert kind_of(words) is Kind.PROGRAM


def test_a_path_is_a_program_or_a_socket(tmp_path: Path) -> None:
    """What lies there decides; a directory or a text is neither."""
    assert kind_of(str(program(tmp_path / "mysqld", "x"))) is Kind.PROGRAM
    (tmp_path / "notes").write_text("x")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        assert kind_of(str(tmp_path / "s")) is Kind.OWN
    with pytest.raises(LabServerError, match="neither a program that can be run nor a socket"):
        kind_of(str(tmp_path / "notes"))
    with pytest.raises(LabServerError, match="a directory; name the mysqld in it"):
        kind_of(str(tmp_path))


@pytest.mark.parametrize(
    ("said", "flavour"),
    [
        ("mysqld  Ver 8.4.8 for Linux on x86_64 (MySQL Community Server - GPL)", Flavour.MYSQL),
        ("mysqld  Ver 5.6.24 for Linux on x86_64 (MySQL Community Server - GPL)", Flavour.MYSQL_56),
        ("mariadbd  Ver 10.11.18-MariaDB for Linux on x86_64", Flavour.MARIADB),
    ],
)
def test_a_mysqld_is_taken_by_its_version(tmp_path: Path, said: str, flavour: Flavour) -> None:
    """Whatever the file is called, what it says it is decides how it will be started."""
    found = server_named(str(program(tmp_path / "server", said)))
    assert isinstance(found, LocalServer)
    assert found.flavour is flavour


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

    class Images:
        def get(self, name: str) -> None:
            raise docker.errors.ImageNotFound(name)

        def list(self) -> list[SimpleNamespace]:
            return [SimpleNamespace(tags=["innobrim/mysql:9.7"])]

        def pull(self, _name: str) -> None:
            raise docker.errors.APIError("500 for http+docker://localhost", explanation="no such host")

    client = SimpleNamespace(images=Images(), close=lambda: None)
    monkeypatch.setattr(docker, "from_env", lambda **_given: client)
    with pytest.raises(LabServerError) as refusal:
        server_named("mysql:8.4", say=lambda _text: None)
    assert str(refusal.value) == ("mysql:8.4: cannot be fetched (no such host); here are innobrim/mysql:9.7")


def test_a_server_of_the_users_own_needs_his_yes() -> None:
    """Without it nothing is connected to, and nobody asked for a password; what would be done is said."""

    def ask(question: str) -> str:
        raise AssertionError(question)

    with pytest.raises(LabServerError) as refusal:
        server_named("mysql://dba@db1:3306", environ={}, ask=ask, confirm_with="--i-mean-it")
    said = str(refusal.value)
    for part in (
        "dba@db1:3306 is a server of your own",
        "creates the schema innobrim_lab",
        "under as much load",
        "the replicas",
        "changes innodb_io_capacity and innodb_io_capacity_max",
        "puts both values back",
        "drops innobrim_lab",
        "Nothing has been done yet",
        "--i-mean-it",
    ):
        assert part in said
