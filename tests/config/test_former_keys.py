"""A configuration of an earlier version: what nothing depends on any more stops no upgrade."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tuner.config.keys import FORMER_VARIABLES, WITHOUT_EFFECT
from tuner.config.load import load_config
from tuner.config.schema import Config, ConfigError

WINDOW = '[[schedule]]\nname = "night"\ncron = "0 1 * * *"\nminutes = 60\ndrain = true\n'


def load(path: Path, text: str, environ: dict[str, str] | None = None) -> tuple[Config, list[str]]:
    """Return the configuration of a file with this text, and what was said about it."""
    path.write_text(text, encoding="utf-8")
    said: list[str] = []
    return load_config(str(path), environ=environ or {}, flags={}, noted=said.append), said


@pytest.mark.parametrize("dotted", sorted(WITHOUT_EFFECT))
def test_a_key_that_nothing_depends_on_any_more_is_passed_over_and_said(tmp_path: Path, dotted: str) -> None:
    """An upgrade goes on with the file as it is; one line names the key and why it may go."""
    section, _, key = dotted.partition(".")
    plain = WINDOW if section == "schedule" else f"[{section}]\n"
    expected, _ = load(tmp_path / "plain.toml", plain)

    found, (said,) = load(tmp_path / "former.toml", f"{plain}{key} = 1\n")

    assert found == expected
    assert key in said
    assert WITHOUT_EFFECT[dotted] in said


@pytest.mark.parametrize("name", sorted(FORMER_VARIABLES))
def test_so_is_its_variable(tmp_path: Path, name: str) -> None:
    """What an environment file of an earlier version sets stops nothing either."""
    found, (said,) = load(tmp_path / "none.toml", "", {name: "0.05"})

    assert found == load(tmp_path / "none.toml", "")[0]
    assert name in said


@pytest.mark.parametrize(
    ("text", "environ", "instead"),
    [
        ("[api]\nenabled = false", {}, 'port = 0 and socket = "-"'),
        ("", {"INNOBRIM_API_ENABLED": "false"}, 'port = 0 and socket = "-"'),
        ("[server]\nquery_timeout = 2.0", {}, "server.timeout is for connecting"),
        ('[loop]\npolicy = "probe"', {}, "write cascade"),
        ("", {"INNOBRIM_LOOP_POLICY": "feedforward"}, "write cascade"),
        ('[loop]\npolicy = "bayes-low-water"', {}, "low_water_mark = true"),
    ],
)
def test_what_is_gone_says_what_takes_its_place(
    tmp_path: Path, text: str, environ: dict[str, str], instead: str
) -> None:
    """Whoever writes a key or a policy of old is told how it is done now."""
    with pytest.raises(ConfigError, match=re.escape(instead)):
        load(tmp_path / "former.toml", text, environ)
