"""Recording rules and alerts: they load, ask for what there is, fire when they should, and are explained."""

from __future__ import annotations

import re

import pytest
import yaml
from msgspec.structs import replace

from api.daemon import About, DaemonView
from api.problems import Refusals
from api.scrape import MetricsPage
from tests.api.factory import COUNTED, FACTS, START, estimate, record, sample
from tests.deploy.support import (
    PROMETHEUS,
    ROOT,
    alerts,
    known_names,
    names_in,
    promtool,
    rules,
)
from tuner.config.schema import Config
from tuner.daemon.board import Board
from tuner.records import DrainProgress, OptimiserHealth, Window
from tuner.settings import Settings

RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
PARTS = ("**Means**", "**Look**", "**Do**")


def sections() -> dict[str, str]:
    """Return the text of each alert's section of the runbook by its heading."""
    heads = re.split(r"^### (.+)$", RUNBOOK, flags=re.MULTILINE)[1:]
    return dict(zip(heads[::2], heads[1::2], strict=True))


def test_prometheus_takes_the_files() -> None:
    """The example configuration is valid, and so are both rule files that it names."""
    said = promtool("check", "config", "prometheus.yml")

    assert f"{len(rules('innobrim-recording.yml'))} rules found" in said
    assert f"{len(alerts())} rules found" in said


def test_alerts_fire_when_and_as_they_should() -> None:
    """The unit tests hold: what fires after how long, with which words, and what stays silent."""
    promtool("test", "rules", "innobrim-tests.yml")


def test_each_alert_is_seen_firing_and_silent() -> None:
    """The unit tests have for each alert a time when it fires and one when it does not."""
    cases = yaml.safe_load((PROMETHEUS / "innobrim-tests.yml").read_text(encoding="utf-8"))["tests"]
    seen = {
        (check["alertname"], bool(check["exp_alerts"])) for case in cases for check in case["alert_rule_test"]
    }

    assert seen == {(name, fires) for name in alerts() for fires in (True, False)}


@pytest.mark.parametrize("name", alerts())
def test_an_alert_says_how_bad_what_and_where_to_read_on(name: str) -> None:
    """Severity, a summary with the instance, a description, and its own section of the runbook."""
    alert = alerts()[name]
    notes = alert["annotations"]

    assert alert["labels"] == {"severity": alert["labels"]["severity"]}
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    assert "{{ $labels.instance }}" in notes["summary"] or name == "InnoBrimAbsent"
    assert notes["description"].endswith(".")
    assert notes["runbook_url"] == f"docs/runbook.md#{name.lower()}"


def test_each_alert_has_a_section_and_each_section_an_alert() -> None:
    """In the same order, each with what it means, what to look at and what to do."""
    assert list(sections()) == list(alerts())
    for name, text in sections().items():
        places = [text.find(part) for part in PARTS]
        assert -1 not in places, name
        assert places == sorted(places), name


@pytest.mark.parametrize("name", ["innobrim-recording.yml", "innobrim-alerts.yml"])
def test_rules_ask_for_metrics_that_there_are(name: str) -> None:
    """Every name in an expression is exported or recorded."""
    for rule in rules(name):
        assert names_in(rule["expr"]) <= known_names(), rule
        assert names_in(rule["expr"]) or "up{" in rule["expr"]


def test_prometheus_finds_nothing_to_mend_in_a_scrape() -> None:
    """Names, units, kinds and help follow Prometheus' own rules, with every metric present."""
    board = Board()
    board.optimiser(OptimiserHealth(state="ready"))
    board.journal("", 0, written=START)
    made = replace(
        record(1, reading=sample(replica_lag=1.5, **COUNTED)),
        estimate=estimate(sustained_capacity=1200.0, seconds_to_sync=30.0, seconds_to_stall=90.0),
        override_ends=200.0,
        drain=DrainProgress(64, 80, 700.0, "ann"),
        schedule=(Window("nightly", START, START + 60.0, drain=True),),
    )
    board.publish(made, Settings(), FACTS)
    about = About(version="0.1.0", interval=1.0, started=START, configuration=Config)
    page = MetricsPage(DaemonView(board, about), Refusals()).text().decode()

    assert promtool("check", "metrics", text=page) == ""
