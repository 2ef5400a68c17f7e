"""The one error that configuration raises."""

from __future__ import annotations

from collections.abc import Iterable


class ConfigError(Exception):
    """A configuration that cannot be used.

    Attributes:
        problems: one line each, naming the source, the value and what would be right.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))
