"""Option files as mysql's own programs read them: bytes, groups, addresses, and who may change them."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tuner.config.credentials import Credentials, read_credentials
from tuner.config.load import load_config
from tuner.config.optionfile import read_options, written
from tuner.config.schema import ConfigError, ServerSection

FIELD_NOT_UTF8 = b"# nicht \xe4ndern\n[mysqld]\nport=3306\n[client]\nuser=innobrim\npassword=x\n"
FIELD_LOCALHOST = "[client]\nuser=innobrim\npassword=x\nhost=localhost\n"


def found_in(
    tmp_path: Path,
    content: bytes | str,
    *,
    mode: int = 0o600,
    environ: dict[str, str] | None = None,
    **server: object,
) -> Credentials:
    """Return what is read from an option file with that content."""
    path = tmp_path / "my.cnf"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    section = ServerSection(defaults_file=str(path), **server)  # type: ignore[arg-type]  # a test's own keys
    return read_credentials(section, environ=environ or {})


@pytest.mark.parametrize(
    "content",
    [
        FIELD_NOT_UTF8,
        b"[mysqld]\ndatadir=/\xff\xfe\n[client]\nuser=innobrim\npassword=x\n",
        b"[client]\nuser=innobrim\npassword=x # caf\xe9\n; \x80\n",
        b"[\xe4]\nuser=other\n[client]\nuser=innobrim\npassword=x\n",
    ],
)
def test_bytes_that_are_no_utf8_do_not_matter(tmp_path: Path, content: bytes) -> None:
    """A comment, another group or a group's name in another encoding keeps nobody from logging in."""
    found = found_in(tmp_path, content)

    assert (found.user, found.password) == ("innobrim", "x")


def test_a_password_reaches_the_server_byte_for_byte(tmp_path: Path) -> None:
    """A password in another encoding is sent as it stands in the file, as mysql's own programs send it."""
    found = found_in(tmp_path, b"[client]\npassword=p\xe4ss\n")

    assert found.password.encode("utf-8", "surrogateescape") == b"p\xe4ss"


@pytest.mark.parametrize("name", ["user", "host", "socket"])
def test_a_name_in_another_encoding_is_refused_by_name(tmp_path: Path, name: str) -> None:
    """What is printed and logged must be text; the message says which option is not."""
    with pytest.raises(ConfigError, match=f"{name} is not UTF-8"):
        found_in(tmp_path, f"[client]\n{name}=".encode() + b"\xff\n")


@pytest.mark.parametrize("group", ["client", "CLIENT", "Client", "client "])
def test_a_groups_name_may_be_in_capitals(group: str) -> None:
    """As with mysql's own programs [CLIENT] is [client]; [clients] and [client-server] are others."""
    text = f"[{group}]\nuser=mine\n[clients]\nuser=a\n[client-server]\nuser=b\n[CLIENT_X]\nuser=c\n"

    assert read_options(text, "client") == {"user": "mine"}


@pytest.mark.parametrize("name", ["loose-user", "loose_user"])
def test_a_loose_option_is_the_option(name: str) -> None:
    """The prefix that keeps mysql's programs from complaining is taken off, with either of its signs."""
    assert read_options(f"[client]\n{name}=x\n", "client") == {"user": "x"}


@pytest.mark.parametrize(
    "value", ["plain", " a # b; ", 'say "hi"', "it's \\ here", "two\nlines\r\t\b", "\\s", "'"]
)
def test_what_is_written_is_read_back(value: str) -> None:
    """A value that we write into an option file is the same one when it is read, whatever is in it."""
    assert read_options(f"[client]\nuser={written(value)}\n[mysqld]\n", "client") == {"user": value}


def test_an_option_files_path_has_no_zero_byte() -> None:
    """Whoever names the file so reads that, whatever the name came from."""
    with pytest.raises(ConfigError, match="has a zero byte"):
        read_credentials(ServerSection(defaults_file="/tmp/a\0b"), environ={})  # noqa: S108 - never made


def test_localhost_means_the_unix_socket(tmp_path: Path) -> None:
    """Without a socket's path it is the one that the system has, never TCP; a port beside it says nothing."""
    environ = {"MYSQL_UNIX_PORT": "/run/our.sock"}

    assert found_in(tmp_path, FIELD_LOCALHOST, environ=environ).socket == "/run/our.sock"
    assert found_in(tmp_path, f"{FIELD_LOCALHOST}port=3307\n", environ=environ).socket == "/run/our.sock"
    assert found_in(tmp_path, FIELD_LOCALHOST).socket is not None
    named = found_in(tmp_path, f"{FIELD_LOCALHOST}socket=/run/named.sock\n", environ=environ)
    assert named.socket == "/run/named.sock"


def test_the_socket_that_is_there_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the places where servers have their socket it is the first that has one; without any the first."""
    there = tmp_path / "m.sock"
    monkeypatch.setattr("tuner.servers.endpoint.SOCKETS", (str(tmp_path / "none.sock"), str(there)))
    assert found_in(tmp_path, FIELD_LOCALHOST).socket == str(tmp_path / "none.sock")

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(there))
        assert found_in(tmp_path, FIELD_LOCALHOST).socket == str(there)


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
    tmp_path: Path, lines: str, where: tuple[str | None, str, int]
) -> None:
    """Host, port, protocol and socket lead where mysql goes with them; nothing at all is TCP on loopback."""
    found = found_in(tmp_path, f"[client]\nuser=x\n{lines}")

    assert (found.socket, found.host, found.port) == where


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("protocol=pipe\n", "protocol = pipe: must be tcp or socket"),
        ("protocol=socket\nhost=db1\n", "protocol = socket and host = db1"),
        (f"port={'9' * 5000}\nhost=db1\n", "must be a whole number"),
    ],
)
def test_an_address_that_is_none_is_refused(tmp_path: Path, lines: str, said: str) -> None:
    """What contradicts itself, or is nothing that can be connected to, is named with what would be right."""
    with pytest.raises(ConfigError, match=said):
        found_in(tmp_path, f"[client]\n{lines}")


def test_our_own_port_is_tcp_whatever_the_file_says(tmp_path: Path) -> None:
    """A port given here is meant: it overrules a host that would mean the socket."""
    found = found_in(tmp_path, FIELD_LOCALHOST, port=3308)

    assert (found.socket, found.host, found.port) == (None, "localhost", 3308)


@pytest.mark.parametrize("content", ["[client]\nuser=x\n", "[client]\nuser=x\npassword=y\n"])
@pytest.mark.parametrize("mode", [0o602, 0o666, 0o777])
def test_a_file_that_others_can_change_is_refused(tmp_path: Path, content: str, mode: int) -> None:
    """Whoever may write to it decides where our password goes: mysql's own programs ignore it, we say so."""
    with pytest.raises(ConfigError, match=rf"other accounts can change it \(mode {mode:04o}\)"):
        found_in(tmp_path, content, mode=mode)


def test_a_configuration_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    """A TOML file as some editors save it is read like any other."""
    path = tmp_path / "innobrim.toml"
    path.write_bytes(b'\xef\xbb\xbf[server]\nuser = "tuner"\n')

    assert load_config(str(path), environ={}, flags={}).server.user == "tuner"
