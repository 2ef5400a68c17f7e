"""Dashboards: Grafana has a place for all of them, they ask for what there is, and speak PMM's words."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.grafana import UNITS, complaints
from tests.deploy.support import (
    SCRAPED_BY_ITSELF,
    dashboards,
    expressions,
    known_names,
    names_in,
    panels,
    promtool,
)
from tuner.records.fields import FIELDS

FILES = list(dashboards())
VARIABLES = {"datasource", "job", "instance"}
SHOWN_AS = {
    "_bytes_per_second": "Bps",
    "_pages_per_second": "none",
    "_bytes": "bytes",
    "_seconds": "s",
    ":p99_rate5m": "s",
    "_ratio": "percentunit",
}
"""What Grafana calls the unit at the end of a metric's name, the longest first."""

_ALONE = re.compile(r"([a-z_:0-9]+)\{[^}]*\}")


@pytest.fixture(params=FILES)
def dashboard(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return each dashboard."""
    return dashboards()[request.param]


def test_there_is_one_for_a_server_and_one_for_a_fleet() -> None:
    """Each with an identity of its own, so that importing one replaces no other."""
    assert {one["uid"] for one in dashboards().values()} == {"innobrim-server", "innobrim-fleet"}


def test_grafana_knows_every_key_and_value(dashboard: dict[str, Any]) -> None:
    """By the schemas of Grafana 11.6 nothing would be ignored on import, and nothing has a wrong type."""
    assert complaints(dashboard) == []


def test_grafana_knows_every_unit(dashboard: dict[str, Any]) -> None:
    """A unit that Grafana does not know is printed behind the number as it is."""
    found = {panel["fieldConfig"]["defaults"]["unit"] for panel in panels(dashboard)}
    found |= {
        override["value"]
        for panel in panels(dashboard)
        for one in panel["fieldConfig"]["overrides"]
        for override in one["properties"]
        if override["id"] == "unit"
    }

    assert found <= UNITS


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda one: one["panels"][1].update(kind="stat"), "panels[1].kind: there is no such key"),
        (lambda one: one["panels"][1].update(type="stats"), "there is no panel of the type stats"),
        (lambda one: one["panels"][1]["options"].update(colorMode="loud"), "'loud' is no BigValueColorMode"),
        (lambda one: one["panels"][1]["gridPos"].update(w="6"), "'6' is no int"),
        (lambda one: one["panels"][1]["targets"][0].update(legend="x"), "legend: there is no such key"),
        (
            lambda one: one["panels"][9]["fieldConfig"]["defaults"]["custom"].update(lines=1),
            "lines: there is",
        ),
        (lambda one: one["templating"]["list"][1].update(refresh="always"), "'always' is no VariableRefresh"),
        (lambda one: one.update(refresh=30), "30 is no str"),
    ],
)
def test_a_spoilt_dashboard_is_called(spoil: Callable[[dict[str, Any]], None], said: str) -> None:
    """A key that Grafana would ignore, and a value it would not understand, are named with their place."""
    spoilt = copy.deepcopy(dashboards()["innobrim-server.json"])
    spoil(spoilt)

    assert any(said in one for one in complaints(spoilt))


def test_expressions_parse(tmp_path: Path) -> None:
    """Prometheus can evaluate every expression of every panel."""
    found = [expression for one in dashboards().values() for _, expression in expressions(one)]
    made = [{"record": f"panel:{number}", "expr": each} for number, each in enumerate(found)]
    file = tmp_path / "panels.json"  # JSON is YAML
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": made}]}), encoding="utf-8")

    assert f"{len(found)} rules found" in promtool("check", "rules", str(file))


def test_panels_ask_for_metrics_that_there_are(dashboard: dict[str, Any]) -> None:
    """Every name is exported or recorded."""
    for title, expression in expressions(dashboard):
        names = names_in(expression)
        assert names <= known_names(), title
        assert names or any(name in expression for name in SCRAPED_BY_ITSELF), title


def test_a_number_is_shown_in_its_unit(dashboard: dict[str, Any]) -> None:
    """Bytes as bytes and seconds as seconds, wherever a panel shows a metric as it is."""
    shown = 0
    for panel in panels(dashboard):
        own = panel["fieldConfig"]
        units = {
            one["matcher"]["options"]: each["value"]
            for one in own["overrides"]
            for each in one["properties"]
            if each["id"] == "unit"
        }
        for target in panel["targets"]:
            metric = _ALONE.fullmatch(target["expr"])
            unit = next((unit for end, unit in SHOWN_AS.items() if metric and metric[1].endswith(end)), "")
            if unit:
                shown += 1
                assert units.get(target["legendFormat"], own["defaults"]["unit"]) == unit, target["expr"]

    assert shown > 5


def test_nothing_is_tied_to_one_installation(dashboard: dict[str, Any]) -> None:
    """Data source, job and instance are variables, and every query heeds all three."""
    assert {one["name"] for one in dashboard["templating"]["list"]} == VARIABLES
    for panel in panels(dashboard):
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}", panel["title"]
            assert 'job="$job"' in target["expr"], panel["title"]
            assert '"$instance"' in target["expr"], panel["title"]


def test_panels_have_a_title_a_unit_and_a_place_of_their_own(dashboard: dict[str, Any]) -> None:
    """No two have the same number, and none lies on another."""
    every = dashboard["panels"]
    taken = [
        (x, y)
        for place in (panel["gridPos"] for panel in every)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len({panel["id"] for panel in every}) == len(every)
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24
    for panel in panels(dashboard):
        assert panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]


def test_what_pmm_charts_has_pmms_name() -> None:
    """Each of PMM's legends is a title or a legend of the dashboard for one server."""
    shown = dashboards()["innobrim-server.json"]
    words = {panel["title"] for panel in panels(shown)}
    words |= {target["legendFormat"] for panel in panels(shown) for target in panel["targets"]}

    assert {field.pmm for field in FIELDS if field.pmm and field.kind} <= words
