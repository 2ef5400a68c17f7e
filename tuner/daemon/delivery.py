"""Delivers one event once, by a signed request or to a command, in bounded time and memory.

Requests are signed as the Standard Webhooks specification 1.0.0 says (github.com/standard-webhooks):
HMAC-SHA256 over ``ID.TIMESTAMP.BODY``, one signature for each secret.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import http.client
import os
import resource
import select
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

from tuner.config.hooks import require_command, secrets_of
from tuner.config.schema import ConfigError, HookTable
from tuner.servers.resolver import RESOLVER, first_of
from tuner.system.printable import shortened
from tuner.system.version import program_version

# Before 3.11.4, Debian 12 among them, vfork keeps every thread waiting until the command's file was read.
subprocess._USE_VFORK = False  # type: ignore[misc] # noqa: SLF001 - Python's own switch

MOST_OUTPUT = 1_000
"""Bytes of a command's output that are kept; the rest is read and thrown away."""

COMMAND_MEMORY = 128 * 2**20
"""Data that each process of a command may have, bytes: the unit's limits are for the daemon as well."""

COMMAND_NICE = 10
LOOK_SECONDS = 0.05
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
"""All of a command's environment, besides ``WEBHOOK_ID`` and ``WEBHOOK_TYPE``."""

Ends = Callable[[], float]
"""Returns until when it may last, by ``time.monotonic``; it may come nearer meanwhile."""


RETRIED = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,  # as FORBIDDEN: the receiver may not have a new secret yet
        HTTPStatus.FORBIDDEN,
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_EARLY,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
"""Statuses from 400 to 499 after which the same request may be taken later."""


class DeliveryError(Exception):
    """An attempt that failed; the message says why.

    Attributes:
        refused: the receiver answered that it does not take this event.
    """

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


def deliver(
    table: HookTable, ident: str, kind: str, body: bytes, *, ends: Ends, environ: Mapping[str, str]
) -> str:
    """Deliver an event; return what came back, in a line.

    Args:
        table: the hook.
        ident: the event's own, the same at each attempt.
        kind: of the event.
        body: the event.
        ends: when it is given up.
        environ: where the systemd credentials are.

    Raises:
        DeliveryError: the receiver did not take it, or not in time.
    """
    try:
        if table.command is not None:
            require_command(table)
            return _run(table.command, {"WEBHOOK_ID": ident, "WEBHOOK_TYPE": kind}, body, ends)
        signed = signature(secrets_of(table, environ=environ), ident, now := int(time.time()), body)
    except ConfigError as error:
        raise DeliveryError(str(error)) from error
    headers = {"webhook-id": ident, "webhook-timestamp": str(now)}
    return _post(str(table.url), headers | ({"webhook-signature": signed} if signed else {}), body, ends)


def signature(secrets: Sequence[bytes], ident: str, timestamp: int, body: bytes) -> str:
    """Return the signatures with each secret; empty without one."""
    content = b".".join((ident.encode(), str(timestamp).encode(), body))
    made = (hmac.digest(secret, content, hashlib.sha256) for secret in secrets)
    return " ".join(f"v1,{base64.b64encode(one).decode()}" for one in made)


def _post(url: str, headers: Mapping[str, str], body: bytes, ends: Ends) -> str:
    """Send a request: no proxy, no redirect; a certificate must be right by the system's authorities."""
    parts = urlsplit(url)
    host, secure = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    begun, deadline = time.monotonic(), ends()
    connection = http.client.HTTPConnection(host, port)
    try:
        addresses = RESOLVER.addresses(host, port, deadline - begun)
        sock = connection.sock = first_of(addresses, deadline)
        sock.settimeout(max(LOOK_SECONDS, deadline - time.monotonic()))
        if secure:
            context = ssl.create_default_context()
            sock = connection.sock = context.wrap_socket(
                sock, server_hostname=host, do_handshake_on_connect=False
            )
        with _cut_at(sock, deadline):
            if isinstance(sock, ssl.SSLSocket):
                sock.do_handshake()
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            usual = {
                "Host": parts.netloc,
                "Content-Type": "application/json",
                "User-Agent": f"InnoBrim/{program_version()}",
                "Connection": "close",
            }
            connection.request("POST", target, body, usual | dict(headers))
            answer = connection.getresponse()
            answer.close()  # nothing is read of its body
        if time.monotonic() >= deadline:
            raise TimeoutError
    except ssl.SSLCertVerificationError as error:
        raise DeliveryError(
            f"the certificate of {parts.netloc} is refused: {error.verify_message}"
        ) from error
    except (OSError, UnicodeError, http.client.HTTPException) as error:
        if time.monotonic() >= deadline:
            raise DeliveryError(f"no whole answer within {deadline - begun:.1f} s") from error
        raise DeliveryError(shortened(str(error)) or type(error).__name__) from error
    finally:
        connection.close()
    said = shortened(f"HTTP {answer.status} {answer.reason}".rstrip())
    if HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST:
        raise DeliveryError(f"{said}: redirects are not followed; give url the address that it leads to")
    if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
        by_client = HTTPStatus.BAD_REQUEST <= answer.status < HTTPStatus.INTERNAL_SERVER_ERROR
        raise DeliveryError(said, refused=by_client and answer.status not in RETRIED)
    return said


@contextlib.contextmanager
def _cut_at(sock: socket.socket, deadline: float) -> Iterator[None]:
    """End whatever is waited for on a socket when the time is over, also where bytes trickle in."""
    timer = threading.Timer(max(0.0, deadline - time.monotonic()), _shut, (sock,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # an SSLSocket's own would forget that it is one


def _run(command: Sequence[str], variables: Mapping[str, str], body: bytes, ends: Ends) -> str:
    """Run a command with the event on its standard input; at its end all of its processes are killed."""
    begun = time.monotonic()
    with os.fdopen(os.memfd_create("event"), "w+b") as given:
        given.write(body + b"\n")  # a whole line: the shell's read and a file of events want its end
        given.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - the operator's own, by its whole path
                list(command),
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=ENVIRONMENT | dict(variables),
                cwd="/",
                start_new_session=True,
                user=None if os.getuid() == os.geteuid() else os.geteuid(),  # or root could be had again
                group=None if os.getgid() == os.getegid() else os.getegid(),
            )
        except OSError as error:
            raise DeliveryError(f"{command[0]} cannot be run: {error.strerror}") from error
    with contextlib.suppress(OSError):  # it may have ended by now
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (COMMAND_MEMORY, COMMAND_MEMORY))
        os.setpriority(os.PRIO_PROCESS, process.pid, os.getpriority(os.PRIO_PROCESS, 0) + COMMAND_NICE)
    output, ended = b"", False
    try:
        output, ended = _output(process, ends)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
    said = " ".join(output.decode(errors="replace").split())
    if not ended:
        raise DeliveryError(f"killed after {time.monotonic() - begun:.1f} s{said and f': {said}'}")
    if process.returncode:
        raise DeliveryError(f"exit {process.returncode}{said and f': {said}'}")
    return said or "exit 0"


def _output(process: subprocess.Popen[bytes], ends: Ends) -> tuple[bytes, bool]:
    """Return the beginning of what a command says, and whether it ended in time; it is not reaped yet."""
    assert process.stdout is not None  # noqa: S101 - it has a pipe
    found = b""
    with process.stdout as stdout:
        os.set_blocking(stdout.fileno(), False)
        ready = select.poll()
        ready.register(stdout, select.POLLIN)
        opened = True
        while True:
            ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            while opened and ready.poll(0 if ended else LOOK_SECONDS * 1000):
                part = os.read(stdout.fileno(), MOST_OUTPUT)
                found, opened = (found + part)[:MOST_OUTPUT], bool(part)
                if time.monotonic() >= ends():
                    break
            if ended or time.monotonic() >= ends():
                return found, ended
            if not opened:
                time.sleep(LOOK_SECONDS)
