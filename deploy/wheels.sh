#!/usr/bin/env bash
# Say where the wheels of deploy/requirements.lock are, from the root of the source tree: fetched once for each lock and
# kind of processor, and checked against the lock's hashes. For the Python of Debian 12 and of the image, whatever runs this.
# BIN: where the Python is that fetches.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly PYTHON=3.11
readonly LOCK=deploy/requirements.lock
readonly BIN=${BIN:-.venv/bin}

[ -x "$BIN/python" ] || { echo "WHEELS: $BIN/python is missing: make setup" >&2; exit 1; }

machine=$(uname -m)
wheels=.cache/wheels/$(sha256sum "$LOCK" | cut -c 1-12)-$machine
if [ ! -f "$wheels/complete" ]; then
  platforms=()
  # As far as the glibc of Debian 12, 2.36.
  for tag in 1 2010 2014 _2_5 _2_12 _2_17 _2_24 _2_27 _2_28 _2_31 _2_34 _2_35 _2_36; do
    platforms+=(--platform "manylinux${tag}_$machine")
  done
  rm -rf "$wheels"
  "$BIN/python" -m pip --disable-pip-version-check --quiet download --require-hashes --no-deps --only-binary :all: \
    --python-version "$PYTHON" "${platforms[@]}" --dest "$wheels" --requirement "$LOCK" >&2
  touch "$wheels/complete"
fi
echo "$wheels"
