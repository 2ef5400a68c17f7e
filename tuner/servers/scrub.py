"""What of a server's answers is kept in a file that may leave the house: what is recognised, nothing else.

Whoever writes to a server may put any text into statements, names and accounts, and some of it into status
variables. So nothing is cut out of a text: a value is a number, a word or a phrase that a server is known to
say, or it is not kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from tuner.servers.enginestatus import log_section

HIDDEN: Mapping[str, str] = {
    "hostname": "scrubbed",
    "port": "3306",
    "datadir": "/scrubbed/",
    "server_uuid": "00000000-0000-0000-0000-000000000000",
}
"""Variables that are replaced whatever they say."""

RECOGNISED = "/rdsdbbin/"
"""What ``basedir`` begins with on a managed server; the rest of it goes."""

INSTEAD = "scrubbed"

ALWAYS = (
    "account and address of the connection",
    "of the grants all but the known privileges on *.*",
    "of SHOW ENGINE INNODB STATUS all but the numbers of its LOG section",
    "the words of error messages",
)
"""What never gets as far as this."""

_NUMBER = re.compile(r"-?\d{1,20}(\.\d{1,20})?|\d{1,3}\.\d{1,3}\.\d{1,3}", re.ASCII)
"""A number, or a release."""

_PHRASE = re.compile(
    r"|(?i:on|off|yes|no|ok|off_permissive|on_permissive|connecting|enabled|disabled|primary|secondary)"
    r"|legacy|high_checkpoint"
    r"|not started|(Dumping|Loading) of buffer pool not started"
    r"|Buffer pool\(s\) (load|dump) (not started|completed at \d{6} [ \d]\d:\d\d:\d\d)"
    r"|Loaded \d{1,20}/\d{1,20} pages|Completed resizing buffer pool at \d{6} [ \d]\d:\d\d:\d\d\."
    r"|(Dumping|Loading) buffer pool\(s\)",
    re.ASCII,
)
"""What a server says of a state: the values in the files beside the tests, and the words in their source."""

_BEGINNING = re.compile(r"(Cannot open|Dumping buffer pool\(s\) to|Loading buffer pool\(s\) from) (?=.)")
"""What may come before a path, which goes."""

_METRIC = re.compile(
    r"(adaptive|buffer|compress|compression|cpu|dblwr|ddl|dml|file|ibuf|icp|index|innodb|latch|lock|log"
    r"|metadata|module|os|page|purge|sampled|trx|undo)_[A-Za-z0-9_]{1,60}",
    re.ASCII,
)
"""InnoDB's counters, by the subsystem of each (``innodb_counter_info`` in srv/srv0mon.cc)."""

_STATUS = re.compile(r"(Innodb|Handler|Com|Slave|Slaves)_[A-Za-z0-9_]{1,60}|Uptime", re.ASCII)

_BUILD = re.compile(
    r"MySQL|Community|Enterprise|Commercial|Server|Edition|-|--|\(?GPL\)?,?|Percona|XtraDB|Cluster|Release"
    r"|Revision|WSREP|Source|binary|distribution|\(?Debian\)?|\(?Ubuntu\)?|\(?Google\)?|MariaDB|mariadb\.org"
    r"|Homebrew|Fedora|Alpine|Linux|Cloud|Azure|\d{1,4}(\.\d{1,4}){0,3},?"
)
"""Words of ``version_comment`` by which builds are known."""

_COMMENT = re.compile(
    r"-- Please help get to \d{1,3}k stars at https://github\.com/MariaDB/Server"
    r"|managed by https://aws\.amazon\.com/rds/"
)
"""The whole of it in some builds of MariaDB."""

_REVISION = re.compile(r"[0-9a-f]{5,12}")

_RELEASE = re.compile(r"(\d{1,3}(?:\.\d{1,3}){1,3})(.*?)( from Debian)?", re.ASCII | re.DOTALL)
_SUFFIX = re.compile(
    r"MariaDB|Percona|log|debug|valgrind|asan|enterprise|commercial|community|cloud|google|aurora|cluster|wsrep|azure"
    r"|u\d{1,2}|\d{1,4}(\.\d{1,4})?|0\+deb\d{1,2}u\d{1,3}|\d?ubuntu\d[\d.]{0,12}|maria~\w{2,12}|beta|rc|alpha|gamma"
)
"""Parts of ``version`` behind the release; an operator may put any other there in my.cnf."""

_LOG_LINES = re.compile(
    r"(Log sequence number|Log buffer (assigned|completed) up to|Log (written|flushed) up to"
    r"|Added dirty pages up to|Pages flushed up to|Last checkpoint at|Log (minimum|maximum) file id is"
    r"|Log capacity|Log capacity used|Max checkpoint age|Checkpoint age target|Modified age|Checkpoint age"
    r"|Modified age no less than|Log tracking enabled|Log tracked up to|Max tracked LSN age) *\d{1,20}"
    r"|\d{1,20} pending log (writes|flushes), \d{1,20} pending chkp writes"
    r"|\d{1,20} log i/o's done, \d{1,20}(\.\d{1,4})? log i/o's/second",
    re.ASCII,
)
"""``log_print`` in log/log0log.cc of each version."""

_GRANT = re.compile(r"GRANT ([A-Z_, ]+) ON \*\.\* TO ")

PRIVILEGES = frozenset({"ALL PRIVILEGES", "PROCESS", "SELECT", "SUPER", "SYSTEM_VARIABLES_ADMIN"})
"""Those that decide anything here; a component may bring others along, and name them as it likes."""


class Scrubber:
    """Keeps what is recognised, and remembers what was not."""

    def __init__(self) -> None:
        self._found: dict[str, None] = dict.fromkeys(ALWAYS)

    @property
    def found(self) -> tuple[str, ...]:
        """Return what was taken out."""
        return tuple(self._found)

    def variables(self, values: Mapping[str, str], asked: Collection[str]) -> dict[str, str]:
        """Return the variables that were asked for, without what tells one server from all others.

        Of version and comment stays what tells the family.
        """
        kept: dict[str, str] = {}
        for name in asked:
            if name not in values:
                continue
            value = values[name]
            if name in HIDDEN:
                kept[name] = HIDDEN[name]
            elif name == "basedir":
                kept[name] = RECOGNISED if value.startswith(RECOGNISED) else "/scrubbed/"
            elif name == "version":
                kept[name] = _release(value)
            elif name == "version_comment":
                kept[name] = _comment(value)
            else:
                kept[name] = self.text(value, name)
            if kept[name] != value:
                self._found[name] = None
        return kept

    def status(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return status variables by name; the redo log's identity goes, and what has no known name."""
        return {
            name: "0" if name.endswith("_uuid") else self.text(value, name)
            for name, value in values.items()
            if self._known(_STATUS, name, "status variables")
        }

    def metrics(self, rows: Iterable[Sequence[str | None]]) -> dict[str, tuple[str, str]]:
        """Return InnoDB's counters by name: what the server says of whether each is on, and its count."""
        kept: dict[str, tuple[str, str]] = {}
        for name, state, count, *_ in (tuple(row) + (None,) * 3 for row in rows):
            if name is not None and self._known(_METRIC, name, "counters"):
                kept[name] = (self.text(state or "", "counters"), self.text(count or "", "counters"))
        return kept

    def rows(
        self, rows: Iterable[Sequence[str | None]], where: str, names: Collection[str] = ()
    ) -> tuple[tuple[str | None, ...], ...]:
        """Return an answer's rows: numbers, known words, and those names that the statement itself has."""
        return tuple(
            tuple(one if one is None or one in names else self.text(one, where) for one in row)
            for row in rows
        )

    def text(self, value: str, where: str) -> str:
        """Return a value where it is a number or a phrase that servers are known to say."""
        if _NUMBER.fullmatch(value) or _PHRASE.fullmatch(value):
            return value
        self._found[f"unknown words in {where}"] = None
        known = _BEGINNING.match(value)
        return INSTEAD if known is None else f"{known[1]} {INSTEAD}"

    def engine_log(self, status: str) -> str:
        """Return the known lines of the LOG section; empty without one, or where it cannot be told."""
        try:
            section = log_section(status)
        except ValueError:
            return ""
        return "".join(f"{line}\n" for line in section if _LOG_LINES.fullmatch(line))

    def _known(self, shape: re.Pattern[str], name: str, where: str) -> bool:
        if shape.fullmatch(name):
            return True
        self._found[f"unknown names among the {where}"] = None
        return False


def privileges(grants: Iterable[str]) -> tuple[str, ...]:
    """Return the privileges on all databases that SHOW GRANTS tells of, and nothing else of it."""
    found = (_GRANT.match(grant) for grant in grants)
    names = {name.strip() for match in found if match is not None for name in match[1].split(",")}
    return tuple(sorted(names & PRIVILEGES))


def _release(value: str) -> str:
    """Return a version without the parts that no build has."""
    found = _RELEASE.fullmatch(value)
    if found is None:
        return INSTEAD
    parts = [part for part in found[2].split("-")[1:] if _SUFFIX.fullmatch(part)]
    return "-".join([found[1], *parts]) + (found[3] or "")


def _comment(value: str) -> str:
    """Return a build's comment, each of its words that no build is known to have replaced."""
    if _COMMENT.fullmatch(value):
        return value
    words = value.split(" ")
    return " ".join(
        word if _BUILD.fullmatch(word) or (before == "Revision" and _REVISION.fullmatch(word)) else INSTEAD
        for before, word in zip(["", *words], words, strict=False)
    )
