"""How every command says that it did not do what was asked, and that others' words steer no terminal."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.api.factory import FACTS, AnsweringLoop, record
from tests.cli.support import FakeServer, Run, ended, innobrim
from tests.lab.simulating import scenario_file
from tuner.cli import advise as advise_command
from tuner.cli import check as check_command
from tuner.cli import run as run_command
from tuner.records import Hold, HoldCode
from tuner.servers.port import ServerError, Unsupported

CLEARS = "\x1b[2J\x9b31m\x07"
FORGED = "no reason\nmode          active; running"
BROKEN = (
    "needs scikit-optimize, which is installed and cannot be imported: ImportError: numpy.core.multiarray "
    "failed to import; pip install '.[bayes]', with --force-reinstall where that changes nothing"
)


def harmless(text: str) -> bool:
    """Tell whether no line of it has anything that a terminal obeys."""
    return all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize(
    "words",
    [
        "status",
        "restore --nonsense",
        "override --cancel --ttl 10m",
        "check --port 0",
        "replay nowhere",
        "simulate --scenario nope",
        "chek",
        "--nonsense",
    ],
)
def test_every_error_has_the_programs_name(folder: Path, words: str) -> None:
    """Whatever is wrong, the line that says so begins the same way, also among others in a log."""
    result = innobrim(*words.split(), INNOBRIM_DAEMON_STATE_DIRECTORY=str(folder))

    assert result.exit_code in {2, 3}
    assert result.stderr.splitlines()[-1].startswith("innobrim: ")
    assert "Error:" not in result.stderr


@pytest.mark.parametrize("name", ["status", "check"])
def test_every_problem_has_the_programs_name(name: str) -> None:
    """Two mistakes in the configuration are two lines, each with the name."""
    result = innobrim(name, INNOBRIM_SERVER_PORT="0", INNOBRIM_API_PORT="-1")

    assert result.exit_code == 2
    assert [line.partition(" ")[0] for line in result.stderr.splitlines()] == ["innobrim:"] * 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("chek", "innobrim: chek: no such command; did you mean check?"),
        ("tune", "innobrim: tune: no such command; there are advise, bench, check, "),
        ("schedule --days 1.5", "'--days': '1.5' must be a whole number from 1 to 366"),
        ("schedule --days 367", "'--days': '367' must be a whole number from 1 to 366"),
        ("simulate --seed x", "'--seed': 'x' must be a whole number from 0"),
        ("demo --port 70000", "'--port': '70000' must be a whole number from 1 to 65,535"),
        (
            "simulate steady-1200iops",
            "a scenario is named by --scenario steady-1200iops",
        ),
        ("run --mode active", "innobrim: --mode active: say --active or --advisory"),
        ("bench --seed -1", "'--seed': '-1' must be a whole number from 0"),
    ],
)
def test_what_is_refused_comes_with_what_is_right(words: str, said: str) -> None:
    """A misspelt command gets the nearest one, or all there are; a number gets its bounds."""
    ended(innobrim(*words.split()), 2, said)


def test_help_without_a_command_is_no_error() -> None:
    """The bare name shows what there is."""
    output = innobrim().output

    assert "Commands:" in output
    assert "innobrim: " not in output


@pytest.mark.parametrize("env", [{}, {"INNOBRIM_SERVER_PORT": "0"}], ids=["no server", "wrong configuration"])
def test_advice_that_cannot_be_given_is_json_too(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str]
) -> None:
    """With --json advise prints an object with the reason also where it fails, as status does."""
    monkeypatch.setattr(advise_command, "real_server", lambda *_: FakeServer(None))
    result = innobrim("advise", "--json", **env)

    assert result.exit_code == (2 if env else 3)
    assert json.loads(result.stdout)["detail"] in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_an_output_that_takes_no_more_is_said_in_a_line() -> None:
    """Where the disk of the output is full, a command ends with 1 and says so, without a traceback."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        found = subprocess.run(
            [sys.executable, "-c", "from tuner.cli.main import main; main()", "simulate", "--list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    assert found.returncode == 1
    assert found.stderr.startswith("innobrim: cannot write: No space left on device; make room")
    assert found.stderr.count("\n") == 1


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("words", ["run --no-api", "check", "advise"])
@pytest.mark.parametrize(
    "refusal",
    [
        Unsupported("innobrim@s may not look at what is needed (denied)"),
        ServerError("SET GLOBAL innodb_monitor_enable = 'module_log': denied"),
    ],
)
def test_a_missing_grant_ends_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, refusal: ServerError
) -> None:
    """An account without a grant ends each command with the server's words and exit 1, not a traceback."""
    server = FakeServer(refusal)
    monkeypatch.setattr(run_command, "RealServer", lambda *_, **__: server)
    monkeypatch.setattr(run_command, "configure_logs", lambda **_: None)
    for module in (check_command, advise_command):
        monkeypatch.setattr(module, "real_server", lambda *_, **__: server)
    result = innobrim(*words.split(), "--state-directory", str(tmp_path))

    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert sum(str(refusal) in line for line in result.output.splitlines()) == 1
    assert server.closed


def test_a_reason_of_others_is_one_line(daemon: AnsweringLoop, run: Run) -> None:
    """Neither escapes nor further lines come through, from a hold, a decision, or an option's value."""
    daemon.holding = (Hold(HoldCode.FOREIGN_CHANGE, 101.0, FORGED),)
    daemon.template = record(9, decision=replace(record().decision, detail=f"450 pages/s {CLEARS}"))
    daemon.publish()
    found, paused = run("status"), run("pause", "--reason", CLEARS)
    wrong = run("override", "--io-capacity-max", CLEARS, "--ttl", "10m")

    assert (found.exit_code, paused.exit_code, wrong.exit_code) == (0, 0, 2)
    assert all(harmless(one.output) for one in (found, paused, wrong))
    assert "no reason?mode          active; running" in found.stdout
    assert sum(line.startswith("mode ") for line in found.stdout.splitlines()) == 1


def test_a_servers_own_words_are_shown_as_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server calls itself what it likes, and check says it."""
    server = FakeServer(
        replace(
            FACTS, flush_law="legacy", version_comment=CLEARS, version=f"9.7.4{CLEARS}", blockers=(FORGED,)
        )
    )
    monkeypatch.setattr(check_command, "real_server", lambda *_: server)
    output = innobrim("check").output

    assert harmless(output)
    assert "?[2J" in output or "no reason?mode" in output


def test_json_says_the_same_and_steers_nothing(daemon: AnsweringLoop, run: Run) -> None:
    """Control characters that JSON leaves alone are escaped in it, and read as what they were."""
    said = f"450 pages/s {CLEARS} \x7f\u202e\U000e0001 größer"
    daemon.template = record(9, decision=replace(record().decision, detail=said))
    daemon.publish()
    found = run("status", "--json")

    assert harmless(found.stdout)
    assert "größer" in found.stdout
    assert said in json.loads(found.stdout)["decision"]["detail"]


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have scikit-optimize installed for another numpy, which says so in words of its own as well."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "skopt.py").write_text(
        "import sys\n"
        "print('A module that was compiled using NumPy 1.x', file=sys.stderr)\n"
        "try:\n    raise ImportError('numpy.core.multiarray failed to import')\n"
        "except ImportError as error:\n"
        "    raise ImportError('\\n\\nIMPORTANT: PLEASE READ THIS FOR ADVICE\\n') from error\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(library))
    monkeypatch.delitem(sys.modules, "skopt", raising=False)


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have scikit-optimize not installed."""
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "skopt" else real(name))


@pytest.mark.parametrize(
    ("extra", "why", "listed"),
    [
        ("broken", BROKEN, BROKEN.removeprefix("needs ")),
        (
            "missing",
            "needs scikit-optimize, which is not installed: pip install '.[bayes]'",
            "pip install '.[bayes]' (not installed)",
        ),
    ],
)
def test_an_extra_that_cannot_be_used_is_one_line(
    tmp_path: Path, request: pytest.FixtureRequest, extra: str, why: str, listed: str
) -> None:
    """Each command that names bayes is exit 2 with what to type; a comparison of all goes on without it."""
    request.getfixturevalue(extra)
    config = tmp_path / "innobrim.toml"
    config.write_text('[loop]\npolicy = "bayes"\n', encoding="utf-8")
    scenario = ("--scenario", scenario_file(tmp_path))
    found = {
        "--policy bayes": innobrim("policies", "--compare", *scenario, "--policy", "bayes"),
        f"{config}": innobrim("simulate", *scenario, "--config", config),
        "loop.policy = bayes": innobrim("check", "--config", config),
    }

    for asked, one in found.items():
        ended(one, 2, asked)
        assert one.stderr.splitlines()[-1].endswith(why)
        assert "NumPy 1.x" not in one.output
    ended(
        innobrim("policies", "--compare", *scenario, "--seeds", "1", "--jobs", "1"),
        0,
        f"bayes is left out: it {why}",
    )
    ended(innobrim("policies"), 0, f" needs: {listed} ")


def test_the_list_says_that_the_extra_is_there() -> None:
    """The list of policies has the command as every shell takes it, and whether it is still needed."""
    ended(innobrim("policies"), 0, "needs: pip install '.[bayes]' (installed)")
