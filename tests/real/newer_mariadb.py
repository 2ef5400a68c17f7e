"""Newer packages of a machine's MariaDB, made of the installed ones: offline there is no second release."""

from __future__ import annotations

from tests.real.machine import Machine

PACKAGES = ("mariadb-server-core", "mariadb-server")
PLACE = "/var/tmp/newer"  # noqa: S108 - the machine's own

_REPACK = r"""
set -eu
for package in {packages}; do
  made={place}/$package info=/var/lib/dpkg/info/$package
  mkdir -p $made/DEBIAN
  grep -vx '/\.' $info.list | while read -r path; do
    if [ -d "$path" ] && [ -L "$path" ]; then continue; fi
    if [ -e "$path" ] || [ -L "$path" ]; then printf '.%s\n' "$path"; fi
  done | tar --create --directory / --no-recursion --files-from - | tar --extract --directory $made
  for part in conffiles config postinst postrm preinst prerm templates triggers; do
    [ ! -e $info.$part ] || cp -p $info.$part $made/DEBIAN/$part
  done
  dpkg-query --status $package | awk '/^[^ ]/ {{ skip = /^(Status|Conffiles):/ }} !skip' |
    sed '/^Version:/s/{old}/{new}/' >$made/DEBIAN/control
done
sed -i 's/{old}-MariaDB/{new}-MariaDB/g' {place}/mariadb-server-core/usr/sbin/mariadbd
for package in {packages}; do
  dpkg-deb -Znone --build {place}/$package {place}/$package.deb
  rm -r {place}/$package
done
"""
"""A directory's link, as /lib is, is the base system's and not packed."""


def make_newer(machine: Machine) -> str:
    """Make packages with the next release's number, and return that number, such as 10.11.19.

    Files, maintainer scripts and dependencies are those of the installed packages. The number is in the
    packages' versions and, written over the old one, in the server's program, which says it by ``VERSION()``.
    """
    old = machine.sql("SELECT VERSION()").partition("-")[0]
    series, _, release = old.rpartition(".")
    new = f"{series}.{int(release) + 1}"
    assert len(new) == len(old), f"{old} and {new} differ in length, and the program has room for the one"
    words = " ".join(PACKAGES)
    machine.run(_REPACK.format(packages=words, place=PLACE, old=old.replace(".", r"\."), new=new))
    return new


def install_newer(machine: Machine) -> str:
    """Install them as apt does, without questions; return what dpkg and the packages' scripts said."""
    files = " ".join(f"{PLACE}/{package}.deb" for package in PACKAGES)
    return machine.run(f"DEBIAN_FRONTEND=noninteractive dpkg --install {files} 2>&1 && rm -r {PLACE}")
