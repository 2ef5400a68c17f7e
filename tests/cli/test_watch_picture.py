"""The picture of ``innobrim watch``, drawn from answers of the API."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from tests import factory
from tests.cli import watching
from tests.cli.watching import drawn, history, record, segments, status, view
from tuner.cli.picture import SHOWN, View, line_of
from tuner.cli.status import rows
from tuner.records import Decision, DecisionKind, Hold, HoldCode, Overlay, Remedy
from tuner.settings import Mode

CHARTS = ("age ", "C and M", "redo", "pages/s", "row changes/s")
GONE = {"gone": "connection refused", "gone_since": factory.EPOCH}


def row(lines: list[str], label: str) -> str:
    """Return the one line with that label."""
    (found,) = [line for line in lines if line.startswith(label)]
    return found


def held(code: HoldCode) -> View:
    """Return what is known of a daemon under a hold."""
    return view(status(record(holds=(Hold(code, factory.EPOCH, "somebody set M to 800", (Remedy.RESUME,)),))))


def test_a_small_terminal_has_all_that_matters() -> None:
    """In 80 × 24 there is whether it works, what it does and why, charts, holds, and what was."""
    lines = drawn()

    assert "WORKING" in lines[0]
    assert "MySQL 9.7.4" in lines[0]
    assert "63% of max checkpoint age" in row(lines, "age ")
    assert "C 225, M 450" in row(lines, "C and M")
    assert all(row(lines, label) for label in CHARTS)
    assert any("C/M → 225/450" in line for line in lines)
    assert "q quit" in lines[-1]


@pytest.mark.parametrize(
    "found",
    [
        view(),
        held(HoldCode.FOREIGN_CHANGE),
        view(status(record(mode=Mode.ADVISORY, advisory="the configuration says so"))),
        view(status(record(override_ends=factory.sample(float(watching.SECONDS)).monotonic + 552.0))),
        view(status(record(overlay=Overlay({"max_io_capacity_max": 6000.0}, "token oncall", 0.0)))),
        view(status(missed="did not answer within 1 s")),
    ],
)
@pytest.mark.parametrize("width", [40, 80, 200])
def test_its_words_are_those_of_status_and_none_is_cut(found: View, width: int) -> None:
    """What ``innobrim status`` says of holds, decisions and what is under way is there as a whole."""
    shown = " ".join(" ".join(drawn(found, size=(width, 90))).split())
    said = [(label, text) for label, text in rows(found.status) if label in SHOWN]

    assert said
    for _, text in said:
        assert " ".join(text.split()) in shown


@pytest.mark.parametrize("size", list(itertools.product((20, 40, 80, 119, 120, 300), (4, 10, 24, 50, 100))))
def test_every_size_has_a_picture_of_its_own(size: tuple[int, int]) -> None:
    """A picture has as many lines as the terminal, none too long, and always the verdict."""
    lines = drawn(size=size)

    assert len(lines) == size[1]
    assert max(map(len, lines)) <= size[0]
    assert lines[0].split()[0] == "WORKING"


def test_set_point_and_sync_flushing_lie_across_the_age() -> None:
    """Each has its line at its own height, in a colour of its own."""
    lines = segments(size=(80, 60))
    first = next(index for index, line in enumerate(lines) if line and line[0].text.startswith("age "))
    across = {
        str(part.style.color.name): index - first
        for index, line in enumerate(lines[first : first + 8], first)
        for part in line
        if part.style and part.style.color and "┄" in part.text
    }
    limits = factory.LIMITS

    assert across["red"] == 7 - int(8 * limits.sync_point / limits.stall_point)
    assert across["cyan"] == 7 - int(8 * 0.72 * factory.A / limits.stall_point)


def test_a_gap_in_samples_is_a_gap_in_every_chart() -> None:
    """Where nothing was read, a chart has neither a column nor a base line; a rate of 0 has a base line."""
    whole, holed = drawn(), drawn(view(past=history(gap=range(100, 200))))

    for label in CHARTS[1:]:
        assert " " not in row(whole, label)[15:50]
        broken = row(holed, label)[15:50]
        assert broken[14:21].isspace()
        assert " " not in broken[:10] + broken[26:]
    assert row(drawn(view(past=history(flush_rate=0.0))), "pages/s")[15:50] == "▁" * 35


def test_sync_flushing_is_said_however_little() -> None:
    """A single page of it in the time shown is in the figures of its chart."""
    assert "max sync 1" in row(drawn(view(past=history(sync_rate=0.6))), "pages/s")
    assert "max sync" not in row(drawn(), "pages/s")


@pytest.mark.parametrize(
    ("found", "word", "more"),
    [
        (view(), "WORKING", "active"),
        (view(status(record(mode=Mode.ADVISORY))), "ADVISORY", "nothing is written"),
        (held(HoldCode.FOREIGN_CHANGE), "HELD", "foreign_change"),
        (view(status(seconds_old=40.0)), "LOOP STANDS", "its last tick is 40 s old"),
        (view(status(missed="did not answer within 1 s")), "NO READING", "did not answer within 1 s"),
        (view(**GONE), "NO ANSWER", "since 00:00:00 UTC"),
        (view(**GONE, refused=True), "TOKEN REFUSED", "since 00:00:00 UTC"),
        (
            view(status(record(decision=Decision(DecisionKind.EMERGENCY, "emergency", "M is raised")))),
            "EMERGENCY",
            "MySQL",
        ),
    ],
)
def test_the_first_words_tell_whether_it_works(found: View, word: str, more: str) -> None:
    """Each way of not working has a word of its own, and what is known of it beside it; a line has it too."""
    first = drawn(found, size=(140, 24))[0]

    assert first.strip().startswith(word)
    assert more in first
    assert word in line_of(found)


def test_an_old_picture_is_kept_and_dimmed() -> None:
    """A daemon that is gone leaves its last figures, all of them dim, below a line that says since when."""
    first, why, *rest = segments(view(**GONE))

    assert "NO ANSWER  since 00:00:00 UTC" in "".join(part.text for part in first)
    assert "connection refused" in "".join(part.text for part in why)
    assert all(part.style and part.style.dim for line in rest[:-1] for part in line if part.text.strip())


def test_ascii_is_enough() -> None:
    """Without UTF-8 every character is ASCII."""
    lines = drawn(view(status(missed="π ≥ 3")), size=(60, 50), plain=True)

    assert "".join(lines).isascii()
    assert any("C/M -> 225/450" in line for line in lines)


def test_no_word_of_a_daemon_steers_the_terminal() -> None:
    """An escape sequence in a reason that somebody gave is shown, not obeyed."""
    evil = watching.event(3, "override", "\x1b[2Jgone\r\n\x9b31m")
    lines = drawn(replace(view(), events=(evil,)), size=(80, 40))

    assert all(line.isprintable() for line in lines)
    assert any("?[2Jgone" in line for line in lines)
