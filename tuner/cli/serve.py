"""The HTTP side for ``run`` and ``demo``; imported only where it is wanted."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tuner.board import Board
from tuner.cli.answer import USAGE
from tuner.cli.options import fail
from tuner.config.schema import Config
from tuner.daemon import Api
from tuner.version import program_version

SOCKET_NAME = "api.sock"


def make_api(
    config: Config, board: Board, *, configuration: Callable[[], Config], insecure: bool = False
) -> Api:
    """Return the HTTP side, ready to start; exit 2 where it cannot be set up.

    Args:
        config: the configuration at the start.
        board: the seam to the loop.
        configuration: returns the configuration in force.
        insecure: other machines may be served without TLS, and read without a token.
    """
    from api.access import Access  # noqa: PLC0415 - the same
    from api.app import create_app  # noqa: PLC0415 - the same
    from api.server import ApiServer, Certificate  # noqa: PLC0415 - the same
    from api.tokens import TokenError, Tokens, prepare  # noqa: PLC0415 - the same
    from api.vitals import About  # noqa: PLC0415 - a daemon without API must not carry it
    from tuner.advice import advise_now  # noqa: PLC0415 - the same

    try:
        tokens = Tokens(prepare(config.daemon.state_directory))
    except TokenError as error:
        fail(str(error), USAGE)
    about = About(
        version=program_version(),
        interval=config.daemon.interval,
        started=time.time(),
        configuration=configuration,
    )
    api = config.api
    access = Access(
        tokens, names=frozenset({api.address, *api.names}), open_reading=insecure or not api.public
    )
    app = create_app(board, access=access, about=about, advice=lambda: advise_now(board))
    return ApiServer(
        app,
        api.address,
        api.port,
        socket_path(config),
        certificate=None if api.certificate is None else Certificate(api.certificate),
        insecure=insecure,
    )


def socket_path(config: Config) -> str | None:
    """Return where the API's unix socket is; None where the configuration wants none."""
    if config.api.socket == "-":
        return None
    return config.api.socket or str(Path(config.daemon.state_directory) / SOCKET_NAME)
