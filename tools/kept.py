"""What docs/results/bench keeps: rows, of which comparison they are, and how old they are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from lab.bench import store
from lab.bench.plan import Suite, changed
from lab.bench.revision import said
from lab.report.rows import ReportError, Row, read_rows
from lab.servers.made import is_name, name_of

ROOT = Path(__file__).parents[1]
BENCH = ROOT / "docs/results/bench"
DECIDING = tuple(f"tests/golden/runs/{kind}-*" for kind in ("scenario", "server", "policy"))
"""What the loop decides in runs that are kept: rows of before the newest change of one are older than the
policy in force. A change of its code or its words that changes no decision makes no row older."""

UNTOUCHED, OURS = "default", "ours"
FIRST, FIRST_ENDS = (UNTOUCHED, OURS), "-first"
"""Contenders of what is measured without best static, whose search takes longer than all of their rows; and
how the names of its directories end."""

SPLITTING = ("write_only", "update_index", "read_write")
"""Loads that change an index which was built at once; see ``FILL_FACTOR`` of ``lab.workloads.sysbench``."""

Since = Callable[[str], int | None]
"""Says how many changes of the policy are younger than a revision; None where that is no commit."""


def without_best(suite: Suite) -> Suite:
    """Return a suite with the contenders of ``FIRST`` alone."""
    return changed(suite, [f"contenders={','.join(FIRST)}"])


class Comparison(NamedTuple):
    """One server under one load.

    Attributes:
        suite: its name.
        server: a name of ``make servers``; where it is none of them, what the bench was asked for.
        variant: of the suite; empty where it has none.
    """

    suite: str
    server: str
    variant: str

    def __str__(self) -> str:
        return ", ".join(word for word in self if word)


class Kept(NamedTuple):
    """One directory of a bench.

    Attributes:
        directory: where.
        suite: its name.
        server: as in ``Comparison``.
        variants: what it was asked for.
        asked: the same, as it stands in its file.
        rows: what is finished.
    """

    directory: Path
    suite: str
    server: str
    variants: tuple[str, ...]
    asked: store.Row
    rows: list[Row]

    def of(self, variant: str) -> list[Row]:
        """Return the rows of one variant."""
        return [row for row in self.rows if row.variant == variant]

    def comparison(self, variant: str) -> Comparison:
        """Return what its rows of one variant are of."""
        return Comparison(self.suite, self.server, variant)


def all_kept(place: Path) -> list[Kept]:
    """Return what lies in a place, by the names of the directories.

    Raises:
        ReportError: one of their files cannot be read, or is something else; the message names it.
    """
    return [_kept(path) for path in sorted(place.glob(f"*/{store.ASKED}"))]


def _kept(path: Path) -> Kept:
    try:
        asked = msgspec.json.decode(path.read_bytes())
        suite, server = str(asked["name"]), str(asked["server"])
        variants = tuple(str(plan.get("variant", "")) for plan in asked["plans"])
    except OSError as error:
        raise ReportError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReportError(f"{path}: no JSON: {error}") from error
    except (TypeError, KeyError, AttributeError) as error:
        raise ReportError(f"{path}: not what innobrim bench was asked for: name, server and plans") from error
    parts = (name_of(server), *Path(server).parts)
    name = next((part for part in parts if is_name(part)), server)
    rows = path.with_name(store.ROWS)
    finished = rows.exists() and b"\n" in rows.read_bytes()
    return Kept(path.parent, suite, name, variants, asked, read_rows(rows) if finished else [])


def in_force() -> str:
    """Return the newest commit that changed the policy.

    Raises:
        ClickException: the whole history, by which rows have their age, is not there.
    """
    asked = ("-1", "--no-merges", "--diff-filter=M", "--format=%h", "--abbrev=10")
    commit = said(ROOT, "log", *asked, "--", *DECIDING)
    if not commit or not is_whole():
        raise click.ClickException(
            f"{ROOT} has no whole history, by which rows have their age:"
            " git fetch --unshallow gets it; a download without .git has none"
        )
    return commit


def is_whole() -> bool:
    """Tell whether the history is there and goes back to its beginning."""
    return said(ROOT, "rev-parse", "--is-shallow-repository") == "false"


def changes_since(commit: str) -> Since:
    """Return what counts the changes of the policy, up to a commit, that are younger than a revision."""

    @functools.cache
    def since(revision: str) -> int | None:
        if not revision or revision.endswith("-dirty"):
            return None
        span = f"{revision}..{commit}"
        if not said(ROOT, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"):
            return None
        asked = ("--no-merges", "--diff-filter=M", "--format=%h", span)
        found = said(ROOT, "log", *asked, "--", *DECIDING)
        if found is None:
            raise ReportError(f"git does not say what changed in {span}")
        return len(found.split())

    return since


def age_of(rows: Sequence[Row], since: Since) -> int | None:
    """Return how many changes of the policy are younger than the oldest of some rows; 0 of none.

    None is of a row that no commit made.
    """
    found = [since(revision) for revision in dict.fromkeys(row.revision for row in rows)]
    known = [age for age in found if age is not None]
    return max(known, default=0) if len(known) == len(found) else None


def worn(row: Row) -> bool:
    """Return whether a row's indexes were filled as they are after long use, where its load splits them."""
    kind = row.conditions.get("load", {}).get("kind")
    return kind not in SPLITTING or "fill_factor" in row.conditions
