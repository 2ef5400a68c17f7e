"""What ``innobrim run`` puts together."""

from __future__ import annotations

import ssl
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from tests.api.factory import answering
from tests.bench import Bench
from tests.cli.support import Run, ended, free_port, innobrim
from tuner.cli.run import make_api
from tuner.config.schema import ApiSection, Config, DaemonSection
from tuner.daemon.board import Board
from tuner.daemon.daemon import Daemon

GIVEN = Path(__file__).parents[1] / "fixtures" / "api"
NAME = "one.innobrim.test"


@pytest.mark.parametrize(("flags", "kept"), [((), 1), (("--no-api",), 0)], ids=["api", "no api"])
def test_earlier_ticks_are_kept_for_the_api_alone(
    run: Run, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], kept: int
) -> None:
    """A daemon that nobody can ask for earlier ticks spends no memory on them."""
    boards: list[Board] = []
    monkeypatch.setattr(Daemon, "run", lambda daemon: boards.append(daemon._board))

    result = run("run", *flags)
    assert result.exit_code == 0, result.stderr
    bench = Bench()
    boards[0].publish(bench.turn(), bench.state.settings, bench.state.facts)

    assert len(boards[0].ticks()) == kept


def test_a_former_default_written_out_is_kept_and_said_once(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The start's log has one line of it, and the daemon has the budget; without it there is no such line."""
    kept: list[float | None] = []
    monkeypatch.setattr(Daemon, "run", lambda daemon: kept.append(daemon.config.loop.max_recovery_seconds))
    said: list[list[str]] = []
    monkeypatch.setattr("tuner.cli.run.log", SimpleNamespace(info=lambda line, **_: said[-1].append(line)))
    for text in ("", "[loop]\nmax_recovery_seconds = 300\n"):
        file = tmp_path / "innobrim.toml"
        file.write_text(text, encoding="utf-8")
        said.append([])
        result = run("run", "--config", str(file))
        assert result.exit_code == 0, result.stderr

    assert kept == [None, 300.0]
    assert [sum("max_recovery_seconds = 300 is kept" in line for line in lines) for lines in said] == [0, 1]


@pytest.mark.parametrize(
    ("tls", "words", "said"),
    [
        ("", (), 'say so twice: api.tls = "off" and innobrim run --insecure-api'),
        ("", ("--insecure-api",), "give api.tls a certificate and key"),
        ("off", (), "say --insecure-api as well"),
    ],
)
def test_other_machines_are_not_served_in_the_clear_by_accident(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tls: str, words: tuple[str, ...], said: str
) -> None:
    """A public address without encryption needs the word of the configuration and of the command line."""
    monkeypatch.setenv("INNOBRIM_API_HOST", "0.0.0.0")  # noqa: S104 - refused
    monkeypatch.setenv("INNOBRIM_API_TLS", tls)

    result = innobrim("run", "--state-directory", str(tmp_path), *words)

    assert result.exit_code == 2
    assert said in " ".join(result.output.replace("innobrim:", "").split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["orders", ""])
def test_a_daemon_knows_its_server_by_the_name_that_it_was_given(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """INNOBRIM_IDENTITY is the daemon's as well as any command's; one that is none is said at once."""
    names: list[str] = []
    monkeypatch.setenv("INNOBRIM_IDENTITY", name)
    monkeypatch.setattr(Daemon, "run", lambda daemon: names.append(daemon._server._identity.name))  # type: ignore[attr-defined]

    assert run("run", "--no-api").exit_code == 0
    assert names == [name]

    monkeypatch.setenv("INNOBRIM_IDENTITY", "no name")
    refused = run("run", "--no-api")
    ended(refused, 2, "INNOBRIM_IDENTITY")


def statuses(config: Config, *, insecure: bool, verify: ssl.SSLContext | bool, **headers: str) -> list[int]:
    """Return the statuses of status, probe and page, asked by the configured name."""
    board = Board()
    scheme = "https" if config.api.certificate else "http"
    url = f"{scheme}://127.0.0.1:{config.api.port}"
    with answering(board):
        serving = make_api(config, board, configuration=lambda: config, insecure=insecure)
        serving.start()
        try:
            with httpx.Client(base_url=url, verify=verify, trust_env=False, timeout=20.0) as client:
                given = {"Host": NAME, **headers}
                return [client.get(path, headers=given).status_code for path in ("/v1/status", "/livez", "/")]
        finally:
            assert serving.stop(10.0)


def configured(folder: Path, tls: str) -> Config:
    """Return the configuration of a daemon that other machines can reach."""
    return Config(
        daemon=DaemonSection(state_directory=str(folder)),
        api=ApiSection(host=f"0.0.0.0, {NAME}", port=free_port(), socket="-", tls=tls),
    )


def test_a_public_address_shows_the_server_to_tokens_alone(tmp_path: Path) -> None:
    """Over TLS, by a name of the configuration: the probe and the page answer all, status a token alone."""
    config = configured(tmp_path, f"{GIVEN / 'one.crt'}:{GIVEN / 'one.key'}")
    trusted = ssl.create_default_context(cafile=str(GIVEN / "one.crt"))
    trusted.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN

    assert statuses(config, insecure=False, verify=trusted) == [401, 200, 200]
    token = (tmp_path / "token").read_text().strip()
    assert statuses(config, insecure=False, verify=trusted, Authorization=f"Bearer {token}") == [200] * 3


def test_told_twice_a_public_address_is_as_open_as_loopback(tmp_path: Path) -> None:
    """With tls off and the command line's word reading needs neither encryption nor a token."""
    assert statuses(configured(tmp_path, "off"), insecure=True, verify=True) == [200] * 3
