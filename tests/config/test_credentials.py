"""Who we are to the server, where that is read, and that nobody else learns it."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.config import credentials
from tuner.config.credentials import identity_of, on_read_only_memory, read_credentials
from tuner.config.load import load_config
from tuner.config.optionfile import OptionFileError, read_options
from tuner.config.schema import ConfigError, ServerSection

SECRET = "swordfish #1"  # noqa: S105 - made up

MOUNTS = """\
21 1 0:19 / / rw,relatime - overlay overlay rw
22 21 0:20 / /run rw,nosuid - tmpfs tmpfs rw
23 21 0:21 / /etc/db\\040secrets ro,relatime - tmpfs tmpfs rw
24 21 0:22 / /usr ro,relatime - ext4 /dev/sda1 ro
25 23 0:23 / /etc/db\\040secrets/open rw,relatime - tmpfs tmpfs rw
"""


def password_of(section: ServerSection, environ: dict[str, str]) -> str:
    """Return the password that is found."""
    return read_credentials(section, environ=environ).password


@pytest.fixture
def options(tmp_path: Path) -> Path:
    """Return an option file as a careful operator writes it."""
    path = tmp_path / "my.cnf"
    path.write_text(f'[client]\nuser = tuner\npassword = "{SECRET}"\nsocket=/run/m.sock\nport=3307\n')
    path.chmod(0o600)
    return path


def test_an_option_file_says_it_all(options: Path) -> None:
    """User, password, socket and port come from [client]; no warning where there is nothing to warn of."""
    found = read_credentials(ServerSection(defaults_file=str(options)), environ={})

    assert (found.user, found.password, found.socket, found.port) == ("tuner", SECRET, "/run/m.sock", 3307)
    assert (found.host, found.password_from, found.warnings) == ("127.0.0.1", str(options), ())


def test_the_password_is_never_shown(options: Path) -> None:
    """Not in repr, not in str, not in an error about the file."""
    found = read_credentials(ServerSection(defaults_file=str(options)), environ={})
    assert SECRET not in f"{found!r} {found}"

    options.write_text(f"password = {SECRET}\n")
    with pytest.raises(ConfigError) as caught:
        read_credentials(ServerSection(defaults_file=str(options)), environ={})
    assert SECRET not in str(caught.value)


def test_our_own_configuration_beats_the_option_file(options: Path) -> None:
    """An address or a user that is said here is meant; the password still comes from the file."""
    section = ServerSection(host="db1", user="other", defaults_file=str(options))
    found = read_credentials(section, environ={})

    assert (found.user, found.socket, found.host, found.port) == ("other", None, "db1", 3306)
    assert found.password == SECRET


def test_what_is_said_counts_even_where_it_is_the_default(options: Path) -> None:
    """An address typed as the default address goes there, wherever the option file points."""
    for section in (
        ServerSection(host="127.0.0.1", defaults_file=str(options)),
        ServerSection(port=3306, defaults_file=str(options)),
    ):
        found = read_credentials(section, environ={})
        assert (found.socket, found.host, found.port) == (None, "127.0.0.1", 3306)


def test_a_port_alone_keeps_the_option_files_host(options: Path) -> None:
    """Whoever gives another port of the option file's host does not end up on this machine."""
    options.write_text("[client]\nuser=tuner\nhost=db2.example\nport=3307\n")
    found = read_credentials(ServerSection(port=3308, defaults_file=str(options)), environ={})

    assert (found.host, found.port) == ("db2.example", 3308)


def test_the_nearest_source_of_a_password_wins(options: Path, tmp_path: Path) -> None:
    """Environment, then the systemd credential, then the option file."""
    section = ServerSection(defaults_file=str(options))
    (tmp_path / "mysql-password").write_text("from systemd\n")
    directory = {"CREDENTIALS_DIRECTORY": str(tmp_path)}

    assert password_of(section, {**directory, "INNOBRIM_PASSWORD": "env"}) == "env"
    assert password_of(section, directory) == "from systemd"
    (tmp_path / "mysql-password").unlink()
    assert password_of(ServerSection(), directory) == SECRET
    assert password_of(ServerSection(), {}) == ""


def test_a_file_that_others_can_read_is_said(options: Path) -> None:
    """It is used all the same, with a warning."""
    options.chmod(0o644)
    found = read_credentials(ServerSection(defaults_file=str(options)), environ={})

    (warning,) = found.warnings
    assert "other accounts can read" in warning
    assert "0644" in warning


def test_what_is_not_followed_or_empty_is_said(options: Path) -> None:
    """An include that MySQL would follow, and a file without anything for us."""
    options.write_text("!includedir /etc/mysql/conf.d\n[mysqld]\npassword=no\n")
    found = read_credentials(ServerSection(defaults_file=str(options)), environ={})

    assert [warning.partition(": ")[2] for warning in found.warnings] == [
        "!includedir is not followed",
        "no user, password, host or socket in a [client] group",
    ]


def test_broken_files_are_refused_with_the_reason(tmp_path: Path) -> None:
    """Missing, a name that is no text, and a port that is none."""
    path = tmp_path / "my.cnf"
    section = ServerSection(defaults_file=str(path))
    with pytest.raises(ConfigError, match="no such file"):
        read_credentials(section, environ={})
    path.write_bytes(b"[client]\nuser=\xff\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_credentials(section, environ={})
    path.write_text("[client]\nport=70000\n")
    with pytest.raises(ConfigError, match="port = 70000"):
        read_credentials(section, environ={})


def test_a_certificate_authority_must_be_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot be used ends the command at once with key, path and why; nobody waits for it."""
    empty = tmp_path / "empty.pem"
    empty.touch()
    for path, why in (
        (tmp_path / "none.pem", "no such file"),
        (tmp_path, "a directory"),
        (empty, "no certificate in it"),
    ):
        with pytest.raises(ConfigError, match=rf"server\.tls_ca = {path}: {why}; it must be"):
            read_credentials(ServerSection(tls="required", tls_ca=str(path)), environ={})

    def deny(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", deny)
    with pytest.raises(ConfigError, match="permission denied; it must be"):
        read_credentials(ServerSection(tls="required", tls_ca=str(empty)), environ={})


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
    for broken in ("port=1\n", "[client\nport=1\n"):
        with pytest.raises(OptionFileError, match="line 1"):
            read_options(broken, "client")


@given(st.text(st.characters(blacklist_categories=("Cs", "Cc")) | st.sampled_from("\n\t\"'\\# ;[")))
def test_any_password_can_be_written_down(password: str) -> None:
    """With quotes around it and backslashes escaped, every password comes back."""
    escaped = password.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")

    assert read_options(f'[client]\npassword="{escaped}"\n', "client")["password"] == password


def test_a_credential_that_cannot_be_seen_is_an_error(tmp_path: Path) -> None:
    """Where systemd's directory cannot be looked into, that is said with its path; nothing else is tried."""
    directory = tmp_path / ("x" * 300)  # longer than a name may be, which stops root as well

    with pytest.raises(ConfigError, match="the credential cannot be seen: File name too long"):
        password_of(ServerSection(), {"CREDENTIALS_DIRECTORY": str(directory)})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file with a password, for its owner alone."""
    path = tmp_path / "password"
    path.write_bytes(b"swordfish #1 \nsecond line\n")
    path.chmod(0o600)
    return path


def filed_password(path: Path, **environ: str) -> str:
    """Return the password that is found with the variable set to a path."""
    given = {"INNOBRIM_PASSWORD_FILE": str(path), **environ}
    return read_credentials(ServerSection(), environ=given).password


def test_the_password_is_the_first_line(file: Path) -> None:
    """Its blanks and signs belong to it, the end of the line does not, and its source is named."""
    found = read_credentials(ServerSection(), environ={"INNOBRIM_PASSWORD_FILE": str(file)})

    assert found.password == "swordfish #1 "  # noqa: S105 - made up
    assert found.password_from == f"INNOBRIM_PASSWORD_FILE = {file}"
    file.write_bytes(b"no end")
    assert filed_password(file) == "no end"
    file.write_bytes(b"p\xe4ss\r\n")
    assert filed_password(file).encode("utf-8", "surrogateescape") == b"p\xe4ss"


def test_two_passwords_are_an_error_that_names_both(file: Path, tmp_path: Path) -> None:
    """Nobody has to guess which counts; an empty variable is none, and an option file comes last."""
    options = tmp_path / "my.cnf"
    options.write_text("[client]\npassword=other\n")
    options.chmod(0o600)
    section = ServerSection(defaults_file=str(options))
    named = {"INNOBRIM_PASSWORD_FILE": str(file)}
    assert read_credentials(section, environ=named).password == "swordfish #1 "  # noqa: S105 - made up
    with pytest.raises(ConfigError, match="INNOBRIM_PASSWORD and INNOBRIM_PASSWORD_FILE"):
        filed_password(file, INNOBRIM_PASSWORD="other")
    assert filed_password(file, INNOBRIM_PASSWORD="") == "swordfish #1 "
    given = {"INNOBRIM_PASSWORD": "other", "INNOBRIM_PASSWORD_FILE": ""}
    assert read_credentials(ServerSection(), environ=given).password == "other"  # noqa: S105 - made up


@pytest.mark.parametrize(
    ("mode", "said"), [(0o644, "can read it"), (0o604, "can read it"), (0o602, "can change it")]
)
def test_a_file_of_everybodys_is_refused(file: Path, mode: int, said: str) -> None:
    """A password that every account of the machine reads, or may put another in the place of, is none."""
    file.chmod(mode)

    with pytest.raises(ConfigError, match=rf"{said} \(mode {mode:04o}\); chmod 0640 or less") as caught:
        filed_password(file)
    assert "swordfish" not in str(caught.value)
    file.chmod(0o640)
    assert filed_password(file)


def test_a_mounted_secret_may_be_readable(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below /run/secrets the runtime chose the mode, not the operator; nobody may change it there either."""
    file.chmod(0o444)
    monkeypatch.setattr(credentials, "SECRETS", Path(os.path.realpath(file.parent)))
    assert filed_password(file) == "swordfish #1 "

    file.chmod(0o446)
    with pytest.raises(ConfigError, match="can change it"):
        filed_password(file)


@pytest.mark.parametrize(
    ("path", "mounted"),
    [
        ("/etc/db secrets/..2026/password", True),
        ("/etc/db secrets/open/password", False),
        ("/etc/db secretsx/password", False),
        ("/usr/share/password", False),
        ("/run/user/password", False),
        ("/srv/password", False),
    ],
)
def test_a_read_only_file_system_in_memory_is_a_mounted_secret(path: str, mounted: str) -> None:
    """That is how Kubernetes mounts one, wherever it is asked to; of mounts in mounts the nearest counts."""
    assert on_read_only_memory(Path(path), MOUNTS) is mounted


def test_what_is_no_password_file_is_refused(tmp_path: Path) -> None:
    """Missing, a directory, a pipe that nobody writes to and an empty first line are named at once."""
    fifo, empty, long = (tmp_path / name for name in ("fifo", "empty", "long"))
    os.mkfifo(fifo, 0o600)
    for path, content in ((empty, b"\nsecond\n"), (long, b"x" * 5000)):
        path.write_bytes(content)
        path.chmod(0o600)

    for path, said in (
        (tmp_path / "none", "no such file"),
        (tmp_path, "no regular file"),
        (fifo, "no regular file"),
        (empty, "its first line is empty"),
        (long, "its first line is longer than 4096 bytes"),
    ):
        with pytest.raises(ConfigError, match=f"INNOBRIM_PASSWORD_FILE = {path}: {said}"):
            filed_password(path)


@pytest.mark.parametrize("name", ["orders", "mariadb-0.eu_west.7", "9", "x" * 64])
def test_a_plain_name_is_taken(name: str) -> None:
    """Letters, digits, dots, dashes and underscores make a name, and the variable is no unknown one."""
    environ = {"INNOBRIM_IDENTITY": name}

    assert identity_of(environ) == name
    load_config(None, environ=environ, flags={})


@pytest.mark.parametrize("environ", [{}, {"INNOBRIM_IDENTITY": ""}])
def test_nobody_has_to_name_a_server(environ: dict[str, str]) -> None:
    """Without the variable, or with an empty one, the server is known by what it says itself."""
    assert identity_of(environ) == ""


@pytest.mark.parametrize(
    "name", ["x" * 65, "two words", "db:3306", "../etc", "-db", ".", "db\n", "naïve", "a" * 10_000]
)
def test_what_is_no_name_is_refused_with_what_would_be_right(name: str) -> None:
    """The error names the variable, the value and what a name is made of, and is no longer than a line."""
    with pytest.raises(ConfigError) as caught:
        identity_of({"INNOBRIM_IDENTITY": name})

    said = str(caught.value)
    assert said.startswith("INNOBRIM_IDENTITY = ")
    assert "1 to 64 letters, digits" in said
    assert "\n" not in said
    assert len(said) < 250
