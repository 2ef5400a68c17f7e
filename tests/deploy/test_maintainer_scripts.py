"""What the Debian package's own scripts do, on a root of their own, with systemd and debconf listened to."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.support import ROOT

SCRIPTS = ROOT / "deploy" / "debian"

_ABSOLUTE = re.compile(r"(?<![\w./$])/(?=(?:etc|opt|run|usr/share|var)/)")

_DEBCONF = """\
db_get() { RET=$(cat "$ROOT/answer"); }
db_stop() { :; }
db_purge() { :; }
"""
_SYSTEMCTL = """\
#!/bin/sh
if [ "$1" = list-units ]; then
  case "$*" in *=deactivating*) units=stopping ;; *) units=units ;; esac
  sed 's/$/ loaded active running/' "$ROOT/$units"
  exit
fi
echo "systemctl $*" >>"$ROOT/said"
"""
_SYSTEMD_RUN = """\
#!/bin/sh
echo "systemd-run $*" >>"$ROOT/said"
for word in "$@"; do configuration=$word; done
! grep -qx "$configuration" "$ROOT/fails"
"""
_PROGRAM = """\
#!/bin/sh
if grep -qx "$3" "$ROOT/wrong"; then echo "Error: $3: unknown key" >&2; exit 2; fi
"""
_SYSUSERS = """\
#!/bin/sh
echo "systemd-sysusers $*" >>"$ROOT/said"
"""


class Package:
    """The package as dpkg has unpacked it below a directory, and what its scripts asked for.

    Attributes:
        root: that directory.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in (
            ("bin/systemctl", _SYSTEMCTL),
            ("bin/systemd-run", _SYSTEMD_RUN),
            ("bin/systemd-sysusers", _SYSUSERS),
            ("opt/innobrim/bin/innobrim", _PROGRAM),
            ("usr/share/debconf/confmodule", _DEBCONF),
            ("answer", "false\n"),
            ("units", ""),
            ("stopping", ""),
            ("fails", ""),
            ("said", ""),
            ("wrong", ""),
        ):
            self.write(name, text).chmod(0o755)
        for name in ("etc/systemd/system/multi-user.target.wants", "run/systemd/system"):
            (root / name).mkdir(parents=True)
        (root / "opt/innobrim/bin/python").symlink_to(sys.executable)

    def write(self, name: str, text: str = "") -> Path:
        """Put a file there."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def daemon(self, name: str, state: str, *, named: bool = True) -> str:
        """Have a daemon that wrote, with its configuration and its state; return the former's path."""
        self.write(f"{state}/journal.db")
        section = f'[daemon]\nstate_directory = "{self.root}/{state}"\n' if named else ""
        return str(self.write(f"etc/innobrim/{name}.toml", section))

    def run(self, script: str, word: str) -> subprocess.CompletedProcess[str]:
        """Run one of the scripts with what dpkg says to it."""
        text = (SCRIPTS / script).read_text(encoding="utf-8")
        moved = self.write(f"scripts/{script}", _ABSOLUTE.sub(f"{self.root}/", text))
        shell = shutil.which("dash") or "/bin/sh"
        return subprocess.run(  # noqa: S603 - our own scripts
            [shell, str(moved), word],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={"PATH": f"{self.root}/bin:/usr/bin:/bin", "ROOT": str(self.root)},
        )

    def said(self, program: str) -> list[str]:
        """Return what a program was told, a line each."""
        lines = (self.root / "said").read_text(encoding="utf-8").splitlines()
        return [line.removeprefix(f"{program} ") for line in lines if line.startswith(f"{program} ")]

    def restored(self) -> list[str]:
        """Return the configurations that originals were put back by."""
        return [line.rpartition(" --config ")[2] for line in self.said("systemd-run")]


@pytest.fixture
def package(tmp_path: Path) -> Package:
    """Return the package on an empty machine with systemd."""
    return Package(tmp_path)


def three(package: Package) -> list[str]:
    """Have three daemons, one of them with its state elsewhere; return their configurations."""
    return [
        package.daemon("innobrim", "var/lib/innobrim", named=False),
        package.daemon("3307", "var/lib/innobrim-3307"),
        package.daemon("3308", "srv/journals"),
    ]


def test_installing_starts_nothing(package: Package) -> None:
    """The account is made, and no unit is started or enabled."""
    done = package.run("postinst", "configure")

    assert done.returncode == 0, done.stderr
    assert package.said("systemd-sysusers") == ["innobrim.conf"]
    assert package.said("systemctl") == ["daemon-reload"]


def test_an_upgrade_starts_again_what_it_stopped(package: Package) -> None:
    """What was at work before the files changed is at work after, and nothing else is."""
    package.write("units", "innobrim.service\ninnobrim@3307.service\n")

    assert package.run("prerm", "upgrade").returncode == 0
    assert package.said("systemctl") == ["stop innobrim.service innobrim@3307.service"]
    assert package.run("postinst", "configure").returncode == 0
    assert package.said("systemctl")[2:] == ["--no-block start innobrim.service innobrim@3307.service"]
    assert not (package.root / "run/innobrim.stopped").exists()
    assert package.restored() == []


def test_an_upgrade_that_is_tried_again_starts_what_the_first_one_stopped(package: Package) -> None:
    """Where an upgrade breaks off between its scripts, the next one starts what the first had stopped."""
    package.write("units", "innobrim.service\n")
    package.run("prerm", "upgrade")
    package.write("units", "innobrim@3307.service\n")

    assert package.run("prerm", "upgrade").returncode == 0
    assert package.run("postinst", "configure").returncode == 0
    assert package.said("systemctl")[-1] == "--no-block start innobrim.service innobrim@3307.service"


@pytest.mark.parametrize("word", ["upgrade", "deconfigure", "remove"])
def test_what_dpkg_calls_off_leaves_the_daemons_at_work(package: Package, word: str) -> None:
    """Where dpkg goes back on what it began, the daemons that were stopped for it are started again."""
    package.write("units", "innobrim.service\n")
    package.write("answer", "true\n")
    package.write("fails", f"{package.daemon('innobrim', 'var/lib/innobrim', named=False)}\n")
    package.run("prerm", word)

    assert package.run("postinst", f"abort-{word}").returncode == 0
    assert package.said("systemctl")[-1] == "--no-block start innobrim.service"


def test_what_is_being_stopped_is_waited_for_and_not_started(package: Package) -> None:
    """A daemon that somebody stops while the upgrade begins has ended before files change, and stays down."""
    package.write("stopping", "innobrim@3307.service\n")

    assert package.run("prerm", "upgrade").returncode == 0
    assert package.said("systemctl") == ["stop innobrim@3307.service"]
    assert package.run("postinst", "configure").returncode == 0
    assert not any("start" in line for line in package.said("systemctl")[1:])


def test_an_upgrade_says_which_daemon_will_not_start(package: Package) -> None:
    """A configuration that the new program refuses is named at the upgrade, which goes on all the same."""
    three(package)
    package.write("units", "innobrim.service\ninnobrim@3307.service\n")
    package.run("prerm", "upgrade")
    package.write("wrong", f"{package.root}/etc/innobrim/3307.toml\n")

    done = package.run("postinst", "configure")

    assert done.returncode == 0
    assert "unknown key" in done.stderr
    assert "innobrim@3307.service does not start with" in done.stderr
    assert "innobrim.service does" not in done.stderr
    assert package.said("systemctl")[-1] == "--no-block start innobrim.service innobrim@3307.service"


def test_a_removal_restores_only_where_asked(package: Package) -> None:
    """Without a word of debconf's the daemons are stopped, which parks, and nothing is restored."""
    three(package)
    package.write("units", "innobrim.service\n")

    assert package.run("prerm", "remove").returncode == 0
    assert package.said("systemctl") == ["stop innobrim.service"]
    assert package.restored() == []


def test_a_removal_waits_no_longer_than_a_restore_may_take(package: Package) -> None:
    """A restore that hangs is ended, and the removal with it, not the administrator's patience."""
    package.write("answer", "true\n")
    three(package)
    assert package.run("prerm", "remove").returncode == 0

    assert all("--property=RuntimeMaxSec=15min" in line for line in package.said("systemd-run"))


def test_a_removal_restores_every_server(package: Package) -> None:
    """Where it was asked for, each daemon's originals go back, wherever its configuration keeps its state."""
    files = three(package)
    package.write("answer", "true\n")
    package.write("etc/innobrim/my.cnf")
    package.write("etc/innobrim/3308.cnf")
    package.write("etc/innobrim/draft.toml", "[loop]\n")

    done = package.run("prerm", "remove")

    assert done.returncode == 0, done.stderr
    assert package.restored() == files
    first, second, third = package.said("systemd-run")
    assert "User=innobrim" in first
    assert f"LoadCredential=my.cnf:{package.root}/etc/innobrim/my.cnf " in first
    assert "LoadCredential" not in second
    assert f"LoadCredential=my.cnf:{package.root}/etc/innobrim/3308.cnf " in third


@pytest.mark.parametrize("number", range(3), ids=["the service", "an instance", "state elsewhere"])
def test_the_package_stays_where_a_server_is_not_restored(package: Package, number: int) -> None:
    """One server that fails keeps the package; the others are restored, and the daemons come back."""
    files = three(package)
    package.write("answer", "true\n")
    package.write("fails", f"{files[number]}\n")
    package.write("units", "innobrim.service\n")

    done = package.run("prerm", "remove")

    assert done.returncode == 1
    assert "not removed" in done.stderr
    assert package.restored() == files
    assert package.run("postinst", "abort-remove").returncode == 0
    assert package.said("systemctl")[-1] == "--no-block start innobrim.service"


def test_a_configuration_that_cannot_be_read_keeps_the_package(package: Package) -> None:
    """Where nobody can tell where originals are, none is lost."""
    package.write("etc/innobrim/3309.toml", "state_directory =\n")
    package.write("answer", "true\n")

    done = package.run("prerm", "remove")

    assert done.returncode == 1
    assert "3309.toml" in done.stderr


def test_a_purge_takes_state_and_nothing_of_others(package: Package) -> None:
    """State and enabling of every daemon go; what the administrator put beside them stays."""
    three(package)
    copy = package.write("var/lib/innobrim.before/journal.db")
    wants = "etc/systemd/system/multi-user.target.wants"
    gone = [package.write(f"{wants}/{name}") for name in ("innobrim.service", "innobrim@3307.service")]
    kept = package.write(f"{wants}/mariadb.service")

    done = package.run("postrm", "purge")

    assert done.returncode == 0, done.stderr
    assert not any(path.exists() for path in gone)
    assert not list((package.root / "var/lib").glob("innobrim-*"))
    assert not (package.root / "var/lib/innobrim").exists()
    assert kept.exists()
    assert copy.exists()
    assert (package.root / "etc/innobrim/3307.toml").exists()
