"""One real MySQL with its load for all tests, and one long run that several tests judge."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from lab.servers.base import LabServer
from lab.servers.choose import Choice, Family, choose
from lab.servers.spec import LabServerError, ServerSpec
from lab.workloads.sysbench import prepare
from tests.real.installation import Innobrim, Install
from tests.real.recording import BAND, Recording, held, record
from tests.real.support import DEFAULT, LOAD, Work, under_load

_ROOT = Path(__file__).parents[2]
_BUILD_LIMIT = 400.0

FIGURES = pytest.StashKey[list[str]]()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Have a worker tell its figures to the process that prints them."""
    told: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if told is not None:
        told["figures"] = session.config.stash.get(FIGURES, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:  # noqa: ANN401 - xdist's own
    """Take the figures of a worker that has ended."""
    told: dict[str, Any] = getattr(node, "workeroutput", {})
    node.config.stash.setdefault(FIGURES, []).extend(told.get("figures", ()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """End the load before a file of tests that do not ask for it, to which it would be a burden alone."""
    yield
    if (
        isinstance(nextitem, pytest.Function)
        and nextitem.path != item.path
        and not {"work", "member_work"} & set(nextitem.fixturenames)
    ):
        Work.rest()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was measured along the way."""
    for line in terminalreporter.config.stash.get(FIGURES, []):
        terminalreporter.write_line(f"measured: {line}")


@pytest.fixture
def figures(pytestconfig: pytest.Config) -> list[str]:
    """Return the list of lines to print at the end."""
    return pytestconfig.stash.setdefault(FIGURES, [])


def missing(what: str) -> NoReturn:
    """Skip, naming what is missing; where the servers were promised, fail."""
    if os.environ.get("CI", "").lower() in {"1", "true"}:
        pytest.fail(f"missing, and CI promises it: {what}", pytrace=False)
    pytest.skip(f"missing: {what}")


def available(family: Family | None = "mysql") -> Choice:
    """Return the server that can be had here; skip where there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the Docker SDK forgets the socket of no answer
        choice = choose(family=family)
        gc.collect()
    if not choice.name:
        missing("; ".join((choice.why, *choice.refusals)))
    return choice


@pytest.fixture(scope="session")
def server() -> Iterator[LabServer]:
    """Yield a MySQL 9.7 with redo 100 MiB, 10000/20000 and the load's tables."""
    choice = available()
    spec = ServerSpec(io_capacity=DEFAULT.io_capacity, io_capacity_max=DEFAULT.io_capacity_max)
    try:
        found = choice.server(spec)
        found.__enter__()
    except LabServerError as error:
        missing(str(error))
    try:
        version = str(found.query("SELECT VERSION()")[0][0])
        if not version.startswith("9.7."):
            missing(f"MySQL 9.7; there is {version} from {choice.name}")
        prepare(found, LOAD)
        refusal = found.limit_write_iops(None)
        if refusal is not None:
            missing(f"a disk that can be limited: {refusal}")
        yield found
    finally:
        found.stop()


@pytest.fixture(scope="session")
def work(server: LabServer) -> Iterator[Work]:
    """Yield the load's switch; no load at first."""
    found = Work(server)
    yield found
    found.at(None)


@pytest.fixture
def install(server: LabServer, tmp_path: Path) -> Iterator[Install]:
    """Return what makes an installation beside the server; whatever it started is gone at the end."""
    made: list[Innobrim] = []

    def make(**how: object) -> Innobrim:
        made.append(Innobrim(server, tmp_path / f"daemon{len(made)}", **how))  # type: ignore[arg-type]  # a fixture
        return made[-1]

    yield make
    for one in made:
        one.__exit__()


@pytest.fixture(scope="session")
def package() -> Path:
    """Make the Debian package, once for all who install it, and return where it is."""
    if shutil.which("docker") is None:
        missing("docker: make servers installs it")
    done = subprocess.run(  # noqa: S603 - our own script
        [str(_ROOT / "deploy" / "debian" / "build.sh")],
        capture_output=True,
        text=True,
        timeout=_BUILD_LIMIT,
        check=False,
        env={**os.environ, "REVISION": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return _ROOT / done.stdout.split()[-1]


@pytest.fixture(scope="session")
def recording(
    server: LabServer,
    work: Work,
    pytestconfig: pytest.Config,
    tmp_path_factory: pytest.TempPathFactory,
) -> Recording:
    """Return one run of the loop from the default setting until it has held its set-point for a while."""
    under_load(server, work, DEFAULT)
    found = record(server, tmp_path_factory.mktemp("recording"))
    inside, furthest = held(found)
    pytestconfig.stash.setdefault(FIGURES, []).append(
        f"settled after {found.settled_after:.0f} s; {inside} of {len(found.ticks)} seconds within "
        f"{BAND}, furthest {furthest:.3f}"
    )
    return found
