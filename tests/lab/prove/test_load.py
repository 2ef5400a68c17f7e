"""The API's long gate: what its clients count, and that the page says plainly where it falls short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.experiment.store import Ledger
from lab.prove import load
from lab.prove.clients import Asking, Listening, Ticks, ticks
from lab.servers.base import LabServerError, free_port
from tests.browser.site import Site
from tests.lab.factory import CONDITIONS
from tests.real.support import until

MEBIBYTE = 2**20
PACE = 0.02
"""Real seconds of a tick: many of them in little time."""

GROWN = [[0.0, 2**25], [1.0, 2**26], [2.0, 2**27]]


@pytest.fixture(scope="module")
def site() -> Any:  # noqa: ANN401 - a generator of one
    """Yield a loop with its API on loopback."""
    with Site(pace=PACE, history=30.0) as found:
        yield found


def test_clients_ask_and_listen_at_once(site: Site) -> None:
    """Every request is answered and timed, and every stream has about the ticks that the counted one has."""
    with Asking(site.port, 40.0) as asking, Listening(site.port, 5) as listening:
        ticks(site.port, 1.0)
        asking.count_anew()
        listening.count_anew()
        found = ticks(site.port, 2.0)
        fewest, answers = listening.fewest, asking.answers

    assert found.missed == 0
    assert set(answers) == {200}
    assert len(asking.seconds) >= answers[200] > 5
    assert fewest > 0.5 * len(found.numbers)
    assert listening.ended == 0


def test_a_daemon_that_is_gone_is_said() -> None:
    """Nobody waits for ticks of a daemon that does not listen, and its requests count as unanswered."""
    port = free_port()
    with pytest.raises(LabServerError, match="stream of ticks"):
        ticks(port, 1.0)
    with Asking(port, 100.0) as asking:
        until(lambda: asking.answers, 10.0, "a request without an answer")
    assert set(asking.answers) == {0}


def test_phases_are_taken_together() -> None:
    """What was before the clients and after them is one side of the comparison."""
    found = load.figures([Ticks((1, 2, 3), (0.001, 0.002)), Ticks((9, 11), (0.2,))])

    assert (found["ticks"], found["missed"]) == (5, 1)
    assert (found["jitter_p50"], found["jitter_max"]) == (2.0, 200.0)


def row(kind: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any figure
    """Return a row of the ledger that keeps every promise."""
    side = {"ticks": 600, "missed": 0, "jitter_p50": 0.4, "jitter_p99": 2.0, "jitter_max": 7.0}
    server = {"commits_mean": 2500.0, "age_ratio_mean": 0.9, "knob_changes": 0, "sync_pages": 0}
    flat = [[0.0, 50 * MEBIBYTE], [300.0, 50 * MEBIBYTE + 4096], [600.0, 50 * MEBIBYTE]]
    served = (
        {"streams": 50, "fewest_ticks": 599, "streams_ended": 0}
        if kind == load.STREAMS
        else {
            "asked_per_second": 200,
            "answered_per_second": 199.9,
            "answers": {"200": 119_940},
            "answer_p50": 2.0,
            "answer_p99": 9.0,
            "answer_max": 40.0,
        }
    )
    return {
        "kind": kind,
        **served,
        "without": {**side, "processor": [0.02, 0.02]},
        "with": {**side, "jitter_p99": 11.0, "processor": 0.3},
        "seconds": 600.0,
        "resident": {"without": flat, "with": flat, "after": flat},
        "server": {"without": [server, server], "with": server},
        "conditions": CONDITIONS,
        **changes,
    }


def page(tmp_path: Path, *rows: dict[str, Any]) -> str:
    """Return the page made of these rows."""
    ledger = Ledger(tmp_path / "load.jsonl")
    for one in rows:
        ledger.add(one)
    return load.write(tmp_path).read_text()


def test_what_was_not_measured_is_said(tmp_path: Path) -> None:
    """Each kind without a row names the command; one measured does not hide the other."""
    assert page(tmp_path).count("Not begun: `make prove PART=load`.") == 2
    assert page(tmp_path, row(load.STREAMS)).count("Not begun") == 1


def test_a_page_of_kept_promises_has_with_and_without_side_by_side(tmp_path: Path) -> None:
    """Both sides of each kind stand in one table, p99 and memory in words."""
    text = page(tmp_path, row(load.REQUESTS), row(load.STREAMS))

    assert "**not met**" not in text
    assert text.count("| without | 600 | 0 | 0.4 | 2.0 | 7.0 |") == 2
    assert text.count("| with | 600 | 0 | 0.4 | 11.0 | 7.0 |") == 2
    assert "50.0 MiB at the beginning, 50.0 MiB at the end" in text
    assert "2 processors shared by server, load, daemon and clients" in text


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        (load.REQUESTS, {"answered_per_second": 150.0}, "answered with 200: 150.0 a second"),
        (load.REQUESTS, {"answers": {"200": 119_000, "429": 7}}, "other answers, or none (0): {'429': 7}"),
        (load.STREAMS, {"streams_ended": 3}, "streams that the daemon ended: 3"),
        (load.STREAMS, {"fewest_ticks": 500}, "ticks on the stream that had fewest: 500 of 600"),
        (
            load.STREAMS,
            {"resident": {"without": GROWN, "with": GROWN, "after": GROWN}},
            "highest: 128.0 MiB",
        ),
    ],
)
def test_where_it_falls_short_it_says_so(
    tmp_path: Path, kind: str, changes: dict[str, Any], said: str
) -> None:
    """A promise that was not kept is named with its figure."""
    lines = page(tmp_path, row(kind, **changes)).splitlines()

    assert any(line.startswith("- **not met**") and said in line for line in lines)
