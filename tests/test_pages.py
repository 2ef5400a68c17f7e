"""The pages for people: links lead somewhere, nothing is said twice, what is named is there."""

from __future__ import annotations

import ast
import re
import shlex
from functools import cache
from itertools import combinations
from pathlib import Path

import click
import pytest

from tests.reader import USERS
from tuner.cli.main import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    [*(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")), *DOCS.rglob("*.md")]
)

TYPED = (
    "faq.md",
    "first-hour.md",
    "fleet.md",
    "guide.md",
    "hooks.md",
    "hosted.md",
    "install.md",
    "kubernetes.md",
    "runbook.md",
    "security-model.md",
    "topologies.md",
    "upgrade.md",
)
"""Pages whose commands are typed as they stand there."""

MOST_WORDS = 30_000
README_LINES = 90
LONG = 25
"""Words from which on a paragraph is looked for elsewhere."""

SHARED = 0.6
"""Share of a paragraph's runs of three words in a copy: of 25 words with three changed, 14 of 23 stay."""

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^[ \t]*```.*?^[ \t]*```", re.DOTALL | re.MULTILINE)
_GENERATED = re.compile(r"<!-- generated.*?<!-- end -->", re.DOTALL)
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=[-*|] |\d+\. )")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_COMMAND = re.compile(r"(?:^|[ /`])innobrim (?!innobrim)([a-z][^\n`|>#;]*)")
_TEST = re.compile(r"(tests/\S+?\.py)(?:::(test_\w+))?")


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page, made of its headings as on GitHub."""
    found: list[str] = []
    for heading in _HEADING.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return frozenset(found)


@cache
def named_in(path: str) -> frozenset[str]:
    """Return the names of the functions in a file of tests."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def broken(page: Path) -> list[str]:
    """Return the links of a page to files of ours that lead nowhere."""
    found = []
    for link in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        path, _, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:"):
            continue
        target = (page.parent / path).resolve() if path else page
        lost = anchor and target.suffix == ".md" and target.exists() and anchor not in anchors(target)
        if not target.exists() or lost:
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    """A link between our own pages names a file that is there, and a heading that it has."""
    assert broken(page) == []


def test_every_page_can_be_found() -> None:
    """The index or the README leads to every page but the decisions, which have a folder."""
    indexes = (DOCS / "README.md", ROOT / "README.md")
    linked = {
        (index.parent / link.partition("#")[0]).resolve()
        for index in indexes
        for link in _LINK.findall(index.read_text(encoding="utf-8"))
    }
    pages = {*DOCS.glob("*.md"), *DOCS.glob("results/**/*.md")}

    assert {str(page.relative_to(DOCS)) for page in pages - linked} == set()


def prose(page: Path) -> str:
    """Return a page without its fenced blocks and the targets of its links."""
    return re.sub(r"\]\([^)]*\)", "]", _FENCE.sub("\n\n", page.read_text(encoding="utf-8")))


def test_a_user_has_no_book_to_read() -> None:
    """All pages for users together have at most 30,000 words, commands and what they print left out."""
    words = sum(bool(re.search(r"\w", word)) for page in USERS for word in prose(page).split())

    assert words <= MOST_WORDS


def test_the_readme_is_one_screen() -> None:
    """Whoever comes sees in 90 lines what it is for."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= README_LINES


def runs(page: Path) -> list[tuple[str, frozenset[tuple[str, ...]]]]:
    """Return the long paragraphs of a page, each with all runs of three words in it."""
    found = []
    for paragraph in _PARAGRAPH.split(_GENERATED.sub("", prose(page))):
        words = re.findall(r"\w+", paragraph.lower())
        if len(words) >= LONG:
            said = f"{page.name}: {' '.join(words[:12])} …"
            found.append((said, frozenset(zip(words, words[1:], words[2:], strict=False))))
    return found


def test_nothing_is_said_on_two_pages() -> None:
    """No paragraph stands on two of these pages, not even with a few words changed."""
    pages = [runs(page) for page in USERS]
    twice = [
        f"{one} = {other}"
        for first, second in combinations(pages, 2)
        for one, these in first
        for other, those in second
        if len(these & those) >= SHARED * min(len(these), len(those))
    ]

    assert twice == []


def _within(command: click.Command, words: list[str]) -> click.Command:
    """Return the command of a group that is meant, where it is a group and one is."""
    if not isinstance(command, click.Group) or not words:
        return command
    found = command.get_command(click.Context(command), words[0])
    assert found is not None, f"innobrim {command.name} {words[0]}"
    return found


@pytest.mark.parametrize("name", TYPED)
def test_commands_to_type_are_commands(name: str) -> None:
    """Each innobrim command of these pages is there, and has the options that it is given."""
    commands = [found.strip() for found in _COMMAND.findall((DOCS / name).read_text(encoding="utf-8"))]
    assert commands
    for typed in commands:
        word, *rest = shlex.split(typed)
        command = cli.get_command(click.Context(cli), word)
        assert command is not None, f"innobrim {typed}"
        known = {
            option
            for one in (command, _within(command, rest))
            for parameter in one.params
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        given = {one for one in rest if one.startswith("--")}
        assert given <= known, f"innobrim {typed}: no option {given - known}"


def test_each_promise_has_its_test() -> None:
    """Each line of what InnoBrim never does names a test, and every test that the page names is there."""
    page = (DOCS / "never.md").read_text(encoding="utf-8")
    promises = [line for line in page.splitlines() if line.startswith("| ") and "it never" not in line]
    named = _TEST.findall(page)

    assert promises
    assert [line for line in promises if not _TEST.search(line)] == []
    assert [one for one in named if one[1] not in {"", *named_in(one[0])}] == []
