"""Times and rates as people type them, with the bounds that the daemon would refuse them by."""

from __future__ import annotations

import re
from typing import Any

import click

from tuner.core.ages import EXPECTED, PATTERN

LOWEST_M = 100
HIGHEST_M = 4_000_000_000
"""Which io_capacity_max an override may ask for, pages/s."""

MOST_SEEDS = 1000

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+")
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


class Duration(click.ParamType[float]):
    """A time such as 30s, 10m, 2h or 1h30m, above 0; seconds as a float."""

    name = "duration"

    def __init__(self, longest: float) -> None:
        """Take the longest time allowed, seconds."""
        self._longest = longest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 - click's signature
        """Return seconds."""
        if isinstance(value, float):
            return value
        text = str(value).strip().lower()
        if not _DURATION.fullmatch(text):
            self.fail(f"{value!r} is no duration: write 30s, 10m, 2h, 1d or 1h30m", param, ctx)
        parts = _PART.findall(text)
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
        if not 0 < seconds <= self._longest:
            unit = parts[0][1]
            most = f"{self._longest / _UNITS[unit]:.10g}{unit}"
            self.fail(f"{value!r} must be above 0{unit} and at most {most}", param, ctx)
        return seconds


class PagesPerSecond(click.ParamType[int]):
    """A whole number of pages a second, inside bounds."""

    name = "pages/s"

    def __init__(self, lowest: int, highest: int) -> None:
        """Take the bounds, both allowed."""
        self._lowest, self._highest = lowest, highest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - click's signature
        """Return pages/s."""
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{value!r} must be a whole number of pages/s, such as 4000", param, ctx)
        if not self._lowest <= number <= self._highest:
            bounds = f"from {self._lowest} up to {self._highest:,} pages/s"
            self.fail(f"{value!r} must be {bounds}", param, ctx)
        return number


class Seeds(click.ParamType[tuple[str, int]]):
    """A number of seeds, for all scenarios or with a name and ``=`` in front for one."""

    name = "seeds"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, int]:
        """Return the scenario's name, empty for all, and the number."""
        name, named, number = str(value).rpartition("=")
        if (
            bool(named) is not bool(name.strip())
            or not number.isdecimal()
            or not 1 <= int(number) <= MOST_SEEDS
        ):
            self.fail(
                f"{value!r}: write a whole number from 1 to {MOST_SEEDS}, or one for a scenario: daily=5",
                param,
                ctx,
            )
        return name, int(number)


class CheckpointAge(click.ParamType[str]):
    """A checkpoint age such as 64MiB, 2G or 10%; handed on as it was typed, for the daemon knows S."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - click's signature
        """Return the text."""
        text = str(value).strip()
        if not re.fullmatch(PATTERN, text):
            self.fail(f"{value!r} is no age: write {EXPECTED}", param, ctx)
        return text
