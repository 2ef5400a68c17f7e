#!/usr/bin/env bash
# Make .venv, or bring it up to date: venv.sh demo installs what the demo needs, venv.sh dev everything.
set -euo pipefail
cd "$(dirname "$0")/../.."

# In an environment of its own: it brings cryptography, and the daemon is tested and measured without that.
readonly ANSIBLE=.cache/ansible ANSIBLE_CORE=ansible-core==2.19.14

fail() { printf 'SETUP: %s\n' "$*" >&2; exit 1; }

find_python() {
  local name
  for name in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$name"
      return
    fi
  done
  fail "no Python 3.11 or later found; $(python3 --version 2>&1 || true). Install one, or name it: make PYTHON=/path/to/python3"
}

make_ansible() {
  [ "$("$ANSIBLE/bin/python" -c 'from importlib.metadata import version; print(version("ansible-core"))' 2>/dev/null)" != "${ANSIBLE_CORE##*=}" ] || return 0
  "$(find_python)" -m venv --clear "$ANSIBLE"
  "$ANSIBLE/bin/python" -m pip --disable-pip-version-check install --quiet "$ANSIBLE_CORE" ||
    fail "pip could not install $ANSIBLE_CORE; the lines above say why"
}

case "${1:-dev}" in
  demo) extras=lab ;;
  dev) extras=lab,dev,bayes,docs ;;
  *) fail "unknown set '$1': demo or dev" ;;
esac
[ "$extras" = lab ] || make_ansible

wanted=$(cksum <pyproject.toml)
for stamp in .venv/.installed-dev ".venv/.installed-${1:-dev}"; do
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && .venv/bin/python -c '' 2>/dev/null; then
    exit 0
  fi
done

if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
  python=$(find_python)
  "$python" -c 'import venv, ensurepip' 2>/dev/null ||
    fail "$python cannot make virtual environments; on Debian: apt-get install python3-venv"
  "$python" -m venv .venv
fi
.venv/bin/python -m pip --disable-pip-version-check install --quiet -e ".[$extras]" ||
  fail "pip could not install .[$extras]; the lines above say why"
printf '%s\n' "$wanted" >".venv/.installed-${1:-dev}"
