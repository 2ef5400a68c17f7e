"""A row says which code measured it, and never somebody else's."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab.bench.revision import revision


def git(root: Path, *words: str) -> None:
    """Run git as nobody in particular."""
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)  # noqa: S603, S607 - in a test's own directory


def test_a_checkout_is_named_by_its_commit_and_by_changes_to_the_code_alone(tmp_path: Path) -> None:
    """Rows that a bench adds to a published file do not make the code that measured them another one."""
    (tmp_path / "lab").mkdir()
    for name in ("lab/code.py", "rows.jsonl"):
        (tmp_path / name).write_text("first\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    clean = revision(tmp_path)

    (tmp_path / "rows.jsonl").write_text("second\n")
    assert len(clean) == 10
    assert revision(tmp_path) == clean
    (tmp_path / "lab/code.py").write_text("second\n")
    assert revision(tmp_path) == f"{clean}-dirty"


def test_an_installed_program_has_no_revision(tmp_path: Path) -> None:
    """A repository that it happens to be installed in is not its own."""
    git(tmp_path, "init", "-q")
    inside = tmp_path / "site-packages"
    inside.mkdir()

    assert revision(inside) == ""
