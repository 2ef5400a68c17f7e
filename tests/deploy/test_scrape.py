"""A real Prometheus, with the rules as they are shipped, beside a real daemon on a simulated server."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from api.metrics import exposed_names
from tests.cli.support import free_port
from tests.deploy.support import (
    PROMETHEUS,
    ROOT,
    alerts,
    dashboards,
    expressions,
    names_in,
    rules,
    tool,
)
from tests.real.support import until
from tuner.cli.options import SOCKET_NAME

SOON = 90.0
"""Seconds that a condition may take on a busy machine; on an idle one each takes a few."""

WITHOUT_A_CAUSE = {
    "innobrim_time_to_sync_seconds",
    "innobrim_time_to_stall_seconds",
    "innobrim_sustained_capacity_pages_per_second",
    "innobrim_replica_lag_seconds",
    "innobrim_write_statements_total",
    "innobrim_write_time_seconds_total",
    "innobrim_select_statements_total",
    "innobrim_change_statements_total",
    "innobrim_low_water_mark_percent",
    "innobrim_override_ends_timestamp_seconds",
    "innobrim_drain_target_bytes",
    "innobrim_optimiser_up",
    "innobrim_optimiser_deaths_total",
    "innobrim_schedule_active",
    "innobrim_schedule_began_timestamp_seconds",
    "innobrim_schedule_ends_timestamp_seconds",
    "innobrim_ledger_saved_pages",
    "innobrim_ledger_saved_bytes",
    "innobrim_ledger_saved_ratio",
    "innobrim_ledger_saved_worth",
}
"""What may be missing from a scrape: nothing of the kind is going on, or the simulated server has it not."""


def may_be_empty(expression: str) -> bool:
    """Tell whether a query is about what does not go on here: one of these, a hold, a refusal, an alert."""
    named = "innobrim_hold" in expression or "innobrim_api_refusals" in expression
    chosen = named and expression.endswith(("== 1", "> 0"))
    return chosen or expression.startswith("ALERTS") or bool(names_in(expression) & WITHOUT_A_CAUSE)


class HookedUp:
    """The two, and ways to ask them."""

    def __init__(self, prometheus: str, socket: Path) -> None:
        self._prometheus = httpx.Client(base_url=f"{prometheus}/api/v1", timeout=30.0)
        self._daemon = httpx.Client(
            base_url="http://localhost/v1", transport=httpx.HTTPTransport(uds=str(socket)), timeout=30.0
        )

    def ask(self, path: str, **parameters: str) -> Any:  # noqa: ANN401 - whatever Prometheus has
        """Return what Prometheus answers."""
        answer = self._prometheus.get(path, params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def tell(self, command: str) -> None:
        """Have the daemon do something."""
        answer = self._daemon.post(command)
        assert answer.status_code == 200, answer.text

    def value(self, expression: str) -> float | None:
        """Return the value of the only series of an expression; None where there is none."""
        found = self.ask("/query", query=expression)["result"]
        return float(found[0]["value"][1]) if found else None

    def firing(self) -> dict[str, dict[str, str]]:
        """Return the annotations of each alert that fires."""
        found = self.ask("/alerts")["alerts"]
        return {one["labels"]["alertname"]: one["annotations"] for one in found if one["state"] == "firing"}

    def close(self) -> None:
        """Give the connections back."""
        self._prometheus.close()
        self._daemon.close()


@contextlib.contextmanager
def running(command: list[str], log: Path, **how: Any) -> Iterator[subprocess.Popen[bytes]]:  # noqa: ANN401 - of Popen
    """Run a program until the end, its output in a file."""
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, **how) as process:  # noqa: S603 - ours
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20.0)
            except subprocess.TimeoutExpired:
                process.kill()


def configured(folder: Path, port: int) -> Path:
    """Write the shipped files with this port, a scrape each second, and no alert waiting for hours."""
    config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text(encoding="utf-8"))
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [f"127.0.0.1:{port}"]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    recording = (PROMETHEUS / "innobrim-recording.yml").read_text(encoding="utf-8")
    (folder / "innobrim-recording.yml").write_text(recording, encoding="utf-8")
    alerting = yaml.safe_load((PROMETHEUS / "innobrim-alerts.yml").read_text(encoding="utf-8"))
    for group in alerting["groups"]:
        for rule in group["rules"]:
            rule["for"] = "1s"
    (folder / "innobrim-alerts.yml").write_text(yaml.safe_dump(alerting), encoding="utf-8")
    return folder / "prometheus.yml"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HookedUp]:
    """Yield a Prometheus that has scraped a daemon in active mode a few times."""
    program = tool("prometheus")
    folder, state = tmp_path_factory.mktemp("p"), tmp_path_factory.mktemp("s")
    port, own = free_port(), free_port()
    config = configured(folder, port)
    beside = [sys.executable, "-m", "tests.deploy.beside_simulated", str(port), str(state)]
    serving = [
        program,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{own}",
        "--log.level=warn",
    ]
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(running(beside, folder / "daemon.log", cwd=ROOT))
        prometheus = stack.enter_context(running(serving, folder / "prometheus.log", cwd=folder))
        found = HookedUp(f"http://127.0.0.1:{own}", state / SOCKET_NAME)
        stack.callback(found.close)

        def holds_nothing() -> bool:
            for process, log in ((daemon, "daemon.log"), (prometheus, "prometheus.log")):
                assert process.poll() is None, (folder / log).read_text(encoding="utf-8")
            with contextlib.suppress(httpx.TransportError, AssertionError):
                return (found.value("min_over_time(innobrim_may_write[4s])") or 0.0) > 0.0
            return False

        until(holds_nothing, SOON, lambda: (folder / "daemon.log").read_text(encoding="utf-8")[-2000:])
        yield found


def test_the_target_is_up_and_every_series_is_there(both: HookedUp) -> None:
    """Prometheus takes the scrape without an error, and has all that the reference promises."""
    (target,) = both.ask("/targets")["activeTargets"]
    names = set(both.ask("/label/__name__/values"))

    assert (target["health"], target["lastError"]) == ("up", "")
    assert target["labels"]["instance"] == "db1"
    assert exposed_names() - names <= WITHOUT_A_CAUSE


def test_every_rule_is_evaluated_without_an_error(both: HookedUp) -> None:
    """All recording rules and alerts are loaded and healthy, and the ages are recorded."""

    def evaluated() -> list[dict[str, Any]]:
        found = [rule for group in both.ask("/rules")["groups"] for rule in group["rules"]]
        return found if all(rule["health"] != "unknown" for rule in found) else []

    found = until(evaluated, SOON, "every rule evaluated once")
    ratio = until(lambda: both.value("instance:innobrim_modified_age:sync_ratio"), SOON, "a recorded age")

    assert len(found) == len(rules("innobrim-recording.yml")) + len(alerts())
    assert {rule["health"] for rule in found} == {"ok"}
    assert 0.0 < ratio < 1.5


def test_every_panel_shows_something(both: HookedUp) -> None:
    """Each query of each dashboard has an answer, but for those about what is not going on."""
    until(lambda: both.value("instance:innobrim_tick_duration_seconds:p99_rate5m"), SOON, "recorded rates")
    empty = [
        (title, expression)
        for dashboard in dashboards().values()
        for title, expression in expressions(dashboard)
        if not may_be_empty(expression) and not both.ask("/query", query=expression)["result"]
    ]

    assert empty == []


def test_a_hold_makes_its_alert_fire(both: HookedUp) -> None:
    """Somebody pauses the daemon: the alert fires with its words and its section, and ends with the pause."""
    assert "InnoBrimPaused" not in both.firing()
    both.tell("/pause")
    until(lambda: "InnoBrimPaused" in both.firing(), SOON, "the alert")
    notes = both.firing()["InnoBrimPaused"]
    both.tell("/resume")
    until(lambda: "InnoBrimPaused" not in both.firing(), SOON, "the alert's end")

    assert notes["summary"].startswith("db1: ")
    assert notes["runbook_url"] == "docs/runbook.md#innobrimpaused"
