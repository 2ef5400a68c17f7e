"""``innobrim fleet`` beside a Prometheus that is wrong, slow or knows a part, and the file that it writes."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from tests.cli.support import innobrim
from tests.deploy.support import promtool
from tuner.fleet import sources
from tuner.fleet.hosts import Host, history
from tuner.fleet.sources import Series

Answer = Callable[[BaseHTTPRequestHandler], None]
HOSTS = tuple(f"db{number}" for number in range(4))
STAGE = b'\xef\xbb\xbf# the group\r\n[fleet]\r\nactive_percent = 1.0 # "caf\xc3\xa9"\r\npaused = false\r\n'


@contextmanager
def served(answer: Answer) -> Iterator[str]:
    """Yield the URL of an HTTP server that answers every request so."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answer(self)

        do_GET = do_POST  # noqa: N815 - the library's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Say nothing."""

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{serving.server_port}"
    finally:
        serving.shutdown()
        serving.server_close()


def figures(hosts: Sequence[str] = HOSTS, *, known: int = len(HOSTS)) -> list[tuple[dict[str, str], str]]:
    """Return what Prometheus has of servers; of those after the first ``known`` no identity."""
    found = []
    for number, host in enumerate(hosts):
        names = ["up", "innobrim_up", "innobrim_baseline_back", "innobrim_build_info"]
        for name in [*names, *(["innobrim_server_info"] if number < known else [])]:
            value = "0" if name == "innobrim_baseline_back" else "1"
            found.append(({"__name__": name, "instance": host, "identity": f"id-{number}"}, value))
    return found


def prometheus(found: Sequence[tuple[Mapping[str, str], str]], **more: object) -> Answer:
    """Return a Prometheus that has these figures at first, and nothing to add."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked = request.rfile.read(int(request.headers["Content-Length"])).decode()
        series = found if asked.startswith("query=%7B__name__%3D~%22up") else ()
        result = [{"metric": metric, "value": [0, value]} for metric, value in series]
        content = json.dumps({"status": "success", "data": {"result": result}, **more}).encode()
        request.send_response(200)
        request.end_headers()
        request.wfile.write(content)

    return answer


@pytest.fixture
def group(tmp_path: Path) -> Path:
    """Return a group's file at its first stage, to which none of the servers belongs."""
    path = tmp_path / "group.toml"
    path.write_bytes(STAGE)
    path.chmod(0o640)
    return path


def test_the_next_stage_is_all_that_changes_in_the_file(group: Path) -> None:
    """Line ends, comments, mode and owner of the group's file stay, and nothing is left beside it."""
    owner = (65534, 65534) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    os.chown(group, *owner)
    with served(prometheus(figures())) as url:
        done = innobrim("fleet", "activate", "--prometheus", url, "--group", group, "--write")
    kept = group.stat()

    assert (done.exit_code, group.read_bytes()) == (0, STAGE.replace(b"1.0", b"10"))
    assert (kept.st_mode & 0o777, kept.st_uid, kept.st_gid) == (0o640, *owner)
    assert list(group.parent.iterdir()) == [group]


def test_a_stage_that_cannot_be_written_is_told(group: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 2 with the file, the value and the reason, and the file is whole."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with served(prometheus(figures())) as url:
        done = innobrim("fleet", "activate", "--prometheus", url, "--group", group, "--write")

    assert (done.exit_code, group.read_bytes(), list(group.parent.iterdir())) == (2, STAGE, [group])
    assert f"{group}: the next stage, 10, cannot be written: No space left" in done.output


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (prometheus(figures(), warnings=["store db-eu does not answer"]), "store db-eu does not answer"),
        (prometheus(figures([*HOSTS, "db0"])), "2 servers with instance='db0'"),
    ],
)
def test_what_prometheus_does_not_know_for_sure_is_no_view(answer: Answer, part: str) -> None:
    """An answer of a part of its stores, or servers that cannot be told apart, end with exit 2 and why."""
    with served(answer) as url:
        done = innobrim("fleet", "--prometheus", url)

    assert done.exit_code == 2
    assert part in done.output


def test_no_stage_begins_where_too_many_servers_are_unknown(group: Path) -> None:
    """Servers of which Prometheus has no identity could belong to the stage: wait, and name them."""
    with served(prometheus(figures(known=3))) as url:
        done = innobrim("fleet", "activate", "--prometheus", url, "--group", group, "--write")

    assert (done.exit_code, group.read_bytes()) == (4, STAGE)
    assert "of 1 of 4 servers Prometheus has no identity: db3" in done.output


@pytest.mark.parametrize(
    ("name", "most", "part"), [("SECONDS", 0.2, "no end"), ("MOST_BYTES", 99, "99 bytes")]
)
def test_an_answer_without_end_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, name: str, most: float, part: str
) -> None:
    """Time and size of an answer are bounded as a whole, and no password of the address is shown."""
    monkeypatch.setattr(sources, name, most)
    over = threading.Event()

    def trickle(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        while not over.wait(0.01):
            try:
                request.wfile.write(b" " * 10)
            except OSError:
                return

    with served(trickle) as url:
        done = innobrim("fleet", "--prometheus", url.replace("//", "//ann:hunter2@"))
        over.set()

    assert done.exit_code in {2, 3}
    assert part in done.output
    assert "hunter2" not in done.output


def test_a_server_is_observed_that_was_active_all_the_time(tmp_path: Path) -> None:
    """By Prometheus itself: who was advisory meanwhile, or not active as long, is not observed."""
    asked = []

    class Asked:
        def query(self, expression: str) -> Sequence[Series]:
            asked.append(expression)
            return ()

    history(Asked(), 'job="innobrim"', [Host("db1", identity="id")], 3600)
    modes = {"always": "1x90", "paused": "1x40 0x4 1x44", "late": "0x60 1x30"}
    label = '{job="innobrim", mode="active", instance="NAME"}'
    series = [
        {"series": "innobrim_mode" + label.replace("NAME", name), "values": values}
        for name, values in modes.items()
    ]
    wanted = [{"labels": "innobrim_mode" + label.replace("NAME", "always"), "value": 1}]
    test = {
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": series,
                "promql_expr_test": [{"expr": asked[0], "eval_time": "85m", "exp_samples": wanted}],
            }
        ],
    }
    file = tmp_path / "test.yml"
    file.write_text(yaml.safe_dump(test), encoding="utf-8")

    promtool("test", "rules", str(file))
