"""The HTTP side as the configuration wants it."""

from __future__ import annotations

import ssl
from pathlib import Path

import httpx

from tests.api.factory import answering
from tests.cli.support import free_port
from tuner.cli.run import make_api
from tuner.config.schema import ApiSection, Config, DaemonSection
from tuner.daemon.board import Board

GIVEN = Path(__file__).parents[1] / "fixtures" / "api"
NAME = "one.innobrim.test"


def status(config: Config, *, insecure: bool, verify: ssl.SSLContext | bool, **headers: str) -> list[int]:
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

    assert status(config, insecure=False, verify=trusted) == [401, 200, 200]
    token = (tmp_path / "token").read_text().strip()
    assert status(config, insecure=False, verify=trusted, Authorization=f"Bearer {token}") == [200] * 3


def test_told_twice_a_public_address_is_as_open_as_loopback(tmp_path: Path) -> None:
    """With tls off and the command line's word reading needs neither encryption nor a token."""
    assert status(configured(tmp_path, "off"), insecure=True, verify=True) == [200] * 3
