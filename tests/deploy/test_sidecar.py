"""The first process of a sidecar: the database's pod is ready only while it runs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.support import ROOT
from tests.real.support import until

SOON = 60.0
"""Seconds that a busy machine may take to what is awaited."""

SIDECAR = ROOT / "deploy" / "container" / "innobrim-sidecar"
DAEMON = """\
#!/bin/sh
# Stands for innobrim: tells what it gets, and runs until a signal comes, or ends as a file says.
told() { echo "$@" >>told; }
told "$@"
[ "$1" = run ] || exit 0
[ ! -e broken ] || exit "$(cat broken)"
trap 'told HUP' HUP
trap 'told TERM; exit 0' TERM
echo $$ >pid
while :; do sleep 0.05; done
"""


class Sidecar:
    """A sidecar with a daemon that stands for ours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in {
            "innobrim": DAEMON,
            "python3": "#!/bin/sh\n[ ! -e hangs ] && touch seen\n",
        }.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, with hardly a pause between two starts.

        As a container does: with no signal ignored, which a shell could not trap. Under nohup HUP is.
        """
        path = f"{self.folder}:{os.environ['PATH']}"
        self.process = subprocess.Popen(  # noqa: S603 - our own script
            ["/usr/bin/env", "--default-signal", str(SIDECAR), "run"],
            cwd=self.folder,
            env={"PATH": path, "SIDECAR_SECONDS": "0.1"},
        )

    def told(self) -> list[str]:
        """Return what the daemon was told."""
        file = self.folder / "told"
        return file.read_text().splitlines() if file.exists() else []

    def runs(self) -> int:
        """Return the process of a daemon that has begun; 0 if none has."""
        file = self.folder / "pid"
        return int(file.read_text() or 0) if file.exists() else 0

    def started_after(self, before: int) -> bool:
        """Tell whether another daemon has begun."""
        return self.runs() not in {0, before}

    def goes_on(self) -> bool:
        """Tell whether the container would still run."""
        assert self.process is not None
        return self.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, as the kubelet or a person does."""
        assert self.process is not None
        self.process.send_signal(number)


@pytest.fixture
def sidecar(tmp_path: Path) -> Iterator[Sidecar]:
    """Yield a sidecar that is not started yet."""
    one = Sidecar(tmp_path)
    yield one
    if one.process is not None:
        one.signal(signal.SIGTERM)
        one.process.wait(SOON)


def test_a_daemon_that_ends_does_not_take_the_database_away(sidecar: Sidecar) -> None:
    """A wrong configuration ends the daemon, not the container; once it is right the daemon starts."""
    (sidecar.folder / "broken").write_text("2")
    sidecar.start()
    until(lambda: sidecar.told().count("run") >= 3, SOON, "three starts")
    (sidecar.folder / "broken").unlink()

    until(sidecar.runs, SOON, "a daemon")
    assert sidecar.goes_on()


def test_a_daemon_that_is_killed_is_parked_before_the_next_one(sidecar: Sidecar) -> None:
    """What a killed daemon left is parked, then the next one starts, in the same container."""
    sidecar.start()
    before = until(sidecar.runs, SOON, "a daemon")
    os.kill(before, signal.SIGKILL)

    until(lambda: sidecar.started_after(before), SOON, "another daemon")
    assert sidecar.told() == ["park --if-crashed", "run"] * 2
    assert sidecar.goes_on()


def test_a_daemon_that_hangs_is_started_anew(sidecar: Sidecar) -> None:
    """Where the health check fails three times in a row the daemon is killed and started again."""
    sidecar.start()
    before = until(sidecar.runs, SOON, "a daemon")
    until((sidecar.folder / "seen").exists, SOON, "an answer")
    (sidecar.folder / "hangs").touch()

    until(lambda: sidecar.started_after(before), SOON, "another daemon")
    assert sidecar.goes_on()


def test_a_stop_reaches_the_daemon(sidecar: Sidecar) -> None:
    """The end of the pod lets the daemon park, and waits for no more than that."""
    sidecar.start()
    until(sidecar.runs, SOON, "a daemon")
    sidecar.signal(signal.SIGTERM)

    assert sidecar.process is not None
    assert sidecar.process.wait(SOON) == 0
    assert sidecar.told()[-1] == "TERM"


def test_a_reload_reaches_the_daemon(sidecar: Sidecar) -> None:
    """The page's kill -HUP 1 has the daemon read its configuration, and ends nothing."""
    sidecar.start()
    before = until(sidecar.runs, SOON, "a daemon")
    until((sidecar.folder / "seen").exists, SOON, "a sidecar that knows its daemon")
    sidecar.signal(signal.SIGHUP)

    until(lambda: "HUP" in sidecar.told(), SOON, "the reload")
    assert sidecar.runs() == before
    assert sidecar.goes_on()


def test_its_look_is_the_one_of_the_image() -> None:
    """A loop that hangs is found by the check that Docker does as well."""
    dockerfile = (ROOT / "deploy" / "container" / "Dockerfile").read_text(encoding="utf-8")
    found = re.search(r'python3 -c ("[^"]*")', SIDECAR.read_text(encoding="utf-8"))

    assert found is not None
    assert found[1] in dockerfile
