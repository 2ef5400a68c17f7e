"""The bar of ``innobrim simulate``: what it shows, where it does not, and how Ctrl-C ends it."""

from __future__ import annotations

import io
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from lab.scenarios.load import parse_scenario
from lab.scenarios.progress import Progress
from lab.simulate import simulate
from tests.cli.virtual import Virtual
from tuner.cli import bar
from tuner.cli.bar import Bar

if TYPE_CHECKING:
    from collections.abc import Callable

GONE = "\x1b[1A\x1b[2K"
"""How rich takes a line away."""

POLICY = Progress("policy pid", 0.25)
SEARCH = Progress("static settings", 0.5, "12 tried of at most 67", at_least=True)
SHORT = 'name = "short"\ndescription = "for tests"\nseconds = 420\nmeasured_from = 240\n'


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a way to let time pass."""
    now = [100.0]
    monkeypatch.setattr(bar.time, "monotonic", lambda: now[0])

    def move(seconds: float) -> None:
        now[0] += seconds

    return move


def test_a_bar_comes_late_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, moved: Callable[[float], None]
) -> None:
    """Within two seconds nothing is shown, later share, words and time left, and at the end none."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    for name, value in {"COLUMNS": "120", "TERM": "xterm", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    with Bar() as shown:
        moved(1.9)
        shown.show(POLICY)
        assert terminal.getvalue() == ""
        for share in (0.5, 0.4):
            moved(1.0)
            shown.show(Progress("policy pid", share))
            assert " 50% policy pid" in terminal.getvalue().splitlines()[-1]
            assert "s left" in terminal.getvalue()
        for _ in range(2):
            moved(1.0)
            shown.show(SEARCH)
        assert "12 tried of at most 67  at most about 1 s left" in terminal.getvalue()
    assert terminal.getvalue().endswith(GONE)


@pytest.mark.parametrize("stderr", [io.StringIO(), Terminal()], ids=["pipe", "quick"])
def test_a_pipe_and_a_quick_run_see_nothing(
    monkeypatch: pytest.MonkeyPatch, moved: Callable[[float], None], stderr: io.StringIO
) -> None:
    """There is no bar in a pipe, however long it takes, nor where nothing took two seconds."""
    monkeypatch.setattr(sys, "stderr", stderr)
    with Bar() as shown:
        moved(1.0 if stderr.isatty() else 60.0)
        shown.show(POLICY)
    assert stderr.getvalue() == ""


def test_a_run_tells_how_far_it_is() -> None:
    """The policy's run, and then the search with every value tried, tell their shares, rising to the end."""
    told: list[Progress] = []
    simulate(parse_scenario(SHORT, source="test"), "fixed", oracle=True, progress=told.append)
    policy, tried = (
        [one.share for one in told if one.stage == stage] for stage in ("policy fixed", "static settings")
    )

    assert (policy, tried) == (sorted(policy), sorted(tried))
    assert 0.9 < policy[-1] <= 1.0
    assert 0.5 < tried[-1] <= 1.0


def test_ctrl_c_leaves_a_clean_line() -> None:
    """On a terminal it takes the bar away, and says one word."""
    words = ("--scenario", "steady-1200iops", "--policy", "fixed", "--seconds", "2678400")
    with Virtual("simulate", *words) as terminal:
        terminal.until(lambda text: "policy fixed" in text)
        terminal.process.send_signal(signal.SIGINT)

        assert terminal.ended() == 130
        assert [line for line in terminal.lines if line] == ["interrupted"]
