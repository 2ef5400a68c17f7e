"""Option files as mysql's own programs read them: rules, bytes, groups, addresses, and their modes."""

from __future__ import annotations

import socket

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.config.support import OptionFile
from tuner.config.optionfile import read_options, written

LOCALHOST = "[client]\nuser=innobrim\npassword=x\nhost=localhost\n"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("password=plain", "plain"),
        ("password = spaced out  ", "spaced out"),
        ("password=abc # comment", "abc"),
        ("password='abc # no comment'", "abc # no comment"),
        ('password="it\'s"', "it's"),
        (r"password=a\\b", "a\\b"),
        (r"password=a\sb\tc", "a b\tc"),
        (r"password=C:\new", "C:\new"),
        (r"password=C:\windows", r"C:\windows"),
        (r'password="say \"hi\""', 'say "hi"'),
        ("password=a=b", "a=b"),
        ("password='", "'"),
        ('password="unbalanced', '"unbalanced'),
        ("password=", ""),
        ("password", ""),
        ("loose-password = x", "x"),
        ("loose_password = x", "x"),
        ("password=one\npassword=two", "two"),
        ("password=a\r", "a"),
    ],
)
def test_option_files_are_read_by_mysqls_rules(line: str, value: str) -> None:
    """Quotes, escapes, comments and repetitions mean what they mean to mysql."""
    assert read_options(f"[client]\n{line}\n", "client")["password"] == value


def test_groups_and_names() -> None:
    """Only our group counts; dashes are underscores; comments and directives are skipped."""
    text = "\ufeff# c\n; c\n[mysqld]\nport=1\n[client] # c\nssl-ca=/x\n!include /y\n"
    text += "[ client ]\nport=2\n[mysql]\nport=3\n"

    assert read_options(text, "client") == {"ssl_ca": "/x", "port": "2"}


@example("plain")
@given(st.text(st.characters(blacklist_categories=("Cs", "Cc")) | st.sampled_from("\n\r\t\b\"'\\# ;[")))
def test_what_is_written_is_read_back(value: str) -> None:
    """A value that we write into an option file is the same one when it is read, whatever is in it."""
    assert read_options(f"[client]\nuser={written(value)}\n[mysqld]\n", "client") == {"user": value}


@pytest.mark.parametrize("group", ["client", "CLIENT", "Client", "client "])
def test_a_groups_name_may_be_in_capitals(group: str) -> None:
    """As with mysql's own programs [CLIENT] is [client]; [clients] and [client-server] are others."""
    text = f"[{group}]\nuser=mine\n[clients]\nuser=a\n[client-server]\nuser=b\n[CLIENT_X]\nuser=c\n"

    assert read_options(text, "client") == {"user": "mine"}


@pytest.mark.parametrize(
    "content",
    [
        b"# nicht \xe4ndern\n[mysqld]\nport=3306\n[client]\nuser=innobrim\npassword=x\n",
        b"[mysqld]\ndatadir=/\xff\xfe\n[client]\nuser=innobrim\npassword=x\n",
        b"[client]\nuser=innobrim\npassword=x # caf\xe9\n; \x80\n",
        b"[\xe4]\nuser=other\n[client]\nuser=innobrim\npassword=x\n",
    ],
    ids=["comment", "another group", "comments of our group", "a group's name"],
)
def test_bytes_that_are_no_utf8_do_not_matter(options: OptionFile, content: bytes) -> None:
    """A comment, another group or a group's name in another encoding keeps nobody from logging in."""
    found = options.read(content)

    assert (found.user, found.password) == ("innobrim", "x")


def test_a_password_reaches_the_server_byte_for_byte(options: OptionFile) -> None:
    """A password in another encoding is sent as it stands in the file, as mysql's own programs send it."""
    found = options.read(b"[client]\npassword=p\xe4ss\n")

    assert found.password.encode("utf-8", "surrogateescape") == b"p\xe4ss"


def test_localhost_means_the_unix_socket(options: OptionFile) -> None:
    """Where nothing names the socket's path it is the one of the system, never TCP; a port says nothing."""
    environ = {"MYSQL_UNIX_PORT": "/run/our.sock"}

    assert options.read(LOCALHOST).socket is not None
    for more, path in (("", "our"), ("port=3307\n", "our"), ("socket=/run/named.sock\n", "named")):
        assert options.read(LOCALHOST + more, environ=environ).socket == f"/run/{path}.sock"


def test_the_socket_that_is_there_is_taken(options: OptionFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the places where servers have their socket it is the first that has one; without any the first."""
    none, there = (str(options.path.with_name(name)) for name in ("none.sock", "m.sock"))
    monkeypatch.setattr("tuner.servers.endpoint.SOCKETS", (none, there))
    assert options.read(LOCALHOST).socket == none

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(there)
        assert options.read(LOCALHOST).socket == there


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        ("host=localhost\nprotocol=tcp\nport=3307\n", (None, "localhost", 3307)),
        ("host=localhost\nprotocol=TCP\nsocket=/s\n", (None, "localhost", 3306)),
        ("protocol=tcp\nsocket=/s\n", (None, "127.0.0.1", 3306)),
        ("host=127.0.0.1\nsocket=/s\nport=3307\n", (None, "127.0.0.1", 3307)),
        ("host=db1\nsocket=/s\n", (None, "db1", 3306)),
        ("host=LOCALHOST\n", (None, "LOCALHOST", 3306)),
        ("socket=/s\nport=3307\n", ("/s", "127.0.0.1", 3307)),
        ("protocol=socket\nsocket=/s\n", ("/s", "127.0.0.1", 3306)),
        ("protocol=default\n", (None, "127.0.0.1", 3306)),
        ("", (None, "127.0.0.1", 3306)),
    ],
)
def test_an_address_is_the_one_of_mysqls_own_programs(
    options: OptionFile, lines: str, where: tuple[str | None, str, int]
) -> None:
    """Host, port, protocol and socket lead where mysql goes with them; nothing at all is TCP on loopback."""
    found = options.read(f"[client]\nuser=x\n{lines}")

    assert (found.socket, found.host, found.port) == where


@pytest.mark.parametrize(
    ("ours", "where"),
    [
        ({"host": "db1", "user": "other"}, (None, "db1", 3306, "other")),
        ({"host": "127.0.0.1"}, (None, "127.0.0.1", 3306, "tuner")),
        ({"port": 3306}, (None, "db2", 3306, "tuner")),
        ({"port": 3308}, (None, "db2", 3308, "tuner")),
        ({"socket": "/o"}, ("/o", "127.0.0.1", 3306, "tuner")),
    ],
)
def test_our_own_configuration_beats_the_option_file(
    options: OptionFile, ours: dict[str, object], where: tuple[str | None, str, int, str]
) -> None:
    """What is said here is meant, also where it is the default; a port alone keeps the file's host."""
    found = options.read("[client]\nuser=tuner\npassword=x\nhost=db2\nport=3307\n", **ours)

    assert (found.socket, found.host, found.port, found.user) == where
    assert found.password == "x"  # noqa: S105 - made up


def test_our_own_port_is_tcp_whatever_the_file_says(options: OptionFile) -> None:
    """A port given here is meant: it overrules a host that would mean the socket, and a socket."""
    for content, host in ((LOCALHOST, "localhost"), ("[client]\nsocket=/s\n", "127.0.0.1")):
        found = options.read(content, port=3308)
        assert (found.socket, found.host, found.port) == (None, host, 3308)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[client]\nprotocol=pipe\n", "protocol = pipe: must be tcp or socket"),
        ("[client]\nprotocol=socket\nhost=db1\n", "protocol = socket and host = db1"),
        (f"[client]\nport={'9' * 5000}\nhost=db1\n", "must be a whole number"),
        ("[client]\nport=70000\n", "port = 70000"),
        ("[client]\nuser=\udcff\n", "user is not UTF-8"),
        ("[client]\nhost=\udcff\n", "host is not UTF-8"),
        ("[client]\nsocket=\udcff\n", "socket is not UTF-8"),
        ("password = swordfish\n", "line 1: an option stands before the first [group]"),
        ("[client\npassword = swordfish\n", "line 1: a group must end with ]"),
        (None, "no such file"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(options: OptionFile, content: str | None, said: str) -> None:
    """What contradicts itself, or is nothing that can be connected to, is named; no secret is."""
    problem = options.refused(content)

    assert problem.startswith(str(options.path))
    assert said in problem
    assert "swordfish" not in problem


@pytest.mark.parametrize("content", ["[client]\nuser=x\n", "[client]\nuser=x\npassword=y\n"])
@pytest.mark.parametrize("mode", [0o602, 0o666, 0o777])
def test_a_file_that_others_can_change_is_refused(options: OptionFile, content: str, mode: int) -> None:
    """Whoever may write to it decides where our password goes: mysql's own programs ignore it, we say so."""
    assert f"other accounts can change it (mode {mode:04o})" in options.refused(content, mode=mode)


@pytest.mark.parametrize(
    ("content", "mode", "warnings"),
    [
        (
            "!includedir /etc/mysql/conf.d\n[mysqld]\npassword=no\n",
            0o600,
            ["!includedir is not followed", "no user, password, host or socket in a [client] group"],
        ),
        (
            "[client]\npassword=x\n",
            0o644,
            ["other accounts can read it (mode 0644); chmod 0640 or less"],
        ),
    ],
)
def test_what_is_not_followed_empty_or_readable_is_said(
    options: OptionFile, content: str, mode: int, warnings: list[str]
) -> None:
    """It is used all the same, with a warning."""
    found = options.read(content, mode=mode)

    assert [warning.partition(": ")[2] for warning in found.warnings] == warnings
