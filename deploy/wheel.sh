#!/usr/bin/env bash
# Make our own wheel in a directory, from the root of the source tree: deploy/wheel.sh DIRECTORY; with --sdist behind it the
# source distribution as well. The backend that makes them is that of deploy/build.lock, checked against its hashes, in an
# environment of its own; nothing else is fetched.
# BIN: where the Python is that makes the environment.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly LOCK=deploy/build.lock
readonly BIN=${BIN:-.venv/bin}
readonly DESTINATION=${1:?say where the wheel is to go}

[ -x "$BIN/python" ] || { echo "WHEEL: $BIN/python is missing: make setup" >&2; exit 1; }

backend=.cache/backend/$(sha256sum "$LOCK" | cut -c 1-12)
if [ ! -f "$backend/complete" ]; then
  rm -rf "$backend"
  "$BIN/python" -m venv "$backend"
  "$backend/bin/python" -m pip --disable-pip-version-check --quiet install --require-hashes --no-deps \
    --only-binary :all: --requirement "$LOCK" >&2
  touch "$backend/complete"
fi
"$backend/bin/python" -m pip --disable-pip-version-check --quiet wheel --no-build-isolation --no-deps --no-index \
  --wheel-dir "$DESTINATION" .
[ "${2:-}" != --sdist ] || "$backend/bin/python" -m hatchling build --target sdist --directory "$DESTINATION" >&2
