"""Known vulnerabilities in what the packages install and are built with, by the lock files.

The tool itself ends well where its database has nothing on a package at all, as a mirror without one has on
none. So each package of a lock has to be named by an answer: none known, some known, or not looked up.
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
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.experiment.store import Ledger, read_rows
from lab.report.markdown import bullets, put, table

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


class Verdict(StrEnum):
    """What came of a scan."""

    CLEAN = "none known"
    VULNERABLE = "some known"
    UNKNOWN = "not looked up"


EXITS = {Verdict.CLEAN: 0, Verdict.UNKNOWN: 3, Verdict.VULNERABLE: 1}
"""Exit code of each, the worst last; as those of the commands: 1 the answer is no, 3 nobody was reachable."""


class Scan(NamedTuple):
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
    words = f"--requirement {lock} --require-hashes --disable-pip --vulnerability-service {service}"
    words += f" --format json --progress-spinner off --timeout {ANSWER_SECONDS}"
    command = [sys.executable, "-m", "pip_audit", *words.split()]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST)
        found: Asked = json.loads(ended.stdout)
    except subprocess.TimeoutExpired:
        return {}, f"{service} gave no answer within {LONGEST:.0f} s"
    except ValueError:
        return {}, f"{service}: {(ended.stderr.strip().splitlines() or ['it said nothing'])[-1][:200]}"
    return found, ""


def scan(lock: Path, asking: Callable[[Path, str], tuple[Asked, str]] = ask) -> Scan:
    """Ask the databases, one after the other, until each package has an answer."""
    pins = {name.lower() for name, _ in _PIN.findall(lock.read_text(encoding="utf-8"))}
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
            for known in one.get("vulns", ()):
                versions = ", ".join(known.get("fix_versions") or ())
                gone = f"gone in {versions}" if versions else "in every version"
                found[f"{one['name']} {one['version']}: {known['id']}, {gone}"] = None
        reasons += [reason for reason in (why, skipped) if reason]
        if looked_up >= pins:
            break
    missing = pins - looked_up
    verdict = Verdict.VULNERABLE if found else Verdict.UNKNOWN if missing else Verdict.CLEAN
    why = f"{len(missing)} of {len(pins)} packages: {'; '.join(reasons)}" if missing else ""
    return Scan(str(lock), verdict, len(pins), len(pins) - len(missing), tuple(found), why)


def run(results: Path) -> int:
    """Scan every lock file, note it, and return the exit code of the worst result."""
    ledger = Ledger(results / FILE)
    verdicts: list[Verdict] = []
    for lock in LOCKS:
        done = scan(lock)
        digest = hashlib.sha256(lock.read_bytes()).hexdigest()
        ledger.add({**done._asdict(), "sha256": digest, "day": time.strftime("%Y-%m-%d", time.gmtime())})
        print(f"{done.lock}: {done.verdict}{f' ({done.why})' if done.why else ''}", *done.found, sep="\n  ")
        verdicts.append(done.verdict)
    return EXITS[max(verdicts, key=list(EXITS).index)]


def write(directory: Path) -> Path:
    """Write the page from the rows and return its path; of each lock the newest counts."""
    newest = {row["lock"]: row for row in read_rows(directory / FILE)}.values()
    body = [
        [
            f"`{row['lock']}` ({row['sha256'][:12]})",
            row["day"],
            f"**{row['verdict']}**",
            f"{row['looked_up']} of {row['packages']}",
            row["why"] or "-",
        ]
        for row in newest
    ]
    head = ["lock", "asked on", "result", "packages looked up", "why not all"]
    parts = ["# Known vulnerabilities in what is installed", ABOUT]
    parts.append(table(head, body) if body else "Not run yet: `make prove PART=audit`.")
    return put(directory / PAGE, [*parts, bullets(line for row in newest for line in row["found"])])
