"""``python -m tests.soak.memory``: a daemon's memory over the ticks of hours, without waiting for them.

The daemon is a process of its own, reads a server of ``tests/servers`` over a socket, and keeps its journal
on disk. The server lives a second with each reading. See ``tests/soak/fast.py``.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import httpx

from lab.statistics import slope
from tests.servers.hostile import FLUSHED, PAGES, REDO, Honest, Hostile, configured
from tests.soak.__main__ import terminated
from tests.soak.parts import write_byte_code

HOUR, MEBIBYTE = 3600.0, 2**20
PATHS = ("/metrics", "/v1/status", "/v1/history", "/metrics", "/v1/events", "/v1/decisions", "/")
ASK_SECONDS, FIRST_SECONDS = 0.3, 60.0
SWING_SECONDS = 300.0
FEWEST = 3600
"""Ticks with figures enough for a slope."""


class Living(Honest):
    """An honest server that lives a second with each reading, under a load that comes and goes."""

    def __init__(self) -> None:
        super().__init__()
        self._lived = self._grown = 0

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Answer, and live on where that is a reading."""
        self._lived += "innodb_metrics" in statement and "log_lsn_current" in statement
        self.asked.clear()
        return super().query(statement)

    def _grow(self) -> None:
        for second in range(self._grown, self._lived):
            share = 1.0 + 0.5 * math.sin(second / SWING_SECONDS)
            for name in self._counts:
                self._counts[name] += int(share * (PAGES if name == FLUSHED else REDO))
        self._grown = self._lived
        for name, count in self._counts.items():
            self.reading.metrics[name] = (self.reading.metrics[name][0], str(count))
        self.reading.status["Uptime"] = str(self._uptime + self._lived)


@contextlib.contextmanager
def asked(path: Path) -> Iterator[None]:
    """Ask an API again and again, as a Prometheus and a page do, each time over a connection of its own."""
    over = threading.Event()

    def ask() -> None:
        for one in itertools.cycle(PATHS):
            if over.wait(ASK_SECONDS):
                return
            transport = httpx.HTTPTransport(uds=str(path))
            with (
                contextlib.suppress(httpx.HTTPError),
                httpx.Client(
                    transport=transport, base_url="http://localhost", timeout=FIRST_SECONDS
                ) as client,
            ):
                client.get(one)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@click.command()
@click.option(
    "--ticks", type=click.IntRange(min=FEWEST), default=21_600, show_default=True, help="At a second each."
)
@click.option("--api/--no-api", default=True, show_default=True, help="Serve an API, and ask it.")
@click.option(
    "--frames", default=0, help="Of each allocation that is kept, to say where memory was taken; slow."
)
def main(*, ticks: int, api: bool, frames: int) -> None:
    """Print a daemon's memory every ten minutes of ticks, and its slope over the last half of them.

    Example: python -m tests.soak.memory --no-api --ticks 20000
    """
    signal.signal(signal.SIGTERM, terminated)
    write_byte_code()
    with (
        tempfile.TemporaryDirectory(prefix="innobrim-memory-") as place,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        server = Hostile(listener, lambda _statement: None)
        server.honest = Living()
        there = Path(place)
        config = configured(there, listener.getsockname()[1], api=api)
        program = [
            sys.executable,
            "-m",
            "tests.soak.fast",
            str(ticks),
            str(frames),
            "run",
            "--config",
            str(config),
        ]
        found: list[tuple[float, float]] = []
        with (
            (there / "log").open("wb") as log,
            asked(there / "api") if api else contextlib.nullcontext(),
            subprocess.Popen(  # noqa: S603 - a program of our own
                program, stdout=subprocess.PIPE, stderr=log, text=True
            ) as process,
        ):
            try:
                for line in process.stdout or ():
                    if not line[0].isdigit():
                        click.echo(f"  {line.rstrip()}")
                        continue
                    tick, resident, objects = map(int, line.split())
                    found.append((tick / HOUR, resident / MEBIBYTE))
                    click.echo(f"{tick} ticks: {resident / MEBIBYTE:.1f} MiB resident, {objects} objects")
            except SystemExit:
                process.kill()
                raise
        if process.returncode != 0:
            raise click.ClickException((there / "log").read_text(encoding="utf-8")[-2000:])
    half = found[len(found) // 2 :]
    bounds = slope([at for at, _ in half], [size for _, size in half])
    click.echo(
        f"{'with' if api else 'without'} the API: {max(size for _, size in found):.1f} MiB at most; the last"
        f" {len(half)} figures: {bounds.mean:+.2f} MiB/h (95 % bounds {bounds.low:+.2f} to"
        f" {bounds.high:+.2f}); {len(server.honest.writes)} statements that write"
    )


if __name__ == "__main__":
    main()
