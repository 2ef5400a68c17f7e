"""What is taken out of a server's answers before they are kept in a file that may leave the house."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

HIDDEN: Mapping[str, str] = {
    "hostname": "scrubbed",
    "port": "3306",
    "datadir": "/scrubbed/",
    "server_uuid": "00000000-0000-0000-0000-000000000000",
}
"""Variables that are replaced whatever they say."""

RECOGNISED = "/rdsdbbin/"
"""What ``basedir`` begins with on a managed server; the rest of it goes."""

ALWAYS = (
    "account and address of the connection",
    "of the grants all but the privileges on *.*",
    "of SHOW ENGINE INNODB STATUS all but its LOG section",
    "the words of error messages",
)
"""What never gets as far as this."""

_SHAPES = (
    ("a path", re.compile(r"(?<![\w/])([A-Z]:)?[/\\][^\n'\"`]*", re.IGNORECASE), "/scrubbed"),
    (
        "a UUID",
        re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE),
        HIDDEN["server_uuid"],
    ),
    ("an address", re.compile(r"\b\d{1,3}(\.\d{1,3}){3}\b"), "0.0.0.0"),  # noqa: S104 - nothing is bound
    ("an address", re.compile(r"\b[0-9a-f]{0,4}(:[0-9a-f]{0,4}){3,7}\b", re.IGNORECASE), "::"),
    ("an account", re.compile(r"\S+@\S+"), "scrubbed"),
)
"""A path ends with its quotes or its line, as names of directories may have spaces."""

_LOG_SECTION = re.compile(r"^LOG\n-+\n(.*?)(?=^-{4,}$)", re.MULTILINE | re.DOTALL)
_GRANT = re.compile(r"GRANT ([A-Z_, ]+) ON \*\.\* TO ")


class Scrubber:
    """Takes out names and addresses, and remembers where there were some."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        """Take words that are taken out wherever they come up, such as the host's name."""
        known = sorted({word for word in words if word}, key=len, reverse=True)
        self._words = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, known))})(?!\w)") if known else None
        self._found: dict[str, None] = dict.fromkeys(ALWAYS)

    @property
    def found(self) -> tuple[str, ...]:
        """Return what was taken out."""
        return tuple(self._found)

    def variables(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return variables by name, without what tells one server from all others.

        Version and comment stay as they are: they tell the family.
        """
        kept: dict[str, str] = {}
        for name, value in values.items():
            if name in HIDDEN:
                kept[name] = HIDDEN[name]
            elif name == "basedir":
                kept[name] = RECOGNISED if value.startswith(RECOGNISED) else "/scrubbed/"
            elif name in {"version", "version_comment"}:
                kept[name] = value
            else:
                kept[name] = self.text(value, name)
            if kept[name] != value:
                self._found[name] = None
        return kept

    def status(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return status variables by name; the redo log's identity goes."""
        return {
            name: "0" if name.endswith("_uuid") else self.text(value, name) for name, value in values.items()
        }

    def text(self, value: str, where: str) -> str:
        """Return a value without paths, addresses, accounts and the words given."""
        if value.replace(".", "", 1).isdigit():
            return value
        for what, shape, instead in _SHAPES:
            kept = shape.sub(instead, value)
            if kept != value:
                self._found[f"{what} in {where}"] = None
            value = kept
        if self._words is None:
            return value
        kept = self._words.sub("scrubbed", value)
        if kept != value:
            self._found[f"a name in {where}"] = None
        return kept

    def engine_log(self, status: str) -> str:
        """Return the LOG section alone; empty without one."""
        found = _LOG_SECTION.search(status)
        return "" if found is None else self.text(found[1], "the LOG section").rstrip("-\n") + "\n"


def privileges(grants: Iterable[str]) -> tuple[str, ...]:
    """Return the privileges on all databases that SHOW GRANTS tells of, and nothing else of it."""
    found = (_GRANT.match(grant) for grant in grants)
    names = {name.strip() for match in found if match is not None for name in match[1].split(",")}
    return tuple(sorted(names))
