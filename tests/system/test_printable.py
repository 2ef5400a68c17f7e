"""Words that others chose steer no terminal and end no line."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.system import logs
from tuner.system.printable import printable


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        ("backup at 03:00 → 04:00 × 2", "backup at 03:00 → 04:00 × 2"),
        ("\x1b[2J\x1b]0;gone\x07", "?[2J?]0;gone?"),
        ("one\nmode  active\r", "one?mode  active?"),
        ("\x9b31m", "?31m"),
        ("abc\u202edef", "abc?def"),
        ("1\u202f000\u00a0pages\tmore", "1 000 pages more"),
        ("\udc80", "?"),
    ],
)
def test_what_cannot_be_seen_is_a_question_mark(words: str, seen: str) -> None:
    """Escapes, line ends, C1 controls, turned writing and halves of characters; blanks stay blanks."""
    assert printable(words) == seen


@given(st.text())
def test_whatever_is_said_is_one_printable_line(words: str) -> None:
    """Nothing but printable characters comes out, as many as went in, and it is the same said twice."""
    seen = printable(words)

    assert seen.isprintable()
    assert len(seen) == len(words)
    assert printable(seen) == seen


def test_a_log_on_a_terminal_is_not_steered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pretty line stays one line, whatever a server or a person put into it."""
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    logs.configure_logs(level="info", style="pretty", stream=out)
    logs.log.info("refused", why="\x1b[2J\nchanged  M 20000")
    logs.close_logs(10.0)

    (line,) = out.getvalue().splitlines()
    assert "?[2J?changed  M 20000" in line
