"""The picture of ``innobrim watch``, drawn from answers of the API."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from tests import factory
from tests.cli import watching
from tests.cli.watching import NOW, drawn, history, record, status, view
from tuner.cli.status_table import table
from tuner.cli.watch.follow import Gone, View
from tuner.cli.watch.glyphs import ASCII, BLOCKS, glyphs_for
from tuner.cli.watch.helping import KEYS, STEER, WORDS, helping
from tuner.cli.watch.lines import line_of
from tuner.cli.watch.look import Look
from tuner.cli.watch.picture import picture
from tuner.records import Decision, DecisionKind, Hold, HoldCode, Overlay
from tuner.settings import Mode

CHARTS = ("uncheckpointed", "C and M", "redo", "pages/s", "row changes/s", "pages/change")
SYNC = factory.LIMITS.sync_point / factory.A
"""Age ratio at which sync flushing starts."""

GONE = Gone(since=factory.EPOCH, began=NOW - 14.0, why="connection refused", again=NOW + 4.0)


def row(lines: list[str], label: str) -> str:
    """Return the one line with that label."""
    (found,) = [line for line in lines if line.startswith(label)]
    return found


def test_a_small_terminal_has_all_that_matters() -> None:
    """In 80 × 24 there is whether it works, what it does and why, charts, holds, budgets and what was."""
    lines = drawn()

    assert "WORKING" in lines[0]
    assert "MySQL 9.7.4" in lines[0]
    assert "keep (within_dead_band): 450 pages/s hold the age" in row(lines, "decision")
    assert "C 225, M 450; originals C 10000, M 20000" in row(lines, "io_capacity")
    assert "with 10000/20000 the age ratio would settle at 0." in row(lines, "without it")
    for label in (
        "uncheckpointed",
        "C and M",
        "redo",
        "pages/s",
        "row changes/s",
        "pages/change",
        "predicted",
    ):
        assert row(lines, label)
    assert "7 in the last hour; 53 of 60 left" in row(lines, "changes")
    assert row(lines, "holds").split() == ["holds", "none"]
    assert any("C/M → 225/450" in line for line in lines)


def test_words_and_figures_are_those_of_status() -> None:
    """What both show is the same in ``innobrim status`` and in the picture."""
    said: dict[str, str] = {}
    for label, words in (line.split(maxsplit=1) for line in table(status()).splitlines() if " " in line):
        said[label] = f"{said[label]}; {words}" if label in said else words
    lines = drawn(width=200, height=60)

    for label in ("decision", "io_capacity", "predicted", "changes"):
        assert row(lines, f"{label} ").split(maxsplit=1)[1].strip() == said[label]


@pytest.mark.parametrize(
    ("width", "height"),
    list(itertools.product((20, 40, 80, 119, 120, 300), (4, 10, 24, 50, 100))),
)
def test_every_size_has_a_picture_of_its_own(width: int, height: int) -> None:
    """A picture has as many lines as the terminal, none too long, and always the verdict."""
    lines = drawn(width=width, height=height)

    assert len(lines) == height
    assert max(map(len, lines)) <= width
    assert lines[0].split()[0] == "WORKING"


def test_a_wide_terminal_shows_charts_side_by_side() -> None:
    """From 120 columns on two charts share their lines, and decisions stand beside events."""
    lines = drawn(width=160, height=50)

    assert "C and M" in row(lines, "uncheckpointed")
    assert "pages/s" in row(lines, "redo")
    assert "events" in row(lines, "decisions")


def test_the_age_stands_below_its_limit_with_set_point_and_sync_marked() -> None:
    """The bar ends where both ages are of max checkpoint age; both marks stand where theirs are."""
    limits = factory.LIMITS
    lines = drawn(width=100)
    bar = row(lines, "age")[15:].split(" ")[0]
    below = lines[lines.index(row(lines, "age")) + 1][15:]
    places = [index for index, char in enumerate(bar) if char == "┃"]
    checkpoint_age = watching.record().estimate.checkpoint_age

    assert bar.index("▓") / len(bar) == pytest.approx(0.7 * factory.A / limits.stall_point, abs=0.02)
    assert bar.index("░") / len(bar) == pytest.approx(checkpoint_age / limits.stall_point, abs=0.04)
    assert places[0] / len(bar) == pytest.approx(0.72 * factory.A / limits.stall_point, abs=0.02)
    assert places[1] / len(bar) == pytest.approx(limits.sync_point / limits.stall_point, abs=0.02)
    assert [below[place] for place in places] == ["▲", "▲"]
    assert "set-point 0.720 (headroom) ▲" in below


@pytest.mark.parametrize(("ratio", "style"), [(0.73, "green"), (0.8, "yellow"), (SYNC, "bold red")])
def test_the_bar_is_judged_by_the_age_that_is_held(ratio: float, style: str) -> None:
    """It is green at its set-point, though the checkpoint lags behind, and red where writers wait."""
    age = ratio * factory.A
    found = factory.estimate(age_ratio=ratio, modified_age=age, checkpoint_age=age + 8 * factory.MEBIBYTE)
    (bar,) = [
        line
        for line in picture(view(status(record(estimate=found))), Look(), NOW)
        if line.plain[:4] == "age "
    ]

    assert style in {str(span.style) for span in bar.spans if bar.plain[span.start] == "█"}


def test_a_gap_in_samples_is_a_gap_in_every_chart() -> None:
    """Where nothing was read, a chart has neither a column nor a base line; elsewhere it has one."""
    whole = drawn()
    holed = drawn(view(past=history(gap=range(100, 200))))

    for label in CHARTS:
        chart = row(whole, label)[15:53]
        broken = row(holed, label)[15:53]
        assert " " not in chart
        assert broken[14:24].isspace()
        assert broken.strip()[0] == broken.strip()[-1] == chart[0]


def test_nothing_flushed_is_no_gap() -> None:
    """A rate of 0 has a base line, so that it is told from a gap."""
    lines = drawn(view(past=history(lru_rate=0.0, flush_rate=0.0)))

    assert row(lines, "pages/s")[15:53].count("▁") > 30


def test_sync_flushing_is_seen_however_little() -> None:
    """A single page of sync flushing among thousands marks its columns, without colour as well."""
    some = view(past=history(sync_rate=0.5, flush_rate=4000.0))

    assert "▓" in row(drawn(some, colour=False), "pages/s")
    red = [span for line in picture(some, Look(), NOW) for span in line.spans if "red" in str(span.style)]
    assert len([span for span in red if span.end - span.start == 1]) > 30
    assert "▓" not in row(drawn(colour=False), "pages/s")


def held(code: HoldCode, **changes: object) -> View:
    """Return what is known of a daemon under a hold."""
    made = record(holds=(Hold(code, factory.EPOCH, "somebody set M to 800", "innobrim resume"),), **changes)
    return view(status(made))


@pytest.mark.parametrize(
    ("found", "word", "more"),
    [
        (view(), "WORKING", "active"),
        (view(status(record(mode=Mode.ADVISORY))), "ADVISORY", "nothing is written"),
        (held(HoldCode.FOREIGN_CHANGE), "HELD", "foreign_change"),
        (view(status(seconds_old=40.0)), "LOOP STANDS", "its last tick is 40 s old"),
        (view(status(missed="did not answer within 1 s")), "NO READING", "did not answer within 1 s"),
        (view(answered=NOW - 30.0), "SLOW ANSWER", "this is 30 s old"),
        (view(gone=GONE), "NO ANSWER", "14 s; trying again in 4 s"),
        (view(gone=replace(GONE, refused=True)), "TOKEN REFUSED", "14 s; trying again in 4 s"),
        (
            view(status(record(decision=Decision(DecisionKind.EMERGENCY, "sync_near", "M is raised")))),
            "EMERGENCY",
            "MySQL",
        ),
    ],
)
def test_the_first_words_tell_whether_it_works(found: View, word: str, more: str) -> None:
    """Each way of not working has a word of its own, and what is known of it beside it."""
    first = drawn(found, width=140)[0]

    assert first.strip().startswith(word)
    assert more in first
    assert word in line_of(found, NOW, BLOCKS)


def test_a_hold_says_since_when_why_and_what_ends_it() -> None:
    """All of a hold is in the picture."""
    lines = drawn(held(HoldCode.FOREIGN_CHANGE), width=160)

    assert "somebody set M to 800; ends by innobrim resume" in row(lines, "hold ")


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_terminal_cuts_nothing_of_why_nothing_is_written(width: int) -> None:
    """What ends a hold comes last in its sentence, and is there all the same."""
    shown = " ".join(" ".join(drawn(held(HoldCode.FOREIGN_CHANGE), width=width, height=20)).split())

    assert "foreign_change for 0.0 s: somebody set M to 800; ends by innobrim resume" in shown


@pytest.mark.parametrize("width", [40, 50, 59])
def test_a_narrow_terminal_cuts_no_figure(width: int) -> None:
    """Whatever the picture says of the present on a wide terminal is whole on one of 40 columns."""
    wide = drawn(width=200, height=60)
    shown = " ".join(" ".join(drawn(width=width, height=60)).split())

    for label in ("decision", "io_capacity", "without it", "predicted", "changes"):
        assert " ".join(row(wide, f"{label} ")[15:].split()) in shown
    for said in (
        "active; MySQL 9.7.4 at innobrim@127.0.0.1:3306",
        "63% of max 83.4 MiB",
        "set-point 0.720 (headroom)",
        "uncheckpointed 52.6 MiB of 83.4, 63%",
        "C and M, log C 225, M 450, max 450",
        "pages/s 400, sync 0, LRU 0",
    ):
        assert said in shown


def test_the_help_of_a_narrow_terminal_is_whole() -> None:
    """Every key, command and word is there with what it means, on lines of their own where it must."""
    shown = " ".join(" ".join(line.plain for line in helping(Look(width=40, height=60))).split())

    for name, text in (*KEYS, *STEER, *WORDS):
        assert f"{name}: {text}" in shown


def test_advisory_mode_is_what_would_be_without_it() -> None:
    """Where nothing is written, there is why, what lets the daemon write, and what that would bring."""
    lines = drawn(view(status(record(mode=Mode.ADVISORY, advisory="the configuration says so"))), width=160)

    assert "as it is now; at the set-point about" in row(lines, "without it")
    assert "the configuration says so; innobrim mode active lets the daemon write" in row(lines, "advisory")


def test_an_override_shows_the_time_that_is_left() -> None:
    """A person's value stands with its end in sight."""
    made = record(override_ends=factory.sample(float(watching.SECONDS)).monotonic + 552.0)

    assert "9m 12s left" in row(drawn(view(status(made))), "override")


def test_changed_settings_stand_with_who_changed_them() -> None:
    """What counts instead of the file's settings is seen while it does, in the words of status."""
    found = status(record(overlay=Overlay({"max_io_capacity_max": 6000.0}, "token oncall", 0.0)))

    said = "max_io_capacity_max 6000; by token oncall, until the daemon ends"
    assert said in row(drawn(view(found)), "settings")
    assert said in table(found)


def test_an_old_picture_is_kept_and_greyed() -> None:
    """A daemon that is gone leaves its last figures, all of them dim, below a line that says since when."""
    first, why, *rest = picture(view(gone=GONE), Look(), NOW)

    assert "NO ANSWER  since 00:00:00 UTC" in first.plain
    assert why.plain.split(maxsplit=1) == ["why", "connection refused"]
    assert any("450 pages/s hold the age" in line.plain for line in rest)
    assert all(str(line.style) == "dim" and not line.spans for line in rest[:-1] if line.plain.strip())


def test_ascii_is_enough() -> None:
    """Without UTF-8 every character of picture, line and help is ASCII."""
    found = view(status(missed="π ≥ 3"))
    lines = [*drawn(found, width=130, height=50, glyphs=ASCII), line_of(found, NOW, ASCII)]
    lines += [line.plain for line in helping(Look(glyphs=ASCII))]

    assert "".join(lines).isascii()
    assert any("C/M -> 225/450" in line for line in lines)


def test_no_word_of_a_daemon_steers_the_terminal() -> None:
    """An escape sequence in a reason that somebody gave is shown, not obeyed."""
    evil = watching.event(3, "override", "\x1b[2Jgone\r\n\x9b31m")
    lines = drawn(replace(view(), events=(evil,)), height=40)

    assert all(line.isprintable() for line in lines)
    assert any("?[2Jgone" in line for line in lines)


@pytest.mark.parametrize(
    ("environ", "utf8_mode", "wanted"),
    [
        ({"LANG": "de_DE.UTF-8"}, False, BLOCKS),
        ({"LANG": "en_US.UTF-8", "LC_CTYPE": "C.UTF-8"}, True, BLOCKS),
        ({"LC_ALL": "C.utf8"}, False, BLOCKS),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True, ASCII),
        ({"LC_CTYPE": "C.UTF-8"}, False, BLOCKS),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, True, ASCII),
        ({"LANG": "en_US.ISO-8859-1"}, False, ASCII),
        ({"LANG": "en_US.UTF-8", "TERM": "linux"}, False, ASCII),
        ({}, True, ASCII),
    ],
)
def test_the_locale_says_which_characters(
    environ: dict[str, str], *, utf8_mode: bool, wanted: object
) -> None:
    """Block elements where the person's locale is UTF-8, whatever Python makes of the locale C."""
    assert glyphs_for(environ, utf8_mode=utf8_mode) == wanted


def test_the_help_names_no_key_that_changes_anything() -> None:
    """Help has the keys, the words, and the commands that steer, in 80 × 24."""
    text = "\n".join(line.plain for line in helping(Look()))

    assert "no key changes the server" in text
    assert "innobrim override" in text
    assert "…" not in text
    assert len(text.splitlines()) <= 24
