"""The one error that configuration raises."""

from __future__ import annotations

from collections.abc import Iterable


class ConfigError(Exception):
    """A configuration that cannot be used.

    Attributes:
        problems: one line each, naming the source, the value and what would be right; what a value has of
            line ends and other control characters is escaped.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple("".join(map(_seen, one)) for one in problems)
        super().__init__("\n".join(self.problems))


def _seen(one: str) -> str:
    """Return a character of a message, escaped where it would end the line or is not to be seen."""
    return one if one.isprintable() else one.encode("unicode_escape").decode()
