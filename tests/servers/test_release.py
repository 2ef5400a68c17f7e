"""What is a version, and what is text that somebody put in the place of one."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.servers.fixtured import FILES
from tests.servers.injected import INJECTED
from tests.servers.plain import VARIABLES
from tuner.servers.families import recognise
from tuner.servers.fixture import decode, encode, load
from tuner.servers.port import Unsupported
from tuner.servers.release import release_of, version_in, version_of
from tuner.servers.session import session_limits


@pytest.mark.parametrize(
    ("banner", "version"),
    [
        ("8.0.46", "8.0.46"),
        ("5.7.44-48-log", "5.7.44-48-log"),
        ("8.0.35-27-Percona", "8.0.35-27-Percona"),
        ("5.5.5-10.6.16-MariaDB", "10.6.16-MariaDB"),
        ("5.5.5-10.6.16-MariaDB-1:10.6.16+maria~ubu2204-log", "10.6.16-MariaDB-1:10.6.16+maria~ubu2204-log"),
        ("10.11.6-MariaDB-0+deb12u1-log", "10.11.6-MariaDB-0+deb12u1-log"),
        ("10.6.17-13-MariaDB-enterprise-log", "10.6.17-13-MariaDB-enterprise-log"),
        ("11.8.6-MariaDB-0+deb13u1 from Debian", "11.8.6-MariaDB-0+deb13u1"),
        ("8.0.35-27 Percona Server (GPL), Release 27, Revision 2f8eeab2", "8.0.35-27"),
        ("Server version:\t\t10.11.6-MariaDB-0+deb12u1-log Debian 12", "10.11.6-MariaDB-0+deb12u1-log"),
        ("Server version: 10.6.16 mariadb.org binary distribution", "10.6.16-MariaDB"),
        ("8.0.36-u2-cloud MySQL Enterprise - Cloud", "8.0.36-u2-cloud"),
        ("8.0.36 MySQL Enterprise - Cloud", "8.0.36-cloud"),
        ("8.0.31 (Google)", "8.0.31-google"),
        ("9.7", "9.7"),
        (" 9.7.4\t", "9.7.4"),
        ("Server version\t\t8.0.36", "8.0.36"),
        ("Server version\t\t11.8.6-MariaDB-0+deb13u1 from Debian", "11.8.6-MariaDB-0+deb13u1"),
        ("mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)", "8.0.36"),
        ("/usr/sbin/mysqld  Ver 5.7.44-log for Linux on x86_64", "5.7.44-log"),
        (
            "/usr/sbin/mysqld  Ver 8.0.35-27 for Linux on x86_64 (Percona Server (GPL), Release 27)",
            "8.0.35-27",
        ),
        (
            "mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64",
            "10.11.6-MariaDB-0+deb12u1",
        ),
        ("mysqld.exe  Ver 8.4.6 for Win64 on x86_64", "8.4.6"),
        ("| 8.0.46 |", "8.0.46"),
        ("| version | 8.0.46-log |", "8.0.46-log"),
        ("version\t10.11.6-MariaDB", "10.11.6-MariaDB"),
        ("VERSION(): 9.7.4", "9.7.4"),
        ("@@version: 9.7.4", "9.7.4"),
        ("8.0.46;", "8.0.46"),
        ("'8.0.46'", "8.0.46"),
        ('"8.0.46"', "8.0.46"),
    ],
)
def test_a_banner_has_its_version(banner: str, version: str) -> None:
    """What clients show of a server is understood, with the marks of its build that matter."""
    assert version_in(banner) == version


@pytest.mark.parametrize(
    "banner",
    [
        "Server version",
        "Server: MySQL",
        "mysql  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)",
        "mysql  Ver 15.1 Distrib 10.11.6-MariaDB, for debian-linux-gnu (x86_64)",
        "mysqldump  Ver 8.0.36 for Linux on x86_64",
        "mysqld",
        "| VERSION() |",
        "|",
        "8.0.46; DROP DATABASE mysql;",
        "8.0.46 |\n| 9.7.4",
        f"mysqld  Ver {'x' * 5000}",
    ],
)
def test_a_banner_without_the_servers_version_is_shown(banner: str) -> None:
    """What a client program is says nothing of the server; a refusal has the line as it was given, cut."""
    with pytest.raises(ValueError, match="no version") as caught:
        version_in(banner)
    assert repr(banner[:20])[1:-1] in str(caught.value)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "said", ["5.5.5-1.1.1", "5.5.5-", "5.5.5-10.6.16-mariadb", "9", "9.", " ", "\t", "a ", "8.0.36 ", "~"]
)
@pytest.mark.parametrize("before", ["", "8.0.36", "5.5.5-10.6.16-MariaDB"])
def test_a_greeting_of_any_length_is_read_in_no_time(before: str, said: str) -> None:
    """However long a version is, and whatever it repeats, it holds up no connection and no command."""
    greeting = before + said * (1024 * 1024 // len(said))
    began = time.process_time()
    release_of(greeting)
    session_limits(greeting, 1.0)
    with pytest.raises(ValueError, match="no version"):
        version_of(greeting)
    with contextlib.suppress(ValueError):
        version_in(greeting)

    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("said", INJECTED)
def test_text_in_the_place_of_a_version_is_none(said: str) -> None:
    """Neither a server nor an option gets a line, a quote, a sign of Markdown or an escape code through."""
    with pytest.raises(ValueError, match="no version"):
        version_of(said)
    variables = {**VARIABLES, "version": said}
    with pytest.raises(Unsupported, match="no version") as caught:
        recognise(variables)
    assert str(caught.value).isprintable()


@given(st.text())
def test_whatever_is_a_version_is_safe_anywhere(tail: str) -> None:
    """What passes is one short line of letters that mean nothing to SQL, a shell, Markdown or a terminal."""
    for read in (version_of, version_in):
        try:
            version = read(f"9.7.4{tail}")
        except ValueError:
            continue
        assert version.isascii()
        assert version.isprintable()
        assert not set(version) & set("'\"`;\\#$|<>*/&{}[]!")


def test_a_release_is_read_past_what_is_said_to_old_clients() -> None:
    """The 5.5.5 that MariaDB puts before its version is not its release; a MySQL 5.5.5 is one."""
    assert release_of("5.5.5-10.6.16-MariaDB") == (10, 6, 16)
    assert release_of("5.5.5-m3") == (5, 5, 5)


@pytest.mark.parametrize("name", ["version", "aurora_version"])
def test_a_fixture_with_text_in_the_place_of_a_version_is_refused(name: str) -> None:
    """A recording that somebody sent puts nothing into the pages that are made of it."""
    fixture = load(next(iter(FILES.values())))
    first = fixture.readings[0]
    forged = replace(first, variables={**first.variables, name: "9.7.4 | [x](http://evil)"})

    with pytest.raises(ValueError, match="no version"):
        decode(encode(replace(fixture, readings=(forged, *fixture.readings[1:]))))
