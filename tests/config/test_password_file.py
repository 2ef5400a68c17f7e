"""A password in a file of its own, named by INNOBRIM_PASSWORD_FILE."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tuner.config import credentials
from tuner.config.credentials import on_read_only_memory, read_credentials
from tuner.config.load import load_config
from tuner.config.schema import ConfigError, ServerSection

MOUNTS = """\
21 1 0:19 / / rw,relatime - overlay overlay rw
22 21 0:20 / /run rw,nosuid - tmpfs tmpfs rw
23 21 0:21 / /etc/db\\040secrets ro,relatime - tmpfs tmpfs rw
24 21 0:22 / /usr ro,relatime - ext4 /dev/sda1 ro
25 23 0:23 / /etc/db\\040secrets/open rw,relatime - tmpfs tmpfs rw
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file with a password, for its owner alone."""
    path = tmp_path / "password"
    path.write_bytes(b"swordfish #1 \nsecond line\n")
    path.chmod(0o600)
    return path


def password_of(path: Path, **environ: str) -> str:
    """Return the password that is found with the variable set to a path."""
    given = {"INNOBRIM_PASSWORD_FILE": str(path), **environ}
    return read_credentials(ServerSection(), environ=given).password


def test_the_password_is_the_first_line(file: Path) -> None:
    """Its blanks and signs belong to it, the end of the line does not, and its source is named."""
    found = read_credentials(ServerSection(), environ={"INNOBRIM_PASSWORD_FILE": str(file)})

    assert found.password == "swordfish #1 "  # noqa: S105 - made up
    assert found.password_from == f"INNOBRIM_PASSWORD_FILE = {file}"
    file.write_bytes(b"no end")
    assert password_of(file) == "no end"
    file.write_bytes(b"p\xe4ss\r\n")
    assert password_of(file).encode("utf-8", "surrogateescape") == b"p\xe4ss"


def test_the_variable_is_no_unknown_one(file: Path) -> None:
    """It is none of the configuration's keys, and no misspelt one either."""
    load_config(None, environ={"INNOBRIM_PASSWORD_FILE": str(file)}, flags={})


def test_two_passwords_are_an_error_that_names_both(file: Path) -> None:
    """Nobody has to guess which of the two counts; an empty variable is none."""
    with pytest.raises(ConfigError, match="INNOBRIM_PASSWORD and INNOBRIM_PASSWORD_FILE"):
        password_of(file, INNOBRIM_PASSWORD="other")
    assert password_of(file, INNOBRIM_PASSWORD="") == "swordfish #1 "
    given = {"INNOBRIM_PASSWORD": "other", "INNOBRIM_PASSWORD_FILE": ""}
    assert read_credentials(ServerSection(), environ=given).password == "other"  # noqa: S105 - made up


def test_it_goes_before_the_option_file(file: Path, tmp_path: Path) -> None:
    """The nearest source wins, as with the password itself in the environment."""
    options = tmp_path / "my.cnf"
    options.write_text("[client]\npassword=other\n")
    options.chmod(0o600)
    section = ServerSection(defaults_file=str(options))

    found = read_credentials(section, environ={"INNOBRIM_PASSWORD_FILE": str(file)})
    assert found.password == "swordfish #1 "  # noqa: S105 - made up


@pytest.mark.parametrize(
    ("mode", "said"), [(0o644, "can read it"), (0o604, "can read it"), (0o602, "can change it")]
)
def test_a_file_of_everybodys_is_refused(file: Path, mode: int, said: str) -> None:
    """A password that every account of the machine reads, or may put another in the place of, is none."""
    file.chmod(mode)

    with pytest.raises(ConfigError, match=rf"{said} \(mode {mode:04o}\); chmod 0640 or less") as caught:
        password_of(file)
    assert "swordfish" not in str(caught.value)
    file.chmod(0o640)
    assert password_of(file)


def test_a_mounted_secret_may_be_readable(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below /run/secrets the runtime chose the mode, not the operator; nobody may change it there either."""
    file.chmod(0o444)
    monkeypatch.setattr(credentials, "SECRETS", Path(os.path.realpath(file.parent)))
    assert password_of(file) == "swordfish #1 "

    file.chmod(0o446)
    with pytest.raises(ConfigError, match="can change it"):
        password_of(file)


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
            password_of(path)
