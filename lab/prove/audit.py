"""Known vulnerabilities in what the packages install and are built with, by the lock files.

Three results, and only one of them is good: none known, some known, and not looked up. The tool itself ends
well where its database has nothing on a package at all, as a mirror without one has on none. So each package
of a lock has to be named by an answer.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from lab.experiment.store import Ledger, read_rows
from lab.report.markdown import put, table

if TYPE_CHECKING:
    from collections.abc import Callable

LOCKS = (Path("deploy/requirements.lock"), Path("deploy/build.lock"))
SERVICES = ("pypi", "osv")
"""Databases, in the order in which they are asked for what the one before did not have."""

FILE, PAGE = "audit.jsonl", "audit.md"
LONGEST = 600.0
ANSWER_SECONDS = 15
ABOUT = (
    "Written by `make prove PART=audit`, nothing by hand: `pip-audit` on the lock files. "
    '"not looked up" is no good news: a database could not be reached, or had nothing on a package.'
)
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
_SHOWN = 200


class Verdict(StrEnum):
    """What came of a scan."""

    CLEAN = "none known"
    VULNERABLE = "some known"
    UNKNOWN = "not looked up"


EXITS = {Verdict.CLEAN: 0, Verdict.VULNERABLE: 1, Verdict.UNKNOWN: 3}
"""Exit code of each, as those of the commands: 1 the answer is no, 3 whom it asks is not reachable."""


class Scan(Struct, frozen=True):
    """A scan of one lock file.

    Attributes:
        lock: its path.
        verdict: what came of it.
        packages: pinned in it.
        looked_up: of these, those that a database had an answer for.
        found: a line for each vulnerability: package, version, name, and the versions without it.
        why: why not all could be looked up; empty where they were.
    """

    lock: str
    verdict: Verdict
    packages: int
    looked_up: int
    found: tuple[str, ...] = ()
    why: str = ""


Asked = dict[str, Any]


def ask(lock: Path, service: str) -> tuple[Asked, str]:
    """Return what a database says of a lock file's packages, and why it does not; never raises."""
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--requirement",
        str(lock),
        "--require-hashes",
        "--disable-pip",
    ]
    command += ["--vulnerability-service", service, "--format", "json", "--progress-spinner", "off"]
    command += ["--timeout", str(ANSWER_SECONDS)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return {}, f"{service} gave no answer within {LONGEST:.0f} s"
    try:
        found: Asked = json.loads(ended.stdout)
    except ValueError:
        last = (ended.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return {}, f"{service}: {last[:_SHOWN]}"
    return found, ""


def scan(lock: Path, asking: Callable[[Path, str], tuple[Asked, str]] = ask) -> Scan:
    """Ask the databases, one after the other, until each package has an answer."""
    pins = {name.lower(): version for name, version in _PIN.findall(lock.read_text(encoding="utf-8"))}
    looked_up: set[str] = set()
    found: dict[str, None] = {}
    reasons: list[str] = []
    for service in SERVICES:
        answer, why = asking(lock, service)
        skipped = ""
        for one in answer.get("dependencies", ()):
            if "skip_reason" in one:
                skipped = skipped or f"{service}: {one['skip_reason']}"
                continue
            looked_up.add(one["name"].lower())
            found |= dict.fromkeys(_lines(one))
        reasons += [reason for reason in (why, skipped) if reason]
        if looked_up >= pins.keys():
            break
    missing = sorted(pins.keys() - looked_up)
    verdict = Verdict.VULNERABLE if found else Verdict.UNKNOWN if missing else Verdict.CLEAN
    why = f"{len(missing)} of {len(pins)} packages: {'; '.join(reasons)}" if missing else ""
    return Scan(str(lock), verdict, len(pins), len(pins) - len(missing), tuple(found), why)


def run(results: Path) -> int:
    """Scan every lock file, note it, and return the exit code of the worst result."""
    ledger = Ledger(results / FILE)
    worst = 0
    for lock in LOCKS:
        done = scan(lock)
        row = {name: getattr(done, name) for name in done.__struct_fields__}
        digest = hashlib.sha256(lock.read_bytes()).hexdigest()
        ledger.add({**row, "sha256": digest, "day": time.strftime("%Y-%m-%d", time.gmtime())})
        print(f"{done.lock}: {done.verdict}{f' ({done.why})' if done.why else ''}")
        for line in done.found:
            print(f"  {line}")
        worst = max(worst, EXITS[done.verdict], key=(0, 3, 1).index)
    return worst


def write(directory: Path) -> Path:
    """Write the page from the rows and return its path; of each lock the newest counts."""
    newest = {row["lock"]: row for row in read_rows(directory / FILE)}
    body = [
        [
            f"`{row['lock']}` ({row['sha256'][:12]})",
            row["day"],
            f"**{row['verdict']}**",
            f"{row['looked_up']} of {row['packages']}",
            row["why"] or "-",
        ]
        for row in newest.values()
    ]
    known = [f"- {line}" for row in newest.values() for line in row["found"]]
    return put(
        directory / PAGE,
        [
            "# Known vulnerabilities in what is installed",
            ABOUT,
            table(["lock", "asked on", "result", "packages looked up", "why not all"], body)
            if body
            else "Not run yet: `make prove PART=audit`.",
            "\n".join(known),
        ],
    )


def _lines(one: dict[str, Any]) -> list[str]:
    return [
        f"{one['name']} {one['version']}: {known['id']}, {_gone(known)}" for known in one.get("vulns", ())
    ]


def _gone(known: dict[str, Any]) -> str:
    versions = ", ".join(known.get("fix_versions") or ())
    return f"gone in {versions}" if versions else "in every version"
