#!/bin/sh
# Inside the container of build.sh: the environment at its final place, then a package around it for each of ARCHES. Nothing
# of another processor runs here: its wheels take the place of this one's, and the byte code is the same.
set -eu
umask 022

PROGRAM=/opt/innobrim
ROOT=/tmp/package
SHARE=$ROOT/usr/share/doc/innobrim
PYTHON=$(basename "$(readlink -f /usr/bin/python3)")
SITE=$ROOT$PROGRAM/lib/$PYTHON/site-packages
unpacked=$(dpkg --print-architecture)

"/usr/bin/$PYTHON" -m venv /tmp/tools
"/usr/bin/$PYTHON" -m venv --without-pip "$PROGRAM"
pip() { /tmp/tools/bin/python -m pip --disable-pip-version-check --quiet "$@"; }
here() { pip --python "$PROGRAM/bin/python" "$@"; }
LOCKED="--no-index --require-hashes --no-deps --no-compile --requirement /source/deploy/requirements.lock --find-links /wheels"
# shellcheck disable=SC2086 # a list of options
here install $LOCKED/"$unpacked"
here install --no-index --find-links /own --no-deps --no-compile "innobrim==$VERSION"
here check

# Commands of the dependencies are nobody's here; a service has no use for a shell's activation.
find "$PROGRAM/bin" -mindepth 1 ! -name 'python*' ! -name innobrim -delete
# Byte code that goes by the contents of its source, not by a time that unpacking may change.
"$PROGRAM/bin/python" -m compileall -q --invalidation-mode checked-hash "$PROGRAM/lib"

mkdir -p "$ROOT/opt" "$ROOT/usr/bin" "$ROOT/DEBIAN" "$SHARE/examples"
cp -a "$PROGRAM" "$ROOT/opt/"
ln -s "$PROGRAM/bin/innobrim" "$ROOT/usr/bin/innobrim"

put() { install -D -m "$1" "$2" "$ROOT/$3"; }
cd /source/deploy
put 0644 systemd/innobrim.service lib/systemd/system/innobrim.service
put 0644 systemd/innobrim@.service lib/systemd/system/innobrim@.service
put 0644 systemd/innobrim.sysusers usr/lib/sysusers.d/innobrim.conf
put 0644 debian/innobrim.toml etc/innobrim/innobrim.toml
put 0600 debian/my.cnf etc/innobrim/my.cnf
put 0644 systemd/newer-systemd.conf usr/share/doc/innobrim/examples/newer-systemd.conf
cp -r prometheus grafana "$SHARE/examples/"
for page in /source/docs/*.md /source/docs/decisions/*.md; do
  put 0644 "$page" "usr/share/doc/innobrim/${page#/source/docs/}"
done
put 0644 /source/README.md usr/share/doc/innobrim/README.md
gzip -9n <../CHANGELOG.md >"$SHARE/changelog.gz"
"$PROGRAM/bin/python" debian/notices.py >"$SHARE/copyright"

mkdir -p "$ROOT/usr/share/man/man1"
(cd /source && PYTHONDONTWRITEBYTECODE=1 "$PROGRAM/bin/python" -m tools.manual) | gzip -9n >"$ROOT/usr/share/man/man1/innobrim.1.gz"
complete() {
  mkdir -p "$ROOT/$(dirname "$2")"
  _INNOBRIM_COMPLETE=$1_source "$PROGRAM/bin/innobrim" >"$ROOT/$2"
}
complete bash usr/share/bash-completion/completions/innobrim
complete zsh usr/share/zsh/vendor-completions/_innobrim
complete fish usr/share/fish/vendor_completions.d/innobrim.fish

chmod -R u+rwX,go+rX,go-w "$ROOT"
chmod 0600 "$ROOT/etc/innobrim/my.cnf"
put 0644 debian/conffiles DEBIAN/conffiles
put 0644 debian/templates DEBIAN/templates
for script in config postinst prerm postrm; do put 0755 "debian/$script" "DEBIAN/$script"; done

# Put the wheels of the lock for another processor in the place of those that are there.
exchange() {
  tags=$(find "/wheels/$1" -name "*_$MACHINE.whl" | sed 's/.*-//; s/\.whl$//' | tr . '\n' | sort -u)
  # shellcheck disable=SC2086 # a list of options
  PIP_PLATFORM=$tags pip install $LOCKED/"$1" --only-binary :all: --upgrade --target "$SITE"
  rm -r "$SITE/bin"
  "$PROGRAM/bin/python" -m compileall -q --invalidation-mode checked-hash -s "$ROOT" -p / "$SITE"
  chmod -R u+rwX,go+rX,go-w "$SITE"
}

# Fail where a file is for another processor than the package; the header of an ELF file has its number at byte 18.
judge() {
  "$PROGRAM/bin/python" - "$ROOT" "$1" <<'END'
import sys
from pathlib import Path

for file in Path(sys.argv[1]).rglob("*"):
    head = file.open("rb").read(20) if file.is_file() and not file.is_symlink() else b""
    if head.startswith(b"\x7fELF") and head[18:] != bytes([int(sys.argv[2]), 0]):
        sys.exit(f"DEB: {file} is for another processor than the package")
END
}

export ROOT PYTHON MACHINE
for architecture in $ARCHES; do
  case $architecture in
  amd64) MACHINE=x86_64 number=62 ;;
  arm64) MACHINE=aarch64 number=183 ;;
  esac
  [ "$architecture" = "$unpacked" ] || exchange "$architecture"
  unpacked=$architecture
  judge "$number"
  sed -e "s/@VERSION@/$VERSION-$REVISION/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@PYTHON@/$PYTHON/" \
    -e "s/@SIZE@/$(du -sk --exclude=DEBIAN "$ROOT" | cut -f 1)/" debian/control.in >"$ROOT/DEBIAN/control"
  (cd "$ROOT" && find . -type f ! -path './DEBIAN/*' -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' md5sum >DEBIAN/md5sums)

  package=/dist/innobrim_$VERSION-${REVISION}_$architecture.deb
  dpkg-deb --root-owner-group -Zxz -z3 --build "$ROOT" "$package" >/dev/null
  chown "$OWNER" "$package"
  echo "${package#/}"
  for release in $RPM; do sh /source/deploy/rpm/assemble.sh "$release"; done
done
