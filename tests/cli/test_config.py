"""``innobrim config``: what is wrong, what is in force and from where, and what a key means."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import Result
from msgspec import Struct

from tests.cli.asked import FOLDER, RIGHT, SITUATIONS, answer
from tests.cli.schema import answer as answer_of
from tests.cli.support import ended, innobrim
from tuner.cli.config import ALL, Checked, Explained, Shown
from tuner.config.keys import KEYS
from tuner.config.load import load_config


class Keys(Struct, forbid_unknown_fields=True):
    """What ``explain --json`` prints."""

    keys: tuple[Explained, ...]


@pytest.mark.parametrize("name", SITUATIONS)
def test_it_prints_what_is_written_down(tmp_path: Path, name: str) -> None:
    """What people see of a configuration, right and wrong, changes only where somebody means it to."""
    assert answer(tmp_path, name)[1] == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "kind", "code"),
    [
        ("config-check-wrong", Checked, 2),
        ("config-check-fine", Checked, 0),
        ("config-show-changed", Shown, 0),
        ("config-explain-section", Keys, 0),
    ],
)
def test_machines_get_the_same(tmp_path: Path, name: str, kind: type[Struct], code: int) -> None:
    """--json is one object of a known shape, with the exit code that people get."""
    result, _ = answer(tmp_path, name, "--json")

    assert result.exit_code == code
    assert isinstance(msgspec.json.decode(result.stdout, type=kind, strict=True), kind)


def test_every_fault_has_its_place(tmp_path: Path) -> None:
    """Each has file or variable, key, value and line, so that an editor can go there; secrets have none."""
    found = msgspec.json.decode(answer(tmp_path, "config-check-wrong", "--json")[0].stdout, type=Checked)
    places = {(Path(one.source).name, one.key, one.value, one.line) for one in found.faults}

    assert places == {
        ("innobrim.toml", "loop.mode", '"activ"', 2),
        ("innobrim.toml", "loop.max_io_capacity", "", 3),
        ("innobrim.toml", "loop.min_io_capacity_max", "30000", 4),
        ("innobrim.toml", "daemn", "", 6),
        ("innobrim.toml", "server.password", "", 10),
        ("innobrim.toml", "schedule.cron", "", 21),
        ("INNOBRIM_LOOP_RATO", "", "", None),
    }


@pytest.mark.parametrize("more", [(), ("--changed",)], ids=["all", "changed"])
def test_what_show_prints_is_a_configuration_with_the_same_effect(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    """Pasted into a file it means what it showed, the variables' values among it."""
    path, pasted = tmp_path / "innobrim.toml", tmp_path / "pasted.toml"
    path.write_text(RIGHT, encoding="utf-8")
    host = {"INNOBRIM_SERVER_HOST": "db1"}
    shown = innobrim("config", "show", *more, "--config", path, **host).output
    pasted.write_text(shown, encoding="utf-8")

    assert load_config(str(pasted), environ={}, flags={}) == load_config(str(path), environ=host, flags={})
    assert all(f"{key.name} " in shown for key in KEYS.values()) == (not more)


def test_show_has_no_password(tmp_path: Path) -> None:
    """It says where the password is from, and not what it is."""
    options = tmp_path / "my.cnf"
    options.write_text("[client]\nuser = ann\npassword = geheim\n", encoding="utf-8")
    options.chmod(0o600)
    for more in ((), ("--json",)):
        result, _ = answer(tmp_path, "config-show-changed", "--defaults-file", str(options), *more)
        ended(result, 0, "ann@db1:3306", str(options))
        assert "geheim" not in result.output


@pytest.mark.parametrize("key", sorted(ALL))
def test_every_key_is_explained(key: str) -> None:
    """Each key of the file and of a schedule has its meaning, what it takes and when a change counts."""
    ended(innobrim("config", "explain", key), 0, key, ALL[key].description, "takes", "a change")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("lop.mode", "did you mean loop.mode?"),
        ("api.enabled", "serve no API"),
        ("", "begins with one of server, loop"),
    ],
)
def test_a_key_that_is_none_is_exit_2_with_the_nearest(asked: str, said: str) -> None:
    """A typo ends with the nearest key, and one that is gone with what says the same now."""
    ended(innobrim("config", "explain", asked), 2, said)


def loose_file(path: Path) -> Path:
    """Let everybody write to a file; return what the error names."""
    path.chmod(0o666)
    return path


def loose_folder(path: Path) -> Path:
    """Let everybody put another file in its place; return what the error names."""
    path.parent.chmod(0o777)
    return path.parent


@pytest.mark.parametrize("loosen", [loose_file, loose_folder], ids=["file", "directory"])
@pytest.mark.parametrize("words", [("run",), ("check",), ("advise",), ("config", "check")], ids=" ".join)
@pytest.mark.parametrize("which", ["configuration", "option file"])
def test_a_file_that_everybody_may_change_is_refused(
    tmp_path: Path, loosen: Callable[[Path], Path], words: tuple[str, ...], which: str
) -> None:
    """Whoever can change it says where the login goes: exit 2, with mode and the chmod that mends it."""
    folder = tmp_path / "open"
    folder.mkdir()
    option = which == "option file"
    path = folder / ("my.cnf" if option else "innobrim.toml")
    path.write_text("[client]\nuser = ann\n" if option else RIGHT, encoding="utf-8")
    named = loosen(path)
    given = "--defaults-file" if option else "--config"
    result: Result = innobrim(*words, given, path, "--state-directory", tmp_path)

    ended(result, 2, str(path), f"(mode 0{named.stat().st_mode & 0o777:o}", f"chmod o-w {named}")


@pytest.mark.parametrize("which", ["configuration", "option file"])
def test_a_kubernetes_config_map_is_taken(tmp_path: Path, which: str) -> None:
    """Its directory has mode 0777, and is mounted read-only: nobody can put another file there."""
    folder, option = tmp_path / "mounted", which == "option file"
    (folder / "..2026").mkdir(parents=True)
    (folder / "..data").symlink_to("..2026")
    name = "my.cnf" if option else "innobrim.toml"
    (folder / name).symlink_to(f"..data/{name}")
    (folder / name).write_text("[client]\nuser = ann\n" if option else RIGHT, encoding="utf-8")
    folder.chmod(0o777)
    mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" || exit 99; exec "$@"'
    command = (sys.executable, "-c", "from tuner.cli.main import main; main()", "config", "check")
    given = ("--defaults-file" if option else "--config", str(folder / name))
    done = subprocess.run(  # noqa: S603 - ours
        ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, str(folder), *command, *given],  # noqa: S607 - wherever it is
        capture_output=True,
        text=True,
        timeout=60.0,
        check=False,
    )
    if done.returncode in {1, 99} and not done.stdout:
        pytest.skip(f"missing: the right to mount: {done.stderr.strip()}")

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_directory_with_the_sticky_bit_is_as_good_as_ones_own(tmp_path: Path) -> None:
    """In /tmp, where nobody can put another file in its place, a file is taken."""
    tmp_path.chmod(0o1777)

    ended(answer(tmp_path, "config-check-fine")[0], 0)


def hooks(path: Path, *commands: str) -> Path:
    """Write a configuration with a hook for each command; return its path."""
    text = "".join(
        f'[[hook]]\nname = "hook{number}"\ncommand = ["{command}"]\n'
        for number, command in enumerate(commands)
    )
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("commands", "code", "said"),
    [
        (("/bin/true",), 0, "hook hook0, /bin/true: delivered: exit 0"),
        ((), 0, "--hooks: the configuration has no table [[hook]], so nothing was sent"),
        (("/bin/true", "/bin/false"), 1, "hook hook1, /bin/false: FAILED: exit 1"),
    ],
)
def test_hooks_can_be_tried(tmp_path: Path, commands: tuple[str, ...], code: int, said: str) -> None:
    """Each delivers a test event, and one that cannot is exit 1; without --hooks nothing is told."""
    path = hooks(tmp_path / "innobrim.toml", *commands)
    words = ("config", "check", "--config", path, "--state-directory", tmp_path)

    ended(innobrim(*words, "--hooks"), code, said)
    found = innobrim(*words, "--hooks", "--json")
    assert [one["fine"] for one in answer_of("config check", found.stdout)["hooks"]] == [True, code == 0][
        : len(commands)
    ]
    plain = innobrim(*words)
    ended(plain, 0, "a daemon would start")
    assert "delivered" not in plain.output


@pytest.mark.parametrize("words", [("run",), ("config", "check")], ids=" ".join)
def test_no_daemon_starts_with_a_hook_that_cannot_be_used(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Exit 2, with hook, path, and what would be right; commands that need no hook go on."""
    path = hooks(tmp_path / "innobrim.toml", str(tmp_path / "page"))
    given = ("--config", path, "--state-directory", tmp_path)

    ended(innobrim(*words, *given), 2, f'hook "hook0": command = {tmp_path / "page"}: no such file')
    ended(innobrim("config", "show", "--config", path), 0, f'command = ["{tmp_path / "page"}"]')
