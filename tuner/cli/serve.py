"""The HTTP side for ``run`` and ``demo``; imported only where it is wanted."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tuner.board import Board
from tuner.cli.exits import USAGE
from tuner.cli.options import fail
from tuner.config.schema import Config
from tuner.daemon import Api
from tuner.version import program_version

SOCKET_NAME = "api.sock"


def make_api(config: Config, board: Board, *, configuration: Callable[[], Config]) -> Api:
    """Return the HTTP side, ready to start; exit 2 where it cannot be set up.

    Args:
        config: the configuration at the start.
        board: the seam to the loop.
        configuration: returns the configuration in force.
    """
    from api.about import About  # noqa: PLC0415 - a daemon without API must not carry it
    from api.app import create_app  # noqa: PLC0415 - the same
    from api.server import ApiServer  # noqa: PLC0415 - the same
    from api.token import TokenError, token_sha256  # noqa: PLC0415 - the same
    from tuner.advice import advise_now  # noqa: PLC0415 - the same

    try:
        digest = token_sha256(config.daemon.state_directory)
    except TokenError as error:
        fail(str(error), USAGE)
    about = About(
        version=program_version(),
        interval=config.daemon.interval,
        started=time.time(),
        configuration=configuration,
    )
    app = create_app(
        board, token_sha256=digest, about=about, advice=lambda: advise_now(board), host=config.api.host
    )
    return ApiServer(app, config.api.host, config.api.port, socket_path(config), ending=app.state.end_streams)


def socket_path(config: Config) -> str | None:
    """Return where the API's unix socket is; None where the configuration wants none."""
    if config.api.socket == "-":
        return None
    return config.api.socket or str(Path(config.daemon.state_directory) / SOCKET_NAME)
