"""The picture that ``innobrim watch`` draws of what is known of a daemon."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console
from rich.segment import Segment

from api.models import NumberedEvent, Status, TrialShown
from api.read import HISTORY_COLUMNS
from api.views import status_of
from tests.api import factory
from tests.cli.tried import UNDER_WAY
from tuner.cli.picture import CHART_LINES, HISTORY, SHOWN, View, picture
from tuner.cli.status import rows
from tuner.records import (
    Decision,
    DecisionKind,
    Hold,
    HoldCode,
    Overlay,
    Remedy,
    TickRecord,
)
from tuner.settings import Mode, Settings

SECONDS = 300
"""That the history goes back."""

SYNC, STALL = 85e6, 92e6
"""Of the factory's server, bytes."""

GONE = {"gone": "connection refused", "gone_since": factory.START}


def ticked(**changes: Any) -> TickRecord:  # noqa: ANN401 - any field
    """Return an active tick."""
    return factory.record(SECONDS, **({"mode": Mode.ACTIVE} | changes))


def status(made: TickRecord | None = None, **changes: Any) -> Status:  # noqa: ANN401 - any field
    """Return the answer to ``GET /v1/status`` right after a tick."""
    made = made or ticked()
    found = status_of(made, facts=factory.FACTS, settings=Settings(), wall=made.tick.wall, process=None)
    return replace(found, **changes)


def history(gap: range = range(0)) -> dict[str, list[float | None]]:
    """Return what the daemon remembers up to the last tick; nothing was read in the gap."""
    values = {
        "modified_age": 61e6,
        "stall_point": STALL,
        "sync_point": SYNC,
        "flush_limit": SYNC,
        "set_point": 0.72,
    }
    return {name: [None if at in gap else values[name] for at in range(SECONDS)] for name in HISTORY}


def view(now: Status | None = None, **changes: Any) -> View:  # noqa: ANN401 - any field
    """Return all that is known of a daemon that holds a steady load."""
    event = NumberedEvent(9, factory.START + 9, "set", "C/M → 225/450", "loop")
    made = View(status=now or status(), history=history(), asked=0.0, span=float(SECONDS), events=(event,))
    return replace(made, **changes)


def segments(found: View, width: int = 80) -> list[list[Segment]]:
    """Return the picture as rich draws it."""
    console = Console(width=width, height=200, color_system="truecolor", legacy_windows=False)
    return console.render_lines(picture(found, width=width), console.options, pad=False)


def drawn(found: View, width: int = 80) -> list[str]:
    """Return the picture as plain lines."""
    return ["".join(part.text for part in line) for line in segments(found, width)]


def chart(found: View, width: int = 80) -> list[list[Segment]]:
    """Return the lines of the age's chart, from the top."""
    lines = segments(found, width)
    last = next(at for at, line in enumerate(lines) if line and line[0].text.startswith("5m ago"))
    return lines[last - CHART_LINES : last]


def held(code: HoldCode) -> View:
    """Return what is known of a daemon under a hold."""
    return view(status(ticked(holds=(Hold(code, factory.START, "somebody set M to 800", (Remedy.RESUME,)),))))


def test_a_small_terminal_has_all_that_matters() -> None:
    """In 80 × 24 there is whether it works, what it does and why, the age, and what was."""
    lines = drawn(view())[:24]
    text = " ".join(" ".join(lines).split())

    assert "WORKING" in lines[0]
    for part in ("MySQL 9.7.4", "71 % of the flush limit", "io_capacity_max 450", "C/M → 225/450"):
        assert part in text


@pytest.mark.parametrize(
    "found",
    [
        view(),
        held(HoldCode.FOREIGN_CHANGE),
        view(status(ticked(mode=Mode.ADVISORY, advisory="the configuration says so"))),
        view(status(ticked(override_ends=factory.sample(SECONDS).monotonic + 552.0))),
        view(status(ticked(overlay=Overlay({"max_io_capacity_max": 6000.0}, "token oncall", 0.0)))),
        view(status(missed="did not answer within 1 s")),
    ],
    ids=["working", "held", "advisory", "override", "settings", "no reading"],
)
@pytest.mark.parametrize("width", [40, 200])
def test_its_words_are_those_of_status_and_none_is_cut(found: View, width: int) -> None:
    """What ``innobrim status`` says of holds, decisions and what is under way is there as a whole."""
    shown = " ".join(" ".join(drawn(found, width)).split())
    said = [text for label, text in rows(found.status) if label in SHOWN]

    assert said
    assert all(" ".join(text.split()) in shown for text in said)


def test_a_trial_under_way_is_seen() -> None:
    """Whoever began a trial sees in the picture whose turn it is and what it has come to so far."""
    shown = TrialShown(UNDER_WAY, "no verdict yet: 2 of 6 pairs")

    assert any(line.startswith("trial ") for line in drawn(view(status(trial=shown))))
    assert "2 of 6 pairs" in " ".join(" ".join(drawn(view(status(trial=shown)))).split())


@pytest.mark.parametrize(("width", "gone"), list(itertools.product((20, 40, 80, 300), ({}, GONE))))
def test_no_line_is_longer_than_the_terminal(width: int, gone: dict[str, Any]) -> None:
    """However narrow it is, and whatever is to be said."""
    assert max(map(len, drawn(view(**gone), width))) <= width


def test_set_point_and_sync_flushing_lie_across_the_age() -> None:
    """Each has its line at its own height, in a colour of its own."""
    across = {
        str(part.style.color.name): at
        for at, line in enumerate(chart(view()))
        for part in line
        if part.style and part.style.color and "┄" in part.text
    }

    assert across["red"] == CHART_LINES - 1 - int(CHART_LINES * SYNC / STALL)
    assert across["cyan"] == CHART_LINES - 1 - int(CHART_LINES * 0.72 * SYNC / STALL)


def test_a_gap_in_samples_is_a_gap_in_the_chart() -> None:
    """Where nothing was read there is no column; the age on both sides of it is where it was."""
    (*_, lowest) = chart(view(history=history(gap=range(100, 200))), width=60)
    text = "".join(part.text for part in lowest)

    assert (text[:20], text[20:40], text[40:]) == ("█" * 20, " " * 20, "█" * 20)


@pytest.mark.parametrize(
    ("found", "word", "more"),
    [
        (view(), "WORKING", "active"),
        (view(status(ticked(mode=Mode.ADVISORY))), "ADVISORY", "nothing is written"),
        (held(HoldCode.FOREIGN_CHANGE), "HELD", "foreign change"),
        (view(status(seconds_old=40.0)), "NO TICKS", "its last tick is 40 s old"),
        (view(status(missed="did not answer within 1 s")), "NO READING", "MySQL"),
        (view(**GONE), "NO ANSWER", "since 22:13:20 UTC"),
        (view(**GONE, refused=True), "TOKEN REFUSED", "since 22:13:20 UTC"),
        (
            view(status(ticked(decision=Decision(DecisionKind.EMERGENCY, "emergency", "M is raised")))),
            "EMERGENCY",
            "MySQL",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_first_words_tell_whether_it_works(found: View, word: str, more: str) -> None:
    """Each way of not working has a word of its own, and what is known of it beside it."""
    first = drawn(found, 140)[0]

    assert first.strip().startswith(word)
    assert more in first


def test_an_old_picture_is_kept_and_dimmed() -> None:
    """A daemon that is gone leaves its last figures, all of them dim, below a line that says since when."""
    first, why, *rest = segments(view(**GONE))

    assert "NO ANSWER  since 22:13:20 UTC" in "".join(part.text for part in first)
    assert "connection refused" in "".join(part.text for part in why)
    assert all(part.style and part.style.dim for line in rest for part in line if part.text.strip())


def test_no_word_of_a_daemon_steers_the_terminal() -> None:
    """An escape sequence in a reason that somebody gave is shown, not obeyed."""
    evil = NumberedEvent(3, factory.START, "override", "\x1b[2Jgone\r\n\x9b31m", "loop")
    lines = drawn(view(events=(evil,)))

    assert all(line.isprintable() for line in lines)
    assert any("?[2Jgone" in line for line in lines)


def test_every_column_that_is_drawn_is_one_that_the_daemon_keeps() -> None:
    """What is asked for is in the history's own list."""
    assert set(HISTORY) <= set(HISTORY_COLUMNS)
