"""The words that name a server, and what is said about words that do not."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from lab.servers import choose as chooser
from lab.servers.base import LabServerError
from lab.servers.local import LocalMySQL
from lab.servers.named import Kind, kind_of, server_named


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
        ("mysqld", Kind.PROGRAM),
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


def test_a_mysqld_is_taken_by_its_version(tmp_path: Path) -> None:
    """An old one is refused before anything is made of it."""
    good = program(tmp_path / "good", "mysqld  Ver 8.4.8 for Linux on x86_64 (MySQL Community Server - GPL)")
    old = program(tmp_path / "old", "mysqld  Ver 5.7.44 for Linux on x86_64")
    assert isinstance(server_named(str(good)), LocalMySQL)
    with pytest.raises(LabServerError, match=r"old: MySQL 5\.7\.44 is not supported yet"):
        server_named(str(old))


@pytest.mark.parametrize("image", ["mysql:5.7", "mysql:8.0.20", "registry.example:5000/db/mysql:5.7.44"])
def test_an_image_that_is_too_old_by_its_name_is_not_fetched(image: str) -> None:
    """Nobody waits for a download that would be refused."""
    said: list[str] = []
    with pytest.raises(LabServerError, match=r"is not supported yet: 8\.0\.30 is the oldest"):
        server_named(image, say=said.append)
    assert said == []


@pytest.mark.parametrize(
    "image", ["mysql:8.0", "mysql:8.0.30", "mysql:9.7", "mysql:lts", "innobrim/mysql:9.7"]
)
def test_an_image_whose_name_says_nothing_against_it_is_looked_at(image: str) -> None:
    """A tag without a patch is the newest of its series."""
    assert chooser.judge_tag(image) is None


@pytest.mark.parametrize("image", ["mariadb:11.8", "percona/percona-server:8.0"])
def test_other_families_are_refused_unfetched(image: str) -> None:
    """Nobody waits for an image only to read that it is not supported."""
    with pytest.raises(LabServerError, match=f"{image}: is not supported yet"):
        server_named(image)


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


def test_an_image_that_is_not_in_our_list_comes_last() -> None:
    """A supported version outside the list is taken where nothing better is here."""
    assert sorted(["mysql:9.1", "mysql:8.0"], key=chooser._preference) == ["mysql:8.0", "mysql:9.1"]
