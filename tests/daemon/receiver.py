"""Somebody who receives what hooks send, and commands that they run."""

from __future__ import annotations

import base64
import re
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tuner.config.schema import HookTable
from tuner.records.hook import HookEvent

SOON = 30.0
SECRETS = tuple("whsec_" + base64.b64encode(bytes([number] * 32)).decode() for number in (1, 2))
FOREVER = "import time; time.sleep(600)"
PAGE = Path(__file__).parents[2] / "docs" / "hooks.md"


class Request(NamedTuple):
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def ident(self) -> str:
        """Return the event's own name."""
        return self.headers["webhook-id"]

    @property
    def event(self) -> HookEvent:
        """Return the body, which has nothing that its schema has not."""
        return msgspec.json.decode(self.body, type=HookEvent)


class Receiver:
    """An HTTP server on loopback.

    Attributes:
        requests: all so far.
        statuses: of the next answers; afterwards it is 204.
        hangs: until this is set, no request is answered; None for at once.
        answers: writes an answer of its own, in place of a status.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.statuses: list[int] = []
        self.hangs: threading.Event | None = None
        self.answers: Callable[[BaseHTTPRequestHandler], None] | None = None
        self._news = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.took(Request(self.path, _lower(self.headers), body))
                if receiver.hangs is not None:
                    receiver.hangs.wait(SOON)
                if receiver.answers is not None:
                    receiver.answers(self)
                    return
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.handle_error = lambda *_: None  # type: ignore[method-assign] # who hangs up is no news

    @property
    def url(self) -> str:
        """Return where it is."""
        return f"http://127.0.0.1:{self.http.server_address[1]}/told"

    def took(self, request: Request) -> None:
        """Note a request."""
        with self._news:
            self.requests.append(request)
            self._news.notify_all()

    def wait(self, count: int) -> list[Request]:
        """Wait until there are so many requests; return them."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.requests) >= count, SOON), self.requests
            return list(self.requests)


@contextmanager
def receiving(certificate: tuple[str, str] | None = None) -> Iterator[Receiver]:
    """Have a receiver while this lasts; with a certificate and its key it speaks TLS."""
    receiver = Receiver()
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        receiver.http.socket = context.wrap_socket(receiver.http.socket, server_side=True)
    thread = threading.Thread(target=receiver.http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        if receiver.hangs is not None:
            receiver.hangs.set()
        receiver.http.shutdown()
        thread.join()
        receiver.http.server_close()


def _lower(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def verified(request: Request, secret: str) -> bool:
    """Verify a request as the page says that a receiver should."""
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    said: dict[str, Any] = {}
    exec(example, said)  # noqa: S102 - our own page
    return bool(said["verified"](request.headers, request.body, secret))


def secret_file(folder: Path, *secrets: str, mode: int = 0o600) -> str:
    """Write a file of secrets."""
    path = folder / "secret"
    path.write_text("\n".join(secrets) + "\n", encoding="utf-8")
    path.chmod(mode)
    return str(path)


def running(*code: str, folder: Path) -> HookTable:
    """Return a hook that runs a Python program."""
    path = folder / "command"
    path.write_text(f"#!{sys.executable} -IS\n" + "\n".join(code) + "\n", encoding="utf-8")
    path.chmod(0o755)
    return HookTable("local", command=(str(path), "--word", "a b"))


def alive(pid: int) -> bool:
    """Tell whether a process runs; one that is only to be reaped does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False


def gone(pid: int) -> bool:
    """Wait until a process is gone."""
    deadline = time.monotonic() + 10.0
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)
