"""What a person calls a server that keeps no identity of its own: a variable, as the password is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tuner.config.errors import ConfigError
from tuner.config.keys import IDENTITY_VARIABLE

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def identity_of(environ: Mapping[str, str]) -> str:
    """Return the name that a person gave the server; empty where nobody did.

    Raises:
        ConfigError: it is none; the message says what one is.
    """
    given = environ.get(IDENTITY_VARIABLE, "")
    if given and not _NAME.fullmatch(given):
        wanted = "1 to 64 letters, digits and . _ -, of which the first is a letter or a digit"
        raise ConfigError([f"{IDENTITY_VARIABLE} = {given[:80]!r}: must be {wanted}"])
    return given
