"""Who we are to the server, where that is read, and that nobody else learns it."""

from __future__ import annotations

import os
import re
import ssl
from pathlib import Path

import pytest

from tests.config.support import OptionFile
from tuner.config import credentials
from tuner.config.credentials import Credentials, identity_of, on_read_only_memory, read_credentials
from tuner.config.load import load_config
from tuner.config.schema import ConfigError, ServerSection

SECRET = "swordfish #1 "  # noqa: S105 - made up
CAREFUL = f'[client]\nuser = tuner\npassword = "{SECRET}"\nsocket=/run/m.sock\nport=3307\n'

MOUNTS = """\
21 1 0:19 / / rw,relatime - overlay overlay rw
22 21 0:20 / /run rw,nosuid - tmpfs tmpfs rw
23 21 0:21 / /etc/db\\040secrets ro,relatime - tmpfs tmpfs rw
24 21 0:22 / /usr ro,relatime - ext4 /dev/sda1 ro
25 23 0:23 / /etc/db\\040secrets/open rw,relatime - tmpfs tmpfs rw
"""


def test_the_password_is_never_shown(options: OptionFile) -> None:
    """User, password, socket and port come from [client]; no warning, and nothing shows the secret."""
    found = options.read(CAREFUL)

    assert (found.user, found.password, found.socket, found.port) == ("tuner", SECRET, "/run/m.sock", 3307)
    assert (found.host, found.password_from, found.warnings) == ("127.0.0.1", str(options.path), ())
    assert SECRET.strip() not in f"{found!r} {found}"


def test_the_nearest_source_of_a_password_wins(options: OptionFile) -> None:
    """Environment, then the systemd credential, then the option file, which may be a credential as well."""
    options.write(CAREFUL)
    credential = options.path.with_name("mysql-password")
    credential.write_text("from systemd\n")
    directory = {"CREDENTIALS_DIRECTORY": str(credential.parent)}

    assert options.read(environ={**directory, "INNOBRIM_PASSWORD": "env"}).password == "env"  # noqa: S105 - made up
    assert options.read(environ=directory).password == "from systemd"  # noqa: S105 - made up
    credential.unlink()
    assert read_credentials(ServerSection(), environ=directory).password == SECRET
    assert read_credentials(ServerSection(), environ={}).password == ""


def test_a_certificate_authority_must_be_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot be used ends the command at once with key, path and why; nobody waits for it."""
    empty = tmp_path / "empty.pem"
    empty.touch()

    def deny(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    for path, why in (
        (tmp_path / "none.pem", "no such file"),
        (tmp_path, "a directory"),
        (empty, "no certificate in it"),
        (empty, "permission denied"),
    ):
        if why == "permission denied":
            monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", deny)
        with pytest.raises(ConfigError, match=rf"server\.tls_ca = {path}: {why}; it must be"):
            read_credentials(ServerSection(tls="required", tls_ca=str(path)), environ={})


@pytest.mark.parametrize(
    ("server", "environ", "said"),
    [
        (
            {},
            {"CREDENTIALS_DIRECTORY": "/" + "x" * 300},  # longer than a name may be, which stops root as well
            "the credential cannot be seen: File name too long",
        ),
        ({"defaults_file": "/a\0b"}, {}, "has a zero byte"),
    ],
)
def test_a_path_that_cannot_be_looked_at_is_an_error(
    server: dict[str, str], environ: dict[str, str], said: str
) -> None:
    """It is said, and nothing else is tried."""
    with pytest.raises(ConfigError, match=said):
        read_credentials(ServerSection(**server), environ=environ)  # type: ignore[arg-type] # texts


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file with a password, for its owner alone."""
    path = tmp_path / "password"
    path.write_bytes(f"{SECRET}\nsecond line\n".encode())
    path.chmod(0o600)
    return path


def filed(path: Path, **environ: str) -> Credentials:
    """Return the credentials with the variable set to a path."""
    return read_credentials(ServerSection(), environ={"INNOBRIM_PASSWORD_FILE": str(path), **environ})


@pytest.mark.parametrize(
    ("content", "password"),
    [
        (b"swordfish #1 \nsecond\n", b"swordfish #1 "),
        (b"no end", b"no end"),
        (b"p\xe4ss\r\n", b"p\xe4ss"),
    ],
)
def test_the_password_is_the_first_line(file: Path, content: bytes, password: bytes) -> None:
    """Its blanks and signs belong to it, the end of the line does not, and its source is named."""
    file.write_bytes(content)
    found = filed(file)

    assert found.password.encode("utf-8", "surrogateescape") == password
    assert found.password_from == f"INNOBRIM_PASSWORD_FILE = {file}"


def test_two_passwords_are_an_error_that_names_both(options: OptionFile, file: Path) -> None:
    """Nobody has to guess which counts; an empty variable is none, and an option file comes last."""
    named = {"INNOBRIM_PASSWORD_FILE": str(file)}

    assert options.read("[client]\npassword=other\n", environ=named).password == SECRET
    with pytest.raises(ConfigError, match="INNOBRIM_PASSWORD and INNOBRIM_PASSWORD_FILE"):
        filed(file, INNOBRIM_PASSWORD="other")
    assert filed(file, INNOBRIM_PASSWORD="").password == SECRET
    given = {"INNOBRIM_PASSWORD": "other", "INNOBRIM_PASSWORD_FILE": ""}
    assert read_credentials(ServerSection(), environ=given).password == "other"  # noqa: S105 - made up


@pytest.mark.parametrize(
    ("mode", "said"), [(0o644, "can read it"), (0o604, "can read it"), (0o602, "can change it")]
)
def test_a_file_of_everybodys_is_refused(file: Path, mode: int, said: str) -> None:
    """A password that every account of the machine reads, or may put another in the place of, is none."""
    file.chmod(mode)

    with pytest.raises(ConfigError, match=rf"{said} \(mode {mode:04o}\); chmod 0640 or less") as caught:
        filed(file)
    assert "swordfish" not in str(caught.value)
    file.chmod(0o640)
    assert filed(file).password == SECRET


def test_a_mounted_secret_may_be_readable(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below /run/secrets the runtime chose the mode, not the operator; nobody may change it there either."""
    file.chmod(0o444)
    monkeypatch.setattr(credentials, "SECRETS", Path(os.path.realpath(file.parent)))
    assert filed(file).password == SECRET

    file.chmod(0o446)
    with pytest.raises(ConfigError, match="can change it"):
        filed(file)


def test_nobody_is_told_to_chmod_an_option_file_that_is_a_mounted_secret(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kubernetes mounts one read-only and readable for all of the container: no chmod can change that."""
    file.write_text(CAREFUL)
    file.chmod(0o644)
    section = ServerSection(defaults_file=str(file))
    assert len(read_credentials(section, environ={}).warnings) == 1
    monkeypatch.setattr(credentials, "SECRETS", Path(os.path.realpath(file.parent)))

    assert read_credentials(section, environ={}).warnings == ()


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
    os.mkfifo(tmp_path / "fifo", 0o600)
    for name, content in (("empty", b"\nsecond\n"), ("long", b"x" * 5000)):
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o600)

    for name, said in (
        ("none", "no such file"),
        (".", "no regular file"),
        ("fifo", "no regular file"),
        ("empty", "its first line is empty"),
        ("long", "its first line is longer than 4096 bytes"),
    ):
        path = tmp_path / name
        with pytest.raises(ConfigError, match=re.escape(f"INNOBRIM_PASSWORD_FILE = {path}: {said}")):
            filed(path)


@pytest.mark.parametrize("name", ["orders", "mariadb-0.eu_west.7", "9", "x" * 64])
def test_a_plain_name_is_taken(name: str) -> None:
    """Letters, digits, dots, dashes and underscores make a name, and the variable is no unknown one."""
    environ = {"INNOBRIM_IDENTITY": name}

    assert identity_of(environ) == name
    load_config(None, environ=environ, flags={})


def test_nobody_has_to_name_a_server() -> None:
    """Without the variable, or with an empty one, the server is known by what it says itself."""
    assert identity_of({}) == identity_of({"INNOBRIM_IDENTITY": ""}) == ""


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
