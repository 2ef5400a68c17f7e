"""One attempt to deliver an event: signed, bounded in time and memory, and as the operator meant it."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.api.factory import CERTIFICATES
from tests.cli.support import ended, innobrim
from tests.daemon.receiver import (
    FOREVER,
    SECRETS,
    Receiver,
    gone,
    receiving,
    running,
    secret_file,
    verified,
)
from tuner.config.schema import HookTable
from tuner.daemon.delivery import MOST_OUTPUT, DeliveryError, deliver, signature
from tuner.system import statedir

BODY = b'{"type":"test"}'


def attempt(table: HookTable, *, seconds: float = 20.0, body: bytes = BODY) -> str:
    """Deliver once; return what came back."""
    ends = time.monotonic() + seconds
    return deliver(table, "evt_1", "test", body, ends=lambda: ends, environ={})


def refused(table: HookTable, *, seconds: float = 20.0) -> str:
    """Return why an attempt failed, which it must within its time."""
    began = time.monotonic()
    with pytest.raises(DeliveryError) as caught:
        attempt(table, seconds=seconds)
    assert time.monotonic() - began < seconds + 2.0
    return str(caught.value)


def test_the_signature_is_that_of_the_specification() -> None:
    """A published example of Standard Webhooks comes out to the letter."""
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = b'{"test": 2432232314}'

    made = signature((secret,), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)

    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("count", [1, 2])
def test_a_receiver_knows_who_sent_it(receiver: Receiver, tmp_path: Path, count: int) -> None:
    """Each secret of the file verifies by the page's example, and no other; so a secret can be renewed."""
    file = secret_file(tmp_path, *SECRETS[:count])
    assert attempt(HookTable("pager", url=receiver.url, secret_file=file)) == "HTTP 204 No Content"

    (request,) = receiver.requests
    assert (request.path, request.headers["content-type"]) == ("/told", "application/json")
    assert [verified(request, secret) for secret in SECRETS] == [True, count == 2]
    assert not verified(request._replace(body=BODY + b" "), SECRETS[0])
    assert not verified(request._replace(headers={**request.headers, "webhook-id": "evt_2"}), SECRETS[0])


def test_no_proxy_gets_a_request(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables of the environment change nothing of where an event goes."""
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    assert attempt(HookTable("pager", url=receiver.url)) == "HTTP 204 No Content"


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    """It is a failure that says what is right, and the other place gets nothing."""

    def elsewhere(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(307)
        handler.send_header("Location", "/other")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    receiver.answers = elsewhere

    assert "redirects are not followed; give url" in refused(HookTable("pager", url=receiver.url))
    assert [request.path for request in receiver.requests] == ["/told"]


@pytest.mark.parametrize("status", [400, 410, 429, 500, 503])
def test_another_status_is_a_failure(receiver: Receiver, status: int) -> None:
    """Only 200 to 299 means that the event arrived."""
    receiver.statuses = [status]

    assert refused(HookTable("pager", url=receiver.url)).startswith(f"HTTP {status}")


def trickle(handler: BaseHTTPRequestHandler) -> None:
    """Answer a byte at a time, for ever."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        handler.wfile.write(b"x")
        time.sleep(0.05)


def flood(handler: BaseHTTPRequestHandler) -> None:
    """Answer without end, as fast as it goes."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        handler.wfile.write(b"x" * 65_536)


def test_an_answer_that_trickles_in_has_the_same_limit(receiver: Receiver) -> None:
    """The time is that of the whole delivery, not of each byte."""
    receiver.answers = trickle

    assert "no whole answer within 0.5 s" in refused(HookTable("pager", url=receiver.url), seconds=0.5)


def test_an_answer_without_end_is_left(receiver: Receiver) -> None:
    """Nothing is read beyond its status and headers."""
    receiver.answers = flood

    assert attempt(HookTable("pager", url=receiver.url)) == "HTTP 200 OK"


@pytest.mark.parametrize("line", [b"HTTP/1.1 400 ", b"nonsense "])
def test_what_a_receiver_says_of_a_failure_is_bounded(receiver: Receiver, line: bytes) -> None:
    """Status and log carry no more of its words than a line."""

    def says(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(line + b"x" * 60_000 + b"\r\n\r\n")

    receiver.answers = says

    assert len(refused(HookTable("pager", url=receiver.url))) < 1000


def test_a_receiver_that_takes_no_connection_has_the_same_limit() -> None:
    """Nobody accepts: the attempt ends in its time."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        assert "no whole answer within 0.5 s" in refused(HookTable("pager", url=url), seconds=0.5)


def test_a_receiver_must_prove_who_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate of no known authority is refused before anything is sent; the machine's own are known."""
    pair = (str(CERTIFICATES / "one.crt"), str(CERTIFICATES / "one.key"))
    with receiving(pair) as receiver:
        url = receiver.url.replace("http://127.0.0.1", "https://localhost")
        assert "the certificate of localhost" in refused(HookTable("pager", url=url))
        assert receiver.requests == []

        monkeypatch.setenv("SSL_CERT_FILE", pair[0])
        assert attempt(HookTable("pager", url=url)) == "HTTP 204 No Content"


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        (SECRETS[0], 0o604, "other accounts can read it (mode 0604); chmod 0640 or less"),
        (SECRETS[0], 0o602, "other accounts can change it (mode 0602)"),
        ("secret", 0o600, "line 1 is no secret; it must be whsec_"),
        ("whsec_c2hvcnQ=", 0o600, "line 1 is no secret; it must be whsec_"),
        ("\n".join((*SECRETS, SECRETS[0])), 0o600, "3 lines; it must have one or two"),
        ("", 0o600, "0 lines; it must have one or two"),
    ],
)
def test_nothing_is_sent_without_the_secret(
    receiver: Receiver, tmp_path: Path, content: str, mode: int, said: str
) -> None:
    """A secret that is none, or that others know, signs nothing; the error has no secret in it."""
    why = refused(HookTable("pager", url=receiver.url, secret_file=secret_file(tmp_path, content, mode=mode)))

    assert why.startswith(f'hook "pager": secret_file = {tmp_path / "secret"}: {said}')
    assert SECRETS[0][6:] not in why
    assert receiver.requests == []


def test_a_command_gets_the_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has its words as they stand, the event as a line on its input, and nothing of our environment."""
    monkeypatch.setenv("INNOBRIM_PASSWORD", "geheim")
    table = running(
        "import os, sys",
        "said = repr(sys.stdin.read())",
        "print(sys.argv[1:], said, sorted(os.environ), os.environ['WEBHOOK_ID'], os.getcwd())",
        folder=tmp_path,
    )

    names = "['LANG', 'PATH', 'WEBHOOK_ID', 'WEBHOOK_TYPE']"
    assert attempt(table) == f"['--word', 'a b'] {BODY.decode() + chr(10)!r} {names} evt_1 /"


def test_a_command_that_reads_nothing_is_fine(tmp_path: Path) -> None:
    """The largest event fits, whoever reads it."""
    assert deliver_large(running("print('done')", folder=tmp_path)) == "done"


def deliver_large(table: HookTable) -> str:
    """Deliver an event larger than a pipe."""
    return attempt(table, body=b"x" * 200_000)


def test_a_failing_command_is_a_failure_with_its_words(tmp_path: Path) -> None:
    """Its exit status and the beginning of what it said."""
    table = running("import sys", "sys.exit('no such pager')", folder=tmp_path)

    assert refused(table) == "exit 1: no such pager"


@pytest.mark.parametrize("waits", [True, False], ids=["hangs", "ends"])
def test_nothing_of_a_command_is_left(tmp_path: Path, *, waits: bool) -> None:
    """At its limit, and at its end, it is killed with the processes that it started."""
    table = running(
        "import subprocess, sys",
        f"child = subprocess.Popen([sys.executable, '-c', {FOREVER!r}])",
        "print(child.pid, flush=True)",
        "child.wait()" if waits else "",
        folder=tmp_path,
    )

    said = refused(table, seconds=2.0) if waits else attempt(table)

    assert said.startswith("killed after ") == waits
    assert gone(int(said.split()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "while True: print('x' * 1000)",
        "import os, time; os.close(1); os.close(2); time.sleep(600)",
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
    ],
    ids=["floods", "closes its output", "does not end"],
)
def test_a_command_has_a_limit_whatever_it_does(tmp_path: Path, code: str) -> None:
    """Its output is bounded, and its time."""
    said = refused(running(code, folder=tmp_path), seconds=1.0)

    assert said.startswith("killed after ")
    assert len(said) <= MOST_OUTPUT + 100


def loose(path: Path) -> None:
    """Let everybody change it."""
    path.chmod(0o777)


def not_executable(path: Path) -> None:
    """Let nobody run it."""
    path.chmod(0o644)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (loose, "other accounts can change it (mode 0777); chmod o-w"),
        (not_executable, "not executable for the account that runs this (mode 0644); chmod +x"),
        (Path.unlink, "no such file or directory"),
    ],
)
def test_a_command_that_others_may_change_is_not_run(
    tmp_path: Path, spoil: Callable[[Path], None], said: str
) -> None:
    """It is looked at before each run, as whoever can change it could run anything as the daemon."""
    table = running(f"open({str(tmp_path / 'ran')!r}, 'w')", folder=tmp_path)
    assert attempt(table) == "exit 0"
    (tmp_path / "ran").unlink()
    spoil(Path(str((table.command or ("",))[0])))

    assert said in refused(table)
    assert not (tmp_path / "ran").exists()


LEASE = """
import fcntl, os, select, signal, sys, time
signal.signal(signal.SIGIO, lambda *_: print(time.monotonic(), flush=True))
fcntl.fcntl(os.open(sys.argv[1], os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
select.select([sys.stdin], [], [], 5.0)
"""
"""Whoever opens the file waits until this ends; it says when somebody does."""


def test_a_command_on_a_disk_that_hangs_holds_up_its_own_thread_alone(tmp_path: Path) -> None:
    """While the kernel waits for the command's file the others go on, the loop among them."""
    table = running("print('done')", folder=tmp_path)
    holder = [sys.executable, "-c", LEASE, str((table.command or ("",))[0])]
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(attempt(table)))
    pipe = subprocess.PIPE
    with subprocess.Popen(holder, stdin=pipe, stdout=pipe, text=True) as disk:  # noqa: S603 - our own
        assert disk.stdout is not None
        assert disk.stdout.readline() == "held\n"
        thread.start()
        waits_since = float(disk.stdout.readline())
        waited = time.monotonic() - waits_since
        disk.communicate("")
        thread.join()

    assert waited < 2.5
    assert said == ["done"]


def test_a_command_costs_the_loop_little(tmp_path: Path) -> None:
    """It runs behind the daemon, and with memory that leaves the unit's limit to the daemon."""
    wanted = (min(19, os.nice(0) + 10), 128)
    table = running(
        "import os, resource, time",
        f"while (os.nice(0), resource.getrlimit(resource.RLIMIT_DATA)[0] // 2**20) != {wanted}:",
        "    time.sleep(0.01)",
        "print('so it is')",
        folder=tmp_path,
    )

    assert attempt(table) == "so it is"


@pytest.mark.skipif(os.geteuid() != 0, reason="another account can be taken on by root alone")
def test_a_command_that_root_tries_is_not_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    """``config check --hooks`` by root runs it as the account of the state directory, which stays so."""
    monkeypatch.setattr(statedir, "_PROGRAM", ())  # of these tests' own, which may lie below /root
    with tempfile.TemporaryDirectory(prefix="innobrim-") as folder:
        above = Path(folder)
        above.chmod(0o755)
        state, script, config = above / "state", above / "whoami", above / "innobrim.toml"
        state.mkdir()
        os.chown(state, 65534, 65534)
        script.write_text("#!/bin/bash\ngrep -E '^(Uid|CapPrm)' /proc/self/status\n", encoding="utf-8")
        script.chmod(0o755)
        config.write_text(f'[[hook]]\nname = "who"\ncommand = ["{script}"]\n', encoding="utf-8")

        found = innobrim("config", "check", "--hooks", "--config", config, "--state-directory", state)

    ended(found, 0, "Uid: 65534 65534 65534 65534 CapPrm: 0000000000000000")
