"""A bench that was interrupted goes on where it stopped, and with nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lab.bench import plan, store
from lab.bench.plan import Asked, Plan
from lab.bench.store import PlanError

HOLDING = """
import pathlib, sys
from lab.bench import store
with store.held(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def asked() -> Asked:
    """Return what a bench was asked for."""
    return Asked(name="mine", about="Mine.", seed=7, server="auto", plans=(Plan(),))


def test_what_was_asked_for_is_what_goes_on(tmp_path: Path, asked: Asked) -> None:
    """Suite, seed, server and finished rows are found again."""
    ledger = store.begin(tmp_path / "b", asked)
    ledger.add({"plan_hash": asked.suite.digest, "stage": "block"})
    again, kept = plan.go_on(tmp_path / "b")
    assert again == asked
    assert len(kept.rows) == 1


def test_a_directory_that_holds_a_bench_is_never_overwritten(tmp_path: Path, asked: Asked) -> None:
    """A second bench into the same place is refused, with both ways out."""
    store.begin(tmp_path, asked)
    with pytest.raises(PlanError, match=r"go on with --resume .* or name another --output"):
        store.begin(tmp_path, asked)


def test_a_row_that_was_cut_off_by_a_crash_is_measured_again(tmp_path: Path, asked: Asked) -> None:
    """Half a line at the end is no row, and the next row does not stick to it."""
    ledger = store.begin(tmp_path, asked)
    row = {"plan_hash": asked.suite.digest, "stage": "block"}
    ledger.add(row)
    with (tmp_path / store.ROWS).open("a", encoding="utf-8") as file:
        file.write('{"plan_hash": "')
    _asked, cut = plan.go_on(tmp_path)
    assert len(cut.rows) == 1
    cut.add(row)
    _asked, mended = plan.go_on(tmp_path)
    assert len(mended.rows) == 2


def test_rows_of_another_plan_are_refused(tmp_path: Path, asked: Asked) -> None:
    """What cannot be compared is not put into one table."""
    store.begin(tmp_path, asked).add({"plan_hash": "other"})
    with pytest.raises(PlanError, match="a row of another plan"):
        plan.go_on(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (store.ASKED, None, "no bench's directory"),
        (store.ASKED, '{"name": 3}', "name = 3: must be a text in quotes"),
        (store.ASKED, "{", "truncated"),
        (store.ROWS, "rubbish\n{}\n", "line 1: not JSON"),
        (store.ROWS, "[1]\n{}\n", "line 1: '\\[1\\]' is no row"),
    ],
)
def test_a_spoilt_directory_says_which_file_and_what(
    tmp_path: Path, asked: Asked, name: str, content: str | None, words: str
) -> None:
    """Nothing is run on files that are not understood."""
    store.begin(tmp_path, asked)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(PlanError, match=words):
        plan.go_on(tmp_path)


def test_a_bench_that_was_killed_keeps_nobody_out(tmp_path: Path, asked: Asked) -> None:
    """Its lock goes with its process; while that lives, the directory is its own."""
    store.begin(tmp_path, asked)
    holder = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", HOLDING, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(store.HeldError, match=f"process {holder.pid} "),
            store.held(tmp_path),
        ):
            pass
    finally:
        holder.kill()
        holder.communicate(timeout=10.0)
    with store.held(tmp_path):
        pass
