"""Many daemons, as Prometheus sees them: each exports what one of ours does, and follows its group's file.

``python -m tests.deploy.daemons HOSTS SHARE INTERVAL OBSERVE`` measures what ``docs/results/fleet.md`` has.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import yaml

from api.daemon import About, DaemonView
from api.problems import Refusals
from api.scrape import MetricsPage
from tests.api.factory import COUNTED, FACTS, START, estimate, record, sample
from tests.cli.support import free_port
from tests.deploy.support import ROOT, tool
from tests.real.support import until
from tuner.config.fleet import place
from tuner.config.schema import Config
from tuner.daemon.board import Board
from tuner.settings import Settings

SOON = 600.0
"""Seconds that a condition may take on a busy machine."""

_OWN = re.compile(
    r"^innobrim_(up|mode|may_write|baseline_back|server_info|changes_last_hour|hold)[ {].*\n", re.MULTILINE
)

_PERCENT = re.compile(r"active_percent = ([0-9.]+)")


def page() -> str:
    """Return what a daemon exports, without what differs from one to the next here."""
    board = Board()
    board.journal("", 0, written=START)
    made = record(1, reading=sample(**COUNTED), estimate=estimate())
    board.publish(made, Settings(), FACTS)
    about = About(version="0.1.0", interval=1.0, started=START, configuration=Config)
    return _OWN.sub("", MetricsPage(DaemonView(board, about), Refusals()).text().decode())


class Daemons:
    """Daemons behind one port, each at a path of its own.

    Attributes:
        group: their configuration; ``active_percent`` there is followed.
        worse: share of the servers that get worse once they are active, spread evenly.
        held: names of those that somebody paused.
        down: names of those that do not answer.
        turn: counts on; every name is as it is on a machine.
    """

    def __init__(self, hosts: int, group: Path, *, worse: float = 0.0) -> None:
        self.group, self.worse = group, worse
        self.identities = {f"db{n:04d}": str(uuid.UUID(int=n * 2**64 + 7)) for n in range(1, hosts + 1)}
        order = sorted(self.identities, key=lambda name: place(self.identities[name]))
        steps = [int(n * worse + 0.5) for n in range(hosts + 1)]
        self._bad = {name for n, name in enumerate(order) if steps[n + 1] > steps[n]}
        self.held: set[str] = set()
        self.down: set[str] = set()
        self._page = page()
        self._back: set[str] = set()

    def metrics(self, name: str, percent: float) -> str:
        """Return what one of them exports while so many percent of all are active."""
        identity = self.identities[name]
        active = place(identity) < percent
        if active and name in self._bad:
            self._back.add(name)
        back, held = name in self._back, name in self.held
        mode = "active" if active and not back else "advisory"
        lines = (
            "innobrim_up 1",
            *(f'innobrim_mode{{mode="{one}"}} {int(one == mode)}' for one in ("advisory", "active")),
            f"innobrim_may_write {int(mode == 'active' and not held)}",
            f"innobrim_baseline_back {int(back)}",
            f'innobrim_hold{{code="paused"}} {int(held)}',
            f'innobrim_server_info{{identity="{identity}",family="redo_capacity",version="8.0.46"}} 1',
            f"innobrim_changes_last_hour {6 * active}",
            *(f'innobrim_ledger_saved_pages{{bound="{one}"}} 1000' for one in ("least", "likely", "most")),
        )
        return self._page + "\n".join(lines) + "\n"

    @contextlib.contextmanager
    def served(self) -> Iterator[str]:
        """Serve their metrics, and the list of targets as http_sd has it; yield the URL of that list."""
        port = free_port()
        listed = [
            {
                "targets": [f"127.0.0.1:{port}"],
                "labels": {"instance": name, "__metrics_path__": f"/{name}/metrics"},
            }
            for name in self.identities
        ]
        daemons = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.split("/")[1]
                percent = float(_PERCENT.findall(daemons.group.read_text(encoding="utf-8"))[0])
                text = json.dumps(listed) if name == "targets" else daemons.metrics(name, percent)
                kind = "application/json" if name == "targets" else "text/plain; version=0.0.4"
                self.send_response(503 if name in daemons.down else 200)
                self.send_header("Content-Type", kind)
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # Prometheus waits for nobody
                    self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
            server.daemon_threads = True
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                yield f"http://127.0.0.1:{port}/targets"
            finally:
                server.shutdown()
                thread.join()


@contextlib.contextmanager
def prometheus(targets: str, folder: Path, *, interval: int = 1) -> Iterator[tuple[str, int]]:
    """Run a Prometheus that scrapes the targets every so many seconds; yield its URL and process number."""
    job = {"job_name": "innobrim", "http_sd_configs": [{"url": targets, "refresh_interval": "5s"}]}
    settings = {"global": {"scrape_interval": f"{interval}s"}, "scrape_configs": [job]}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    url = f"http://127.0.0.1:{free_port()}"
    command = [
        tool("prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={url.removeprefix('http://')}",
        "--log.level=warn",
    ]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:  # noqa: S603 - a tool that the setup brought
        try:
            until(lambda: _ready(url), SOON, "a Prometheus that is ready")
            yield url, running.pid
        finally:
            running.terminate()


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/-/ready", trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


class Ran(NamedTuple):
    """A command that ended: its exit code, its answer, its time and its processor's, seconds."""

    code: int
    answer: Any
    seconds: float
    processor: float


def fleet(*words: str) -> Ran:
    """Run ``innobrim fleet`` as a process of its own."""
    began, used = time.monotonic(), _used()
    program = "from tuner.cli.main import main; main()"
    done = subprocess.run(  # noqa: S603 - this program
        [sys.executable, "-c", program, "fleet", *words, "--json"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    taken = time.monotonic() - began
    assert done.stdout, done.stderr
    return Ran(done.returncode, json.loads(done.stdout), taken, _used() - used)


def _used() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def rolled_out(hosts: int, worse: float, *, interval: int, observe: str) -> Iterator[dict[str, Any]]:
    """Yield what each look at a rollout over so many servers came to, until its end.

    Args:
        hosts: how many there are.
        worse: share of them that get worse once they are active.
        interval: between two scrapes, seconds.
        observe: how long each stage is observed.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        group = folder / "group.toml"
        group.write_text('[loop]\nmode = "active"\n[fleet]\nactive_percent = 0\n', encoding="utf-8")
        daemons = Daemons(hosts, group, worse=worse)
        with daemons.served() as targets, prometheus(targets, folder, interval=interval) as (url, number):
            asked = ("--prometheus", url, "--targets", targets)
            until(lambda: _all_answer(asked, hosts), SOON, "every daemon scraped")
            while True:
                shown = fleet(*asked)
                ran = fleet("activate", *asked, "--group", str(group), "--observe", observe, "--write")
                memory = re.search(
                    r"VmRSS:\s+(\d+)", Path(f"/proc/{number}/status").read_text(encoding="utf-8")
                )
                assert memory is not None
                yield {
                    "shown_seconds": shown.seconds,
                    "shown_processor": shown.processor,
                    "activate_seconds": ran.seconds,
                    "activate_processor": ran.processor,
                    "exit": ran.code,
                    "prometheus_mib": int(memory[1]) / 1024,
                    "prometheus_processor": _processor_of(number),
                    "command_mib": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
                    "hosts": shown.answer["hosts"],
                    **ran.answer,
                }
                if ran.answer["verdict"] == "stop" or (ran.answer["next_percent"] is None and ran.code == 0):
                    return
                time.sleep(interval)


def _processor_of(number: int) -> float:
    """Return the processor time of a process so far, seconds."""
    fields = Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _all_answer(asked: tuple[str, ...], hosts: int) -> bool:
    try:
        return fleet(*asked).answer.get("answering") == hosts
    except (AssertionError, ValueError):
        return False


if __name__ == "__main__":
    for look in rolled_out(
        int(sys.argv[1]), float(sys.argv[2]), interval=int(sys.argv[3]), observe=sys.argv[4]
    ):
        sys.stdout.write(
            json.dumps({name: look[name] for name in look if name not in {"members", "missing"}}) + "\n"
        )
        sys.stdout.flush()
