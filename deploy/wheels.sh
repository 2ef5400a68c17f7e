#!/usr/bin/env bash
# Say where the wheels of deploy/requirements.lock are, from the root of the source tree: fetched once for each lock and
# kind of processor, and checked against the lock's hashes. deploy/wheels.sh 3.13 arm64: for that Python and that processor,
# by Debian's name for it, whatever runs this; without them for 3.11, which Debian 12 and the image have, and this machine's.
# BIN: where the Python is that fetches.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly PYTHON=${1:-3.11}
readonly LOCK=deploy/requirements.lock
readonly BIN=${BIN:-.venv/bin}

[ -x "$BIN/python" ] || { echo "WHEELS: $BIN/python is missing: make setup" >&2; exit 1; }

case ${2-} in
"") machine=$(uname -m) ;;
amd64) machine=x86_64 ;;
arm64) machine=aarch64 ;;
*) echo "WHEELS: architecture $2: expected amd64 or arm64" >&2; exit 1 ;;
esac
wheels=.cache/wheels/$(sha256sum "$LOCK" | cut -c 1-12)-$machine-$PYTHON
if [ ! -f "$wheels/complete" ]; then
  platforms=()
  # As far as the glibc of Rocky 8, 2.28, which is the oldest that a package is for.
  for tag in 1 2010 2014 _2_5 _2_12 _2_17 _2_24 _2_27 _2_28; do
    platforms+=(--platform "manylinux${tag}_$machine")
  done
  rm -rf "$wheels"
  "$BIN/python" -m pip --disable-pip-version-check --quiet download --require-hashes --no-deps --only-binary :all: \
    --python-version "$PYTHON" "${platforms[@]}" --dest "$wheels" --requirement "$LOCK" >&2
  touch "$wheels/complete"
fi
echo "$wheels"
