"""A published line counts for the runs of now as long as they would come to the same, and no longer."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lab.compare import task
from lab.compare.asked import Asked
from lab.compare.revision import policies_revision
from lab.compare.task import defaults_revision
from lab.prove import published
from lab.prove.published import standing
from lab.scenarios import Scenario
from tests.lab.contested import line
from tuner.settings import Settings

SHORT = Scenario(name="tiny", description="for tests", seconds=200, measured_from=100)
ASKED = Asked(("cascade",), (SHORT,), 2)


def test_lines_of_another_length_or_plant_do_not_stand() -> None:
    """What was changed since in a scenario is run again, whoever took part."""
    now = replace(
        line("untouched", scenario="tiny", seconds=200),
        plant=ASKED.seeded(SHORT)[0].plant.fingerprint(),
        defaults=defaults_revision(),
        measured_from=100,
        seeds=(1, 2),
    )
    others = [
        replace(now, **{name: value}) for name, value in (("plant", "0"), ("seconds", 300), ("seeds", (1,)))
    ]

    assert standing(ASKED, [now]) == {"tiny": {"untouched": now}}
    assert standing(ASKED, [*others, replace(now, scenario="gone")]) == {}


@pytest.mark.parametrize("contender", ["cascade", "untouched"])
def test_lines_from_before_they_said_their_defaults_stand_for_those_of_then(
    contender: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was published without the hash goes on to count, until a default or the rows' schema changes."""
    silent = replace(
        line(contender, scenario="tiny", seconds=200),
        plant=ASKED.seeded(SHORT)[0].plant.fingerprint(),
        policies=policies_revision() if contender == "cascade" else "",
        measured_from=100,
        seeds=(1, 2),
    )
    monkeypatch.setattr(published, "FIRST_DEFAULTS", defaults_revision())
    assert standing(ASKED, [silent]) == {"tiny": {contender: silent}}
    monkeypatch.setattr(task, "SCHEMA", task.SCHEMA + 1)

    assert standing(ASKED, [silent]) == {"tiny": {}}
    assert standing(ASKED, [replace(silent, defaults=defaults_revision())])["tiny"]


def test_a_hash_of_the_defaults_changes_with_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any default counts: a policy runs with it, and the best static setting is searched inside its caps."""
    before = defaults_revision()
    monkeypatch.setattr(task, "Settings", lambda: Settings(max_recovery_seconds=301.0))

    assert defaults_revision() != before
