"""A release as its user has it: from 0.1.0 over the apt repository to the next version, back, and away again.

The release is of this tree with another version number, signed with a key of the test's own. One version's
journal is the same to the other, so nothing is shown of what a changed layout brings: tests/journal has that.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.fixtures import missing
from tests.real.machine import NEWER_DEBIAN, Machine, booted
from tests.real.packaged import ACCOUNT, ORIGINAL, WANTED, as_json, configure, install

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
NEWER = "0.2.0"
KEY = "release@innobrim.invalid"
BUILD_LIMIT = 600.0

PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")

_THERE = "/etc /opt /root /srv /usr /var/lib /var/spool"
_ITS_OWN = (
    r"/var/lib/(mysql|dpkg|apt|systemd)/|/etc/apt/|/etc/(passwd|group|g?shadow|sub[ug]id)-?$|__pycache__"
)
"""What changes on a machine with any package: lists of packages, accounts, the server's data, byte code."""


def tree(folder: Path, version: str) -> Path:
    """Make a checkout of this tree, tagged with a version."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - as everywhere
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / ".cache").symlink_to(ROOT / ".cache")
    for name, pattern, text in (
        ("pyproject.toml", r'^version = ".*"$', f'version = "{version}"'),
        ("CHANGELOG.md", r"^## .*$", f"## {version}"),
    ):
        path = folder / name
        words = re.sub(pattern, text, path.read_text(encoding="utf-8"), count=1, flags=re.MULTILINE)
        path.write_text(words, encoding="utf-8")
    who = "-c user.name=Publisher -c user.email=release@innobrim.invalid"
    script = f"git init -q && git add -A && git {who} commit -qm 'Release {version}' && git tag v{version}"
    subprocess.run(["sh", "-ec", script], cwd=folder, check=True)  # noqa: S603, S607 - as everywhere
    return folder


def key_of(name: str, home: Path) -> dict[str, str]:
    """Make a key of that name; return the environment in which gpg has it."""
    if shutil.which("gpg") is None:
        missing("gpg: make servers installs gnupg")
    home.chmod(0o700)
    environ = {**os.environ, "GNUPGHOME": str(home), "BIN": str(Path(sys.executable).parent)}
    environ.pop("PYTHONPATH", None)
    made = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key", name]
    subprocess.run(made, env=environ, check=True)  # noqa: S603 - a key of the test's
    return environ


def test_a_name_that_fits_two_keys_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Users are given one key to trust, and not another one whose name has the same words in it."""
    folder, home = tree(tmp_path_factory.mktemp("tree"), NEWER), tmp_path_factory.mktemp("gnupg")
    key_of(f"another-{KEY}", home)
    environ = {**key_of(KEY, home), "RELEASE_KEY": KEY}
    build = [str(folder / "deploy/release/build.sh")]
    done = subprocess.run(build, env=environ, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - our own script
    subprocess.run(["gpgconf", "--kill", "all"], env=environ, check=True)  # noqa: S607 - as everywhere

    assert "fits 2 secret keys; give the fingerprint of one: " in done.stderr
    assert not (folder / "dist").exists()


@pytest.fixture(scope="module")
def released(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a signed release for Debian 12, whose repository has version 0.1.0 too."""
    environ = key_of(KEY, tmp_path_factory.mktemp("gnupg"))
    folder = tree(tmp_path_factory.mktemp("tree"), NEWER)
    made = folder / "dist" / "release" / NEWER
    pool = made / "apt" / "pool" / "bookworm"
    pool.mkdir(parents=True)
    shutil.copy(package, pool)
    environ |= {"RELEASE_KEY": KEY, "SUITES": "bookworm el9"}
    done = subprocess.run(  # noqa: S603 - our own script
        [str(folder / "deploy/release/build.sh")],
        env=environ,
        capture_output=True,
        text=True,
        timeout=BUILD_LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    subprocess.run(["gpgconf", "--kill", "all"], env=environ, check=True)  # noqa: S607 - as everywhere
    return made


def test_what_the_publishers_key_signs_is_all_of_it(released: Path, tmp_path: Path) -> None:
    """Whoever has the key verifies every file, by what SECURITY.md has."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    (typed,) = re.findall(r"^gpg --import .*?(?=^```)", text, re.DOTALL | re.MULTILINE)
    tmp_path.chmod(0o700)
    environ = {**os.environ, "GNUPGHOME": str(tmp_path)}
    subprocess.run(["sh", "-ec", typed], cwd=released, env=environ, check=True)  # noqa: S603, S607 - what the page says

    listed = {line.split("  ")[1] for line in (released / "SHA256SUMS").read_text().splitlines()}
    there = {str(path.relative_to(released)) for path in released.rglob("*") if path.is_file()}
    assert there - listed == {"SHA256SUMS", "SHA256SUMS.asc"}


@pytest.mark.parametrize(("name", "rpm_name", "number"), [("amd64", "x86_64", 62), ("arm64", "aarch64", 183)])
def test_each_processor_has_its_own_package(
    released: Path, tmp_path: Path, name: str, rpm_name: str, number: int
) -> None:
    """Libraries are for the processor that the package names, and the signed lists of apt and dnf have it."""
    (deb,) = (released / "apt/pool/bookworm").glob(f"innobrim_{NEWER}-*_{name}.deb")
    subprocess.run(["dpkg-deb", "--extract", deb, tmp_path], check=True)  # noqa: S603, S607 - as everywhere
    assert {file.read_bytes()[18] for file in tmp_path.rglob("*.so")} == {number}

    signed = (released / "apt/dists/bookworm/InRelease").read_text(encoding="utf-8")
    assert re.search(rf"^Architectures: .*\b{name}\b", signed, re.MULTILINE)
    assert f"main/binary-{name}/Packages.gz" in signed
    listed = (released / f"apt/dists/bookworm/main/binary-{name}/Packages").read_text(encoding="utf-8")
    (about,) = (one for one in listed.split("\n\n") if deb.name in one)
    assert f"\nArchitecture: {name}\n" in about

    repository = released / "dnf/el9" / rpm_name
    assert (repository / "repodata/repomd.xml.asc").exists()
    (primary,) = repository.glob("repodata/*-primary.xml.gz")
    assert f"<arch>{rpm_name}</arch>" in gzip.decompress(primary.read_bytes()).decode()


def test_the_list_of_components_is_the_lock(released: Path) -> None:
    """The SBOM names the release's version, and each dependency at the version that the packages carry."""
    (file,) = released.glob("*.cdx.json")
    found = json.loads(file.read_text(encoding="utf-8"))

    assert found["metadata"]["component"]["version"] == NEWER
    pins = re.findall(r"^(\S+)==(\S+)", (ROOT / "deploy/requirements.lock").read_text(), re.MULTILINE)
    assert sorted((one["name"], one["version"]) for one in found["components"]) == sorted(pins)


@pytest.fixture(scope="module")
def machine(package: Path, released: Path) -> Iterator[Machine]:
    """Yield a Debian 12 with MariaDB under load, on which InnoBrim was never installed."""
    with booted(ORIGINAL, {package.parent: "/packages", released: "/release"}) as found:
        found.sql(ACCOUNT)
        found.load()
        yield found


def subscribe(machine: Machine) -> None:
    """Type what the page has for a publisher's repository, files for the web server; do not install."""
    (typed,) = re.findall(r"^ +install -d /etc/apt/keyrings.*?(?=^ +apt-get)", PAGE, re.DOTALL | re.MULTILINE)
    local = typed.replace("https://packages.example.com", "file:///release")
    local = re.sub(r"curl -fsSo (\S+) file://(\S+)", r"cp \2 \1", local)
    machine.write("/run/subscribe", local)
    machine.run(f"sh -e /run/subscribe; {ONLY_OURS} update")


ONLY_OURS = "DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dir::Etc::sourcelist=/dev/null"
"""There is no network; apt asks for our repository alone."""


def files(machine: Machine) -> dict[str, str]:
    """Return what lies on the machine where a package could put something, each with its checksum."""
    said = machine.run(
        f"find {_THERE} -xdev -type f -print0 2>/dev/null | grep -zvE '{_ITS_OWN}' | xargs -0 sha256sum; "
        f"find {_THERE} -xdev -type l -printf '%l  %p\\n' 2>/dev/null | grep -vE '{_ITS_OWN}'"
    )
    return {name: what for what, _, name in (line.partition("  ") for line in said.splitlines())}


def variables(machine: Machine) -> str:
    """Return all of the server's settings, but for what counts by itself."""
    return machine.sql(
        "SELECT VARIABLE_NAME, GLOBAL_VALUE FROM information_schema.SYSTEM_VARIABLES "
        "WHERE VARIABLE_NAME NOT REGEXP 'GTID|TIMESTAMP|LSN' ORDER BY 1"
    )


def at_work(machine: Machine, version: str) -> None:
    """Await that this version's daemon is active, with the originals of the server as it was found."""
    machine.await_active()
    found = machine.status()
    assert machine.run("innobrim --version").endswith(version)
    assert found["mode"] == "active"
    assert found["originals"] == as_json(ORIGINAL)
    assert "foreign_change" not in [hold["code"] for hold in found["holds"]]


def test_from_the_first_version_to_the_next_and_back_and_away(machine: Machine, package: Path) -> None:
    """With a live journal the originals outlast both ways; a purge leaves server and machine as they were."""
    before, set_before = files(machine), variables(machine)
    mysqld = machine.pid("mariadb")
    install(machine, package.name)
    configure(machine)
    machine.run("systemctl start innobrim; systemctl reload innobrim")
    machine.await_pair(WANTED)
    at_work(machine, "0.1.0")

    subscribe(machine)
    configured = machine.run("cat /etc/innobrim/innobrim.toml")
    machine.run(f"{ONLY_OURS} install -y innobrim 2>&1")
    machine.await_pair(WANTED)
    at_work(machine, NEWER)
    assert machine.run("cat /etc/innobrim/innobrim.toml") == configured

    machine.run(f"{ONLY_OURS} install -y --allow-downgrades innobrim=0.1.0-1 2>&1")
    at_work(machine, "0.1.0")

    machine.run("echo innobrim innobrim/restore-on-removal boolean true | debconf-set-selections")
    machine.run(f"{ONLY_OURS} purge -y innobrim 2>&1")
    machine.run("rm -r /etc/systemd/system/innobrim.service.d; systemctl daemon-reload")

    assert machine.in_force() == ORIGINAL
    assert variables(machine) == set_before
    assert machine.pid("mariadb") == mysqld
    after = files(machine)
    assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} == set()


def test_the_rpm_brings_the_same_service(machine: Machine) -> None:
    """By rpm files are as packed, an upgrade starts again what was at work, and a removal keeps the state."""
    (file,) = machine.run(f"ls /release/dnf/el9/$(uname -m)/innobrim-{NEWER}-1.el9.*.rpm").split()
    rpm = "rpm --force-debian --nodeps"  # there are no RPM packages that have Python and systemd here
    machine.run(f"{rpm} --install {file} 2>&1")
    assert machine.run("rpm --verify --nodeps innobrim") == ""
    assert machine.ask("systemctl is-enabled innobrim").text == "disabled"

    configure(machine, mode="advisory")
    machine.run("systemctl start innobrim")
    before = machine.pid()
    machine.run(f"{rpm} --upgrade --replacepkgs {file} 2>&1")
    machine.await_active()
    assert machine.pid() not in {0, before}
    assert machine.status()["mode"] == "advisory"

    machine.run("rpm --erase innobrim 2>&1")
    gone = "/opt/innobrim /usr/bin/innobrim /usr/lib/systemd/system/innobrim.service"
    assert machine.ask(f"ls -d {gone} 2>/dev/null").text == ""
    machine.run("systemctl is-active innobrim | grep -x inactive; test -f /var/lib/innobrim/journal.db")


def test_debian_13_has_the_same_service(tmp_path: Path) -> None:
    """The package for its Python installs there, the service controls MariaDB 11.8, and a purge restores."""
    environ = {**os.environ, "IMAGE": NEWER_DEBIAN, "DIST": str(tmp_path), "REVISION": "1+deb13"}
    environ["BIN"] = str(Path(sys.executable).parent)
    build = [str(ROOT / "deploy/debian/build.sh")]
    done = subprocess.run(  # noqa: S603 - our own script
        build, env=environ, capture_output=True, text=True, timeout=BUILD_LIMIT, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = tmp_path.glob("*+deb13_*.deb")

    with booted(ORIGINAL, {tmp_path: "/packages"}, NEWER_DEBIAN) as found:
        found.sql(ACCOUNT)
        found.load()
        install(found, made.name)
        configure(found)
        found.run("systemctl start innobrim; systemctl reload innobrim")
        found.await_pair(WANTED)
        at_work(found, made.name.split("_")[1].partition("-")[0])

        found.run("echo innobrim innobrim/restore-on-removal boolean true | debconf-set-selections")
        found.run("DEBIAN_FRONTEND=noninteractive dpkg --purge innobrim 2>&1")
        assert found.in_force() == ORIGINAL
