"""Two daemons on one host: the files of docs/topologies.md, and which daemon a command asks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.support import free_port, innobrim
from tuner.config.load import load_config
from tuner.config.schema import Config

PAGE = (Path(__file__).parents[2] / "docs" / "topologies.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```toml\n# /etc/innobrim/(\S+)\n(.*?)```", PAGE, re.DOTALL))
RUN = "from tuner.cli.main import main; main()"
SOON = 120.0
"""Seconds until a daemon answers, on a machine that has other things to do."""


@dataclass(frozen=True)
class Installed:
    """One daemon that waits for its server.

    Attributes:
        config: its configuration file.
        state: its state directory.
        server: the socket of its mysqld, where nobody is.
        port: of its API.
    """

    config: Path
    state: Path
    server: str
    port: int

    def start(self) -> subprocess.Popen[str]:
        """Start a daemon on this configuration, as its user would."""
        environ = {name: text for name, text in os.environ.items() if not name.startswith("INNOBRIM_")}
        command = [sys.executable, "-c", RUN, "run", "--config", str(self.config)]
        return subprocess.Popen(  # noqa: S603 - our own program
            command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )


def waits(*words: str) -> str:
    """Return for which server the daemon waits that a command found."""
    found = re.search(r"waiting for the server: \w+@(\S+?):", innobrim("status", *words).stderr)
    return "" if found is None else found[1]


def installed(folder: Path, name: str) -> Installed:
    """Write one of the page's files, with places of this machine in it."""
    port = free_port()
    text = re.sub(r"/(run|var/lib)/", f"{folder}/", FILES[name]).replace("mysqld/", "")
    text = re.sub(r"^defaults_file.*\n", "", text, flags=re.MULTILINE)
    config = folder / name
    config.write_text(re.sub(r"^port = \d+", f"port = {port}", text, flags=re.MULTILINE))
    read = load_config(str(config), environ={}, flags={})
    return Installed(config, Path(read.daemon.state_directory), read.server.socket or "", port)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installed, Installed]]:
    """Run a daemon on each of the page's two files."""
    folder = tmp_path_factory.mktemp("s")
    first, second = (installed(folder, name) for name in FILES)
    processes = [first.start(), second.start()]
    try:
        deadline = time.monotonic() + SOON
        while not all(waits("--config", str(one.config)) for one in (first, second)):
            assert time.monotonic() < deadline, "the daemons do not answer"
        yield first, second
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.communicate(timeout=SOON)


def refused(one: Installed, *words: str) -> str:
    """Return what a daemon says that ends by itself with exit 2."""
    result = innobrim("run", "--config", str(one.config), *words)

    assert result.exit_code == 2, result.output
    return result.stderr


def test_the_files_of_the_guide_share_nothing_but_the_login(tmp_path: Path) -> None:
    """Each of the guide's files is a valid configuration; server, state directory and port are its own."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    found = [load_config(str(tmp_path / name), environ={}, flags={}) for name in FILES]

    assert len(found) == 2
    assert len({one.server.socket for one in found}) == 2
    assert len({one.daemon.state_directory for one in found} | {Config().daemon.state_directory}) == 3
    assert len({one.api.port for one in found}) == 2


@pytest.mark.parametrize("which", [0, 1])
def test_each_way_to_a_daemon_leads_to_its_own(two: tuple[Installed, Installed], which: int) -> None:
    """File, state directory, unix socket and URL each find the daemon that they name."""
    one = two[which]
    ways = [
        ("--config", str(one.config)),
        ("--state-directory", str(one.state)),
        ("--api-socket", str(one.state / "api.sock")),
        ("--url", f"http://127.0.0.1:{one.port}"),
    ]

    assert {way[0]: waits(*way) for way in ways} == {way[0]: one.server for way in ways}


def test_a_port_that_another_daemon_has_is_said_to_be_its(two: tuple[Installed, Installed]) -> None:
    """The second daemon on a port ends at once: it names the port, whose it is, and what to set."""
    first, second = two
    elsewhere = second.state.with_name("elsewhere")
    said = refused(second, "--state-directory", str(elsewhere), "--api-port", str(first.port))

    assert f"port {first.port} on 127.0.0.1 is taken by the InnoBrim of the state directory" in said
    assert repr(str(first.state)) in said
    assert "set api.port" in said
    assert not (elsewhere / "api.sock").exists()


def test_a_state_directory_that_another_daemon_has_is_left_to_it(two: tuple[Installed, Installed]) -> None:
    """The second daemon on a state directory ends at once, with who answers there, also on the same port."""
    first, second = two
    said = refused(second, "--state-directory", str(first.state), "--api-port", str(first.port))

    assert f"another daemon answers at {first.state / 'api.sock'}" in said
    assert "daemon.state_directory" in said
    assert waits("--config", str(first.config)) == first.server
