"""What deploy/ holds, read: rules, alerts, dashboards, and the tools that judge them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from api.metrics import exposed_names
from tests.real.fixtures import missing

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
GRAFANA = ROOT / "deploy" / "grafana"
UNPACKED = f"{ROOT}/.cache/prometheus:{ROOT}/.cache/kubernetes"

SCRAPED_BY_ITSELF = frozenset({"up", "ALERTS"})
"""What Prometheus knows without us."""

_QUOTED = re.compile(r'"[^"]*"')
_NAME = re.compile(r"\b(?:[a-z]+:)?innobrim_[A-Za-z0-9_:]+")


def tool(name: str) -> str:
    """Return the path of prometheus, promtool, helm or kubectl; skip where there is none."""
    found = shutil.which(name) or shutil.which(name, path=UNPACKED)
    if found is None:
        missing(f"{name}: make servers fetches it")
    return found


def promtool(*words: str, text: str | None = None) -> str:
    """Run promtool beside the rules; return all that it says, and fail where it is not content."""
    done = subprocess.run(  # noqa: S603 - a tool that the setup brought
        [tool("promtool"), *words],
        cwd=PROMETHEUS,
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def rules(name: str) -> list[dict[str, Any]]:
    """Return every rule of a file in deploy/prometheus."""
    content = yaml.safe_load((PROMETHEUS / name).read_text(encoding="utf-8"))
    return [rule for group in content["groups"] for rule in group["rules"]]


def alerts() -> dict[str, dict[str, Any]]:
    """Return every alert by its name."""
    found = rules("innobrim-alerts.yml")
    assert len({rule["alert"] for rule in found}) == len(found)
    return {rule["alert"]: rule for rule in found}


def dashboards() -> dict[str, dict[str, Any]]:
    """Return every dashboard by its file's name."""
    return {
        path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(GRAFANA.glob("*.json"))
    }


def panels(dashboard: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the panels of a dashboard that show something."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def expressions(dashboard: dict[str, Any], *, instance: str = "db1") -> Iterator[tuple[str, str]]:
    """Yield each panel's title and expression, the variables replaced as Grafana would."""
    values = {"$job": "innobrim", "$instance": instance, "$__rate_interval": "1m"}
    for panel in panels(dashboard):
        for target in panel["targets"]:
            expression = target["expr"]
            for variable, value in values.items():
                expression = expression.replace(variable, value)
            yield panel["title"], expression


def names_in(expression: str) -> set[str]:
    """Return the metrics of ours that an expression names; what is quoted is a value."""
    return set(_NAME.findall(_QUOTED.sub('""', expression)))


def known_names() -> frozenset[str]:
    """Return every metric that there can be: exported, or recorded by a rule."""
    return exposed_names() | {rule["record"] for rule in rules("innobrim-recording.yml")}
