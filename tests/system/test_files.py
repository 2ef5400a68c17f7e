"""Files that an operator names: whatever lies there, no command waits for it, or takes all memory."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from lab.bench.plan import load_suite
from lab.bench.store import PlanError
from lab.report.files import located
from lab.report.rows import ReportError
from lab.scenarios.load import ScenarioError, load_scenario
from tests.api.factory import CERTIFICATES
from tuner.config.credentials import read_credentials
from tuner.config.load import load_config
from tuner.config.schema import ConfigError, ServerSection
from tuner.servers.endpoint import required
from tuner.system import files
from tuner.system.files import MOST_BYTES, read_whole

SHORT = 0.2


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a pipe that nobody writes to; it is waited for a short time."""
    monkeypatch.setattr(files, "PIPE_SECONDS", SHORT)
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    """What is as large as it may be comes whole, and an empty file is empty."""
    for content in (b"", b"x" * MOST_BYTES):
        (tmp_path / "file").write_bytes(content)
        assert read_whole(tmp_path / "file") == content


@pytest.mark.parametrize("path", ["/dev/zero", "large"])
def test_what_has_no_end_is_not_read_to_it(tmp_path: Path, path: str) -> None:
    """A device, or a file that is no configuration, costs no more memory than one that is."""
    (tmp_path / "large").write_bytes(b"x" * (MOST_BYTES + 1))
    with pytest.raises(OSError, match="larger than 1048576 bytes"):
        read_whole(tmp_path / path)


def test_a_pipe_that_nobody_writes_to_is_given_up(pipe: Path) -> None:
    """Neither one without a writer, nor one whose writer says nothing, nor one whose end never comes."""
    reasons = r"its end did not come within 0\.2 s"
    began = time.monotonic()
    with pytest.raises(OSError, match=reasons):
        read_whole(pipe)
    writer = os.open(pipe, os.O_RDWR)
    for said in (b"", b"[client]\n"):
        os.write(writer, said)
        with pytest.raises(OSError, match=reasons):
            read_whole(pipe)
    os.close(writer)

    assert time.monotonic() - began < 3 * SHORT + 2.0


def test_a_pipe_that_somebody_writes_to_is_read(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a shell's <(…) gives, or a writer that comes late, in parts, is all there."""
    monkeypatch.setattr(files, "PIPE_SECONDS", 20.0)

    def write() -> None:
        time.sleep(0.05)
        with pipe.open("wb", buffering=0) as file:
            for part in (b"[client]\n", b"user=a\n"):
                file.write(part)
                time.sleep(0.05)

    writer = threading.Thread(target=write)
    writer.start()

    assert read_whole(pipe) == b"[client]\nuser=a\n"
    writer.join()


@pytest.mark.parametrize("option", ["ssl-ca", "ssl-cert", "server-public-key-path"])
def test_an_option_that_names_a_pipe_is_refused(pipe: Path, option: str) -> None:
    """OpenSSL would wait for ever for the certificate that comes out of it."""
    file = pipe.with_name("my.cnf")
    file.write_text(f"[client]\nuser=a\n{option}={pipe}\n")
    with pytest.raises(ConfigError, match=rf"{option} = {pipe}: (no regular file|its end)"):
        read_credentials(ServerSection(defaults_file=str(file)), environ={})


def test_files_of_the_configuration_may_be_no_pipe_without_a_writer(pipe: Path) -> None:
    """Configuration, option file and credential are given up in words, and so is the authority."""
    with pytest.raises(ConfigError, match=r"cannot be read: its end did not come"):
        load_config(str(pipe), environ={}, flags={})
    with pytest.raises(ConfigError, match=r"cannot be read: its end did not come"):
        read_credentials(ServerSection(defaults_file=str(pipe)), environ={})
    pipe.rename(pipe.with_name("mysql-password"))
    with pytest.raises(ConfigError, match=r"cannot be read: its end did not come"):
        read_credentials(ServerSection(), environ={"CREDENTIALS_DIRECTORY": str(pipe.parent)})


def test_an_authority_that_became_a_pipe_ends_in_words(pipe: Path) -> None:
    """What takes a file's place later, beside a running daemon, holds up no connection either."""
    authority = pipe.with_name("ca.pem")
    authority.write_bytes((CERTIFICATES / "one.crt").read_bytes())
    required(str(authority))
    pipe.rename(authority)
    with pytest.raises(OSError, match="no regular file"):
        required(str(authority))


def test_files_of_the_lab_may_be_no_pipe_without_a_writer(pipe: Path) -> None:
    """A scenario, a suite, and what lies in a directory that a page is made of, end in words as well."""
    for load, failure in ((load_scenario, ScenarioError), (load_suite, PlanError)):
        with pytest.raises(failure, match="cannot be read: its end did not come"):
            load(str(pipe))
    pipe.rename(pipe.with_name("journal.db"))
    with pytest.raises(ReportError, match="no regular file"):
        located(pipe.parent)
