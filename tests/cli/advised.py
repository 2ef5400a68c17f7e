"""Situations of advice and check, written down in ``said/``: ``python -m tests.cli.advised`` records anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from lab.plant.clock import SimClock
from lab.plant.server import SimulatedServer
from lab.scenarios import load_scenario
from tests.cli.support import SimInbox
from tuner.cli import advise as command
from tuner.cli import check
from tuner.cli.main import cli
from tuner.records import Capacity, Facts, Receipt
from tuner.servers.port import Unreachable
from tuner.servers.survey import Survey

FOLDER = Path(__file__).parent / "said"

SITUATIONS: dict[str, tuple[str, dict[str, object], int]] = {
    "advise-gain": ("steady-1200iops", {}, 0),
    "advise-only-pages": ("open-70", {}, 0),
    "advise-stalls": ("mysql56", {}, 0),
    "advise-sync-flushing": ("closed-1gib", {}, 5),
    "advise-m-is-the-limit": ("flush-sync-off", {}, 0),
    "advise-no-authority": ("h17-mariadb-light", {}, 5),
    "advise-managed": ("steady-1200iops", {"managed": "Amazon RDS"}, 0),
    "advise-rising": (str(Path(__file__).parent / "rising.toml"), {}, 6),
    "advise-no-load": ("idle-wake", {"lived": 1800}, 6),
    "advise-blocked": ("steady-1200iops", {"blockers": ("it is a copy",)}, 1),
}
"""Scenario or its file, what its server shows besides, and the exit code, by the name of the file."""


CHECKED: dict[str, tuple[str, dict[str, object], tuple[str, ...], int]] = {
    "check-advisory": ("steady-1200iops", {}, (), 0),
    "check-managed": ("steady-1200iops", {"managed": "Amazon RDS"}, ("--active",), 1),
    "check-no-authority": ("h17-mariadb-light", {}, (), 0),
}
"""Scenario, what its server shows besides, further words and the exit code, by the name of the file."""


class LeftAlone(SimulatedServer):
    """A scenario's server that ran for long before anybody looked, and takes no write."""

    def __init__(self, name: str, clock: SimClock, **shown: object) -> None:
        """Let it live up to where its scenario counts.

        Args:
            name: the scenario's.
            clock: that it lives by.
            shown: fields of the facts that are as given; ``absent`` is why nothing answers, ``lived`` for how
                long it ran, seconds; ``slow``: it shows nothing else from the second time on.
        """
        scenario = load_scenario(name)
        super().__init__(scenario.plant, clock, seed=scenario.seed)
        self._absent = str(shown.pop("absent", ""))
        self._slow, self._looks = bool(shown.pop("slow", False)), 0
        lived = shown.pop("lived", scenario.measured_from)
        assert isinstance(lived, int)
        self._shown = shown
        clock.advance_to(clock.monotonic() + lived)

    def facts(self) -> Facts:
        """Return what this server is, where it answers."""
        if self._absent:
            raise Unreachable(self._absent)
        return replace(super().facts(), **self._shown)

    def survey(self) -> Survey:
        """Show nothing else of how it flushes, where it answers."""
        self._looks += 1
        if self._slow and self._looks > 1:
            raise Unreachable("db1:3306: no answer within 1 s")
        return Survey(0.0)

    def may_write(self) -> bool | None:
        """Say that the account may not, which advice does not need."""
        return False

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Refuse to be written to."""
        raise AssertionError(f"{wanted} was written: {steps}")


def asked(name: str, *words: str, verb: str = "advise", **shown: object) -> Result:
    """Run advise or check beside a scenario's server, on a clock that waits for nobody."""
    clock = SimClock()
    server = LeftAlone(name, clock, **shown)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "SystemClock", lambda: clock)
        patch.setattr(command, "BoardInbox", SimInbox)
        for one in (command, check):
            patch.setattr(one, "real_server", lambda *_: server)
        return CliRunner().invoke(cli, [verb, *words])


if __name__ == "__main__":
    for situation, (scenario, differs, _) in SITUATIONS.items():
        (FOLDER / f"{situation}.txt").write_text(asked(scenario, **differs).stdout, encoding="utf-8")
    for situation, (scenario, differs, more, _) in CHECKED.items():
        text = asked(scenario, *more, verb="check", **differs).output
        (FOLDER / f"{situation}.txt").write_text(text, encoding="utf-8")
