"""``--json`` of each command keeps to the published schema."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.api.factory import FACTS, AnsweringLoop
from tests.cli import advised, asked, redo_outputs
from tests.cli.schema import answer
from tests.cli.support import FakeServer, Run, innobrim
from tests.findings.patient import patient
from tests.why.asked import day
from tools.__main__ import DOCS, SCHEMAS, current
from tools.answers import ANSWERS
from tuner.cli import check, doctor

STEERING = (
    ("mode", "active"),
    ("pause",),
    ("resume",),
    ("override", "--io-capacity-max", "900", "--ttl", "1m"),
    ("drain",),
    ("trial", "begin", "--hours", "4"),
    ("trial", "stop"),
    ("status",),
)
"""Commands that a daemon answers."""


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_published_is_what_the_program_has(name: str) -> None:
    """Whoever changes what is printed or told makes the schema again, and sees what users have to follow."""
    assert (DOCS / name).read_text(encoding="utf-8") == current(name), f"python -m tools {name}"


@pytest.mark.parametrize("words", STEERING, ids=" ".join)
def test_a_daemons_answers(daemon: AnsweringLoop, run: Run, words: tuple[str, ...]) -> None:
    """Whatever is asked of a daemon is answered by the schema."""
    daemon.publish()
    answer(next(name for name in ANSWERS if " ".join(words).startswith(name)), run(*words, "--json").stdout)


@pytest.mark.parametrize("name", ["config-check-wrong", "config-show-changed", "config-explain-section"])
def test_the_configurations(tmp_path: Path, name: str) -> None:
    """So is what is said of a configuration."""
    answer(" ".join(name.split("-")[:2]), asked.answer(tmp_path, name, "--json")[0].stdout)


@pytest.mark.parametrize("name", ["advise-gain", "advise-blocked"])
def test_advice(name: str) -> None:
    """So is advice, and why none can be given."""
    scenario, shown, _ = advised.SITUATIONS[name]
    answer("advise", advised.asked(scenario, "--json", **shown).stdout)


def test_what_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So are check, doctor, redo, and the past."""
    for module in (check, doctor):
        monkeypatch.setattr(module, "real_server", lambda *_: FakeServer(replace(FACTS, flush_law="legacy")))
    monkeypatch.setattr(doctor, "watch", lambda *_: patient(grown={"pages_sync": 40}))
    answer("check", innobrim("check", "--json").stdout)
    answer("doctor", innobrim("doctor", "--json").stdout)
    answer("redo", redo_outputs.run("binary-log", "--json").stdout)
    answer("why", innobrim("why", day(tmp_path), "--last", "1h", "--json").stdout)
