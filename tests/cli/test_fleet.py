"""The switch for many daemons: real ones, some that do not answer, and some that refuse."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.factory import AnsweringLoop
from tests.cli.support import free_port, innobrim
from tuner.fleet import calls
from tuner.system.statedir import read_text


@pytest.fixture
def silent() -> Iterator[int]:
    """Return a port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield int(listening.getsockname()[1])


def targets(folder: Path, **ports: int) -> str:
    """Write a list of targets as Prometheus' file_sd has it; return its path."""
    listed = [
        {"targets": [f"127.0.0.1:{port}"], "labels": {"instance": name}} for name, port in ports.items()
    ]
    path = folder / "targets.json"
    path.write_text(json.dumps(listed), encoding="utf-8")
    return str(path)


def test_it_works_while_half_of_the_hosts_do_not_answer(
    over_tcp: tuple[AnsweringLoop, int], folder: Path, silent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who answers is paused, the others are named, and the exit code says that there are some."""
    monkeypatch.setattr(calls, "SECONDS", 1.0)
    loop, port = over_tcp
    listed = targets(folder, db1=port, db2=free_port(), db3=silent)
    done = innobrim(
        "fleet", "pause", "--targets", listed, "--token-file", folder / "token", "--reason", "stop", "--json"
    )
    answer = json.loads(done.stdout)

    assert done.exit_code == 3
    assert (answer["done"], answer["unreachable"], answer["refused"]) == (1, 2, 0)
    assert {one["host"]: one["outcome"] for one in answer["hosts"]}["db1"] == "done"
    assert loop.commands[-1].name == "pause"


def test_names_that_nobody_knows_do_not_keep_the_others_waiting(
    over_tcp: tuple[AnsweringLoop, int], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred names without a name server cost one host's time, and a target listed twice counts once."""
    monkeypatch.setattr(calls, "SECONDS", 1.0)
    (_, port), look_up = over_tcp, socket.getaddrinfo

    def waits(host: str | bytes, *rest: Any, **more: Any) -> Any:  # noqa: ANN401 - as the library has it
        if "gone" in str(host):
            threading.Event().wait(2.0)
            raise socket.gaierror(-3, "Temporary failure in name resolution")
        return look_up(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", waits)
    names = [*(f"gone{number}:1" for number in range(100)), f"localhost:{port}", f"localhost:{port}"]
    (folder / "targets.json").write_text(json.dumps([{"targets": names}]), encoding="utf-8")
    done = innobrim(
        *("fleet", "pause", "--targets", folder / "targets.json", "--token-file", folder / "token", "--json")
    )
    answer = json.loads(done.stdout)

    assert (answer["done"], answer["unreachable"]) == (1, 100)


def test_a_host_without_a_token_is_told(over_tcp: tuple[AnsweringLoop, int], folder: Path) -> None:
    """Where the token file has tokens of other hosts alone, that is what the command says of a host."""
    (folder / "tokens").write_text("db9 abc\n", encoding="utf-8")
    listed = targets(folder, db1=over_tcp[1])
    done = innobrim("fleet", "pause", "--targets", listed, "--token-file", folder / "tokens")

    assert done.exit_code == 1
    assert "no line that begins with db1, and no token for all others" in done.output


def test_who_refuses_is_told_from_who_does_not_answer(
    over_tcp: tuple[AnsweringLoop, int], folder: Path
) -> None:
    """A token that a daemon does not take is told with its answer, and exit 1; another host has its own."""
    _, port = over_tcp
    token = read_text(folder / "token").strip()
    (folder / "tokens").write_text(f"db1 {token}\nwrong\n", encoding="utf-8")
    listed = targets(folder, db1=port, db2=port)
    done = innobrim("fleet", "park", "--targets", listed, "--token-file", folder / "tokens", "--json")
    found = {one["host"]: one for one in json.loads(done.stdout)["hosts"]}

    assert done.exit_code == 1
    assert (found["db1"]["outcome"], found["db2"]["outcome"]) == ("done", "refused")
    assert "401" in found["db2"]["said"]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (None, ("no such file", "file_sd")),
        ("- targets: [db1]\n", ("YAML is not read", '"targets"')),
        ("[]", ("lists no target",)),
        ('[{"target": "x"}]', ("targets",)),
    ],
)
def test_targets_that_cannot_be_read_are_named(
    folder: Path, content: str | None, parts: tuple[str, ...]
) -> None:
    """The message says which file, what is wrong, and what it has to be like."""
    path = folder / "targets.yml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    (folder / "t").write_text("abc", encoding="utf-8")
    done = innobrim("fleet", "pause", "--targets", path, "--token-file", folder / "t")

    assert done.exit_code == 2
    for part in (str(path), *parts):
        assert part.lower() in done.output.lower()


def test_prometheus_that_does_not_answer_is_told() -> None:
    """Exit 3 and the address: nothing is said of servers that nobody asked about."""
    done = innobrim("fleet", "--prometheus", f"http://127.0.0.1:{free_port()}")

    assert done.exit_code == 3
    assert "/api/v1/query does not answer" in done.output


def test_a_rollout_needs_a_stage_in_the_file(folder: Path) -> None:
    """Without active_percent it is told with what to begin."""
    (folder / "group.toml").write_text("[fleet]\n", encoding="utf-8")
    done = innobrim(
        "fleet", "activate", "--prometheus", "http://127.0.0.1:1", "--group", folder / "group.toml"
    )

    assert done.exit_code == 2
    assert "begin with active_percent = 0" in done.output


def test_a_group_that_is_not_there_is_named_by_its_option(folder: Path) -> None:
    """Whoever mistypes the file is told which option is wrong."""
    path = folder / "grup.toml"
    done = innobrim("fleet", "activate", "--prometheus", "http://127.0.0.1:1", "--group", path)

    assert done.exit_code == 2
    assert f"--group {path}: no such file" in done.output
