"""The daemon of a soak: its server is reached through a line that can be cut, and its API is asked."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import httpx

from lab.bench.daemon import PROGRAM, DaemonProcess, environment
from tests.real.support import remember

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lab.servers.base import LabServer

COMMAND_LIMIT = 60.0


class SoakDaemon(DaemonProcess):
    """A bench's daemon with an API on a unix socket, behind another TCP port than its server's own."""

    def __init__(
        self,
        server: LabServer,
        *,
        port: int,
        program: Sequence[str],
        state: Path | None = None,
        **loop: object,
    ) -> None:
        """Prepare a daemon.

        Args:
            server: beside which it runs.
            port: TCP port where it reaches it.
            program: what ``run`` is added to.
            state: state directory that stays when it is gone; None for one of its own.
            loop: further keys of ``[loop]``.
        """
        super().__init__(server, **loop)
        self._program = program
        self.state = state or self.state
        self._port = port

    def start(self) -> None:
        """Start the process and return at once; the server knows its password without encryption by then."""
        remember(self._server, self._server.daemon)
        super().start()

    def tables(self, **loop: object) -> dict[str, dict[str, object]]:
        """Return the tables of its configuration; who is on the line has to understand what passes."""
        tables = super().tables(**loop)
        tables["server"].pop("socket", None)
        tables["server"] |= {"host": self._server.host, "port": self._port, "tls": "off"}
        return {**tables, "api": {"port": 0}}

    def spoil(self, text: str) -> None:
        """Have this in its configuration file, until it is configured again."""
        self._config.write_text(text, encoding="utf-8")

    def command(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another command with the same configuration file and return what it said."""
        return subprocess.run(  # noqa: S603 - our own program
            [PROGRAM, name, "--config", str(self._config), *arguments],
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT,
            check=False,
            env=environment(),
        )

    def ask(self, client: httpx.Client) -> dict[str, Any] | None:
        """Return what ``GET /v1/status`` says; None while nobody answers."""
        try:
            answer = client.get("/v1/status")
        except httpx.HTTPError:
            return None
        return dict(answer.json()) if answer.status_code == httpx.codes.OK else None

    def client(self) -> httpx.Client:
        """Return a client of the API's unix socket, to be closed by the caller."""
        transport = httpx.HTTPTransport(uds=str(self.state / "api.sock"))
        return httpx.Client(transport=transport, base_url="http://localhost", timeout=5.0)


class Onlooker(DaemonProcess):
    """An advisory daemon without an API, to be compared with one that has it."""

    def __init__(self, server: LabServer) -> None:
        """Prepare."""
        super().__init__(server)
        self._flags = ("--advisory",)
