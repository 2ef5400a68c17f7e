"""The name that a person gives a server without a lasting identity."""

from __future__ import annotations

import pytest

from tuner.config.credentials import identity_of
from tuner.config.load import load_config
from tuner.config.schema import ConfigError


@pytest.mark.parametrize("name", ["orders", "mariadb-0.eu_west.7", "9", "x" * 64])
def test_a_plain_name_is_taken(name: str) -> None:
    """Letters, digits, dots, dashes and underscores make a name, and the variable is no unknown one."""
    environ = {"INNOBRIM_IDENTITY": name}

    assert identity_of(environ) == name
    load_config(None, environ=environ, flags={})


@pytest.mark.parametrize("environ", [{}, {"INNOBRIM_IDENTITY": ""}])
def test_nobody_has_to_name_a_server(environ: dict[str, str]) -> None:
    """Without the variable, or with an empty one, the server is known by what it says itself."""
    assert identity_of(environ) == ""


@pytest.mark.parametrize(
    "name", ["x" * 65, "two words", "db:3306", "../etc", "-db", ".", "db\n", "naïve", "a" * 10_000]
)
def test_what_is_no_name_is_refused_with_what_would_be_right(name: str) -> None:
    """The error names the variable, the value and what a name is made of, and is no longer than a line."""
    with pytest.raises(ConfigError) as caught:
        identity_of({"INNOBRIM_IDENTITY": name})

    said = str(caught.value)
    assert said.startswith("INNOBRIM_IDENTITY = ")
    assert "1 to 64 letters, digits" in said
    assert "\n" not in said
    assert len(said) < 250
