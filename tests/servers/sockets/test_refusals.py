"""A server that is there and refuses: each reason has its own way out, in ``check``, log and status."""

from __future__ import annotations

import importlib.util
import re
import socket

import pytest

from tests.servers.sockets.mysqld import Mysqld, Reach, endpoint, refused
from tuner.findings.check import ANY_FIX, check
from tuner.records import Missed
from tuner.servers.endpoint import Endpoint
from tuner.servers.failures import refusal
from tuner.servers.port import Unreachable
from tuner.servers.server import RealServer
from tuner.servers.session import Session
from tuner.settings import Settings
from tuner.system.clock import SystemClock

DENIED = "Access denied for user 'innobrim'@'{}' (using password: YES)"
MUST_RESET = "You must reset your password using ALTER USER statement before executing this statement."
ABORTED = "Aborted connection 5 to db: 'unconnected' user: 'innobrim' host: 'localhost' ({})"
EXPIRED = (
    "Your password has expired. To log in you must change it using a client that supports expired passwords."
)
RENEWED = "IDENTIFIED BY '…' PASSWORD EXPIRE NEVER"


def fix_of(session: Session) -> str:
    """Return what ``check`` names as the way out of a server that does not let us in."""
    report = check(RealServer(session.endpoint, SystemClock()), active=False, settings=Settings())
    (line,) = report.findings
    assert not report.reachable
    return line.fix


@pytest.mark.parametrize(
    ("number", "words", "fix"),
    [
        (1045, DENIED.format("localhost"), "check user and password"),
        (1045, DENIED.format("127.0.0.1"), "innobrim setup-sql --account innobrim@127.0.0.1"),
        (1045, DENIED.format("127.0.0.1"), "skip_name_resolve"),
        (1045, DENIED.format("::1"), "innobrim setup-sql --account innobrim@::1"),
        (1045, DENIED.format("172.17.0.1"), "an account for 172.17.0.1"),
        (1862, EXPIRED, f"ALTER USER 'innobrim'@'…' {RENEWED}"),
        (1820, MUST_RESET, f"ALTER USER 'innobrim'@'…' {RENEWED}"),
        (
            3118,
            "Access denied for user 'innobrim'@'10.0.0.5'. Account is locked.",
            "'innobrim'@'10.0.0.5' ACCOUNT UNLOCK",
        ),
        (4151, "Access denied, this account is locked", "ALTER USER 'innobrim'@'…' ACCOUNT UNLOCK"),
        (
            3955,
            "Access denied for user 'innobrim'@'h1'. Account is blocked for 1 day(s)",
            "'innobrim'@'h1' ACCOUNT UNLOCK",
        ),
        (4150, "User is blocked because of too many credential errors", "FLUSH PRIVILEGES"),
        (1184, ABORTED.format("init_connect command failed"), "init_connect"),
        (1184, ABORTED.format("Got an error reading communication packets"), "its error log may say why"),
        (1226, "User 'innobrim' has exceeded the 'max_user_connections' resource", "MAX_USER_CONNECTIONS"),
        (1045, DENIED.format("localhost"), "REQUIRE SSL"),
        (1047, "WSREP has not yet prepared node for application use", "wsrep_"),
        (1698, DENIED.format("localhost"), "auth_socket"),
        (1524, "Plugin 'x' is not loaded", "load that plugin"),
        (3032, "The server is currently in offline mode", "offline_mode = OFF"),
        (
            1130,
            "Host '10.0.0.5' is not allowed to connect to this MySQL server",
            "create the account for this host",
        ),
        (4999, "something of tomorrow's", "its error log may say why"),
    ],
)
def test_a_refusal_has_its_own_way_out(
    mysqld: Mysqld, session: Session, number: int, words: str, fix: str
) -> None:
    """A server that answers need not be started: what is named helps against what it said."""
    mysqld.denies = (number, words)

    assert fix in refused(session)[0]
    assert fix in fix_of(session)
    assert "start the server" not in fix_of(session)
    assert fix_of(session) != ANY_FIX


def test_no_password_is_no_wrong_password(mysqld: Mysqld, reach: Reach) -> None:
    """Who gave none is told where one is read from, not to check it."""
    mysqld.denies = (1045, "Access denied for user 'innobrim'@'localhost' (using password: NO)")

    assert "INNOBRIM_PASSWORD_FILE" in refused(reach(password=""))[0]


@pytest.mark.parametrize(
    ("said", "fix"),
    [
        ((1820, MUST_RESET), RENEWED),
        ((1226, "User 'innobrim' has exceeded the 'max_questions' resource"), "_PER_HOUR"),
        ((1047, "WSREP has not yet prepared node for application use"), "wsrep_"),
    ],
)
def test_a_session_whose_statements_are_refused_is_told_why(
    mysqld: Mysqld, listener: socket.socket, said: tuple[int, str], fix: str
) -> None:
    """Where the login still works and every statement is refused, check, log and status name the way out."""
    mysqld.answers = lambda _statement: said
    server = RealServer(endpoint(listener), SystemClock())

    with pytest.raises(Unreachable, match=re.escape(fix)):
        server.facts()
    reading = server.read()
    server.close()
    assert isinstance(reading, Missed)
    assert fix in reading.reason


@pytest.mark.parametrize(
    ("method", "library", "said"),
    [
        (b"client_ed25519", "nacl", ("PyMySQL[ed25519]", "mysql_native_password")),
        (b"parsec", "", ("caching_sha2_password",)),
    ],
)
def test_a_plugin_that_the_driver_does_not_know_is_named(
    mysqld: Mysqld, session: Session, method: bytes, library: str, said: tuple[str, ...]
) -> None:
    """The library that it takes, where there is one, and which methods are understood."""
    if library and importlib.util.find_spec(library) is not None:
        pytest.skip(f"{library} is installed: there is nothing to say")
    mysqld.wants = method
    words, _ = refused(session)

    assert [one for one in said if one not in words] == []
    assert "start the server" not in fix_of(session)


@pytest.mark.parametrize(
    ("asks", "denies"),
    [
        (b"parsec", None),
        (b"dialog", None),
        (None, (1698, "Access denied for user 'innobrim'@'172.17.0.1'")),
    ],
)
def test_what_mariadb_says_of_no_such_account_is_told(
    mysqld: Mysqld, session: Session, asks: bytes | None, denies: tuple[int, str] | None
) -> None:
    """A MariaDB without an account for us asks by another one's plugin: which proves nothing."""
    mysqld.version, mysqld.wants, mysqld.denies = b"5.5.5-10.11.18-MariaDB", asks, denies

    assert "no such account for the host" in fix_of(session)
    mysqld.version = b"9.7.4"
    assert "no such account for the host" not in fix_of(session)


@pytest.mark.parametrize("host", ["x\ny", "x'; DROP DATABASE y; --", "x\\", "\x1b[2J", "x y"])
def test_the_servers_words_reach_no_statement(host: str) -> None:
    """What a server calls our host goes into a statement or a command only where it can be one."""
    there = Endpoint(user="innobrim", password="x")
    for number in (1045, 1862, 3118, 3955):
        fix = refusal(there, number, DENIED.format(host))

        assert fix.isprintable()
        assert "DROP" not in fix
        assert "\\" not in fix
