"""The parts of the long proofs that look at the program: known vulnerabilities, and changes unnoticed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from lab.experiment.store import Ledger
from lab.prove import __main__ as command
from lab.prove import audit, hostile, mutants
from lab.prove.__main__ import main
from lab.prove.audit import Scan, Verdict, scan

LOCK = "one==1.0 \\\n    --hash=sha256:00\nTwo-x==2.1 \\\n    --hash=sha256:11\n"


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """Return a lock file with two packages."""
    path = tmp_path / "some.lock"
    path.write_text(LOCK)
    return path


def answer(*names: str, vulnerable: str = "", skipped: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what the tool says of some packages."""
    known = [{"id": "CVE-1", "fix_versions": ["1.1"]}]
    told: list[dict[str, Any]] = [
        {"name": name, "version": "1.0", "vulns": known if name == vulnerable else []} for name in names
    ]
    return {"dependencies": [*told, *({"name": name, "skip_reason": "not found"} for name in skipped)]}


def test_a_lock_with_an_answer_for_each_package_is_clean(lock: Path) -> None:
    """Every package was looked up, and nothing is known of any."""
    done = scan(lock, lambda _lock, _service: (answer("one", "two-x"), ""))

    assert (done.verdict, done.packages, done.looked_up, done.why) == (Verdict.CLEAN, 2, 2, "")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (({}, "pypi: name not resolved"), "name not resolved"),
        ((answer(skipped=("one", "two-x")), ""), "not found"),
        ((answer("one", skipped=("two-x",)), ""), "1 of 2 packages"),
        ((answer("one"), ""), "1 of 2 packages"),
        ((answer(), ""), "2 of 2 packages"),
    ],
)
def test_what_was_not_looked_up_is_no_pass(lock: Path, given: tuple[dict[str, Any], str], why: str) -> None:
    """No database, one without a package, or an answer that leaves one out, is a result of its own."""
    done = scan(lock, lambda _lock, _service: given)

    assert done.verdict is Verdict.UNKNOWN
    assert why in done.why


def test_a_known_vulnerability_is_named_whatever_else_is_unknown(lock: Path) -> None:
    """What is known counts, with the version without it, also where another package was not looked up."""
    done = scan(lock, lambda _lock, _service: (answer("one", vulnerable="one"), ""))

    assert done.verdict is Verdict.VULNERABLE
    assert done.found == ("one 1.0: CVE-1, gone in 1.1",)


def test_the_second_database_is_asked_for_what_the_first_has_not(lock: Path) -> None:
    """A package counts as looked up by whichever database has it."""
    of = {"pypi": answer("one", skipped=("two-x",)), "osv": answer("one", "two-x")}

    assert scan(lock, lambda _lock, service: (of[service], "")).verdict is Verdict.CLEAN


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ((Verdict.CLEAN, Verdict.CLEAN), 0),
        ((Verdict.CLEAN, Verdict.UNKNOWN), 3),
        ((Verdict.UNKNOWN, Verdict.CLEAN), 3),
        ((Verdict.VULNERABLE, Verdict.UNKNOWN), 1),
    ],
)
def test_the_exit_code_is_the_worst_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdicts: tuple[Verdict, Verdict], code: int
) -> None:
    """Only clean locks end well; vulnerabilities and unreached databases have codes of their own."""
    given = iter(verdicts)
    monkeypatch.setattr(audit, "scan", lambda lock: Scan(str(lock), next(given), 2, 1, why="no answer"))

    ended = CliRunner().invoke(main, ["--part", "audit", "--results", str(tmp_path)], prog_name="lab.prove")

    assert ended.exit_code == code, ended.output
    page = (tmp_path / audit.PAGE).read_text()
    assert all(f"**{one}**" in page for one in verdicts)


@pytest.mark.parametrize("part", ["hostile", "all"])
@pytest.mark.parametrize(
    ("well", "audited", "code"), [(True, 0, 0), (False, 0, 1), (False, 3, 1), (True, 3, 3)]
)
def test_a_breach_beside_a_hostile_server_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, audited: int, code: int, *, well: bool
) -> None:
    """Alone or among all parts, whatever the others come to, what was not as promised ends with 1."""
    for one in ("soak", "load", "mutants", "ablation"):
        monkeypatch.setattr(f"lab.prove.{one}.run", lambda *_given, **_named: 0)
    monkeypatch.setattr(command, "carried_out", lambda _words, **_named: (True, ""))
    monkeypatch.setattr(audit, "run", lambda _results: audited)
    monkeypatch.setattr(hostile, "run", lambda *_given, **_named: int(not well))
    ended = CliRunner().invoke(main, ["--part", part, "--results", str(tmp_path)], prog_name="lab.prove")

    assert ended.exit_code == (code if part == "all" else int(not well)), ended.output


def item(line: int, outcome: str | None) -> str:
    """Return a line of a session's dump."""
    change = {"start_pos": [line, 0], "operator_name": "core/NumberReplacer"}
    return json.dumps([{"mutations": [change]}, None if outcome is None else {"test_outcome": outcome}])


def test_a_change_that_no_test_notices_is_counted_and_named(tmp_path: Path) -> None:
    """The page has what was tried, what was noticed, and the lines of what was not."""
    tally = mutants.tallied([item(9, "survived"), item(7, "killed"), item(5, "survived"), item(3, None)])
    row = {"module": "some.py", "day": "2026-11-26", "tests": ["tests/test_some.py"], **tally._asdict()}
    Ledger(tmp_path / mutants.FILE).add(row)
    text = mutants.write(tmp_path).read_text()

    assert tally == (4, 3, ((5, "NumberReplacer"), (9, "NumberReplacer")))
    assert "| 3 of 4 |" in text
    assert "33.3%" in text
    assert "5 NumberReplacer; 9 NumberReplacer" in text


def test_every_module_and_its_tests_are_there() -> None:
    """Guards, gate, tokens and restore are tried, each by tests of its own."""
    modules = {target.module for target in mutants.TARGETS}

    assert modules >= {"tuner/core/writes/guards.py", "tuner/core/gate.py", "api/tokens.py", "tuner/park.py"}
    assert all(Path(name).is_file() for target in mutants.TARGETS for name in (target.module, *target.tests))


def test_a_finished_module_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same command goes on with what is left; another text of a module begins it anew."""
    tried: list[str] = []

    def carried_on(target: mutants.Target, _mark: str, _until: float) -> mutants.Tally:
        tried.append(target.module)
        return mutants.Tally(2, 2, ())

    monkeypatch.setattr(mutants, "_carried_on", carried_on)

    assert mutants.run(tmp_path) == mutants.run(tmp_path) == 0
    assert tried == [target.module for target in mutants.TARGETS]
    monkeypatch.setattr(mutants, "digest", lambda _target: "another")
    mutants.run(tmp_path)
    assert len(tried) == 2 * len(mutants.TARGETS)


def test_every_open_module_has_its_share_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module with many changes leaves time for the others, and what one does not need goes to the rest."""
    clock, shares = [0.0], []

    def carried_on(target: mutants.Target, _mark: str, until: float) -> mutants.Tally:
        shares.append(until - clock[0])
        clock[0] = until if target != mutants.TARGETS[0] else clock[0]
        return mutants.Tally(2, 2 if target == mutants.TARGETS[0] else 1, ())

    monkeypatch.setattr(mutants, "_carried_on", carried_on)
    monkeypatch.setattr(
        mutants,
        "time",
        SimpleNamespace(monotonic=lambda: clock[0], strftime=time.strftime, gmtime=time.gmtime),
    )
    many = len(mutants.TARGETS)
    for _ in range(2):
        mutants.run(tmp_path, minutes=1.0)

    assert shares[0] == pytest.approx(60.0 / many)
    assert shares[1:] == pytest.approx([60.0 / (many - 1)] * 2 * (many - 1))
