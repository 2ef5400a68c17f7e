#!/usr/bin/env bash
# Make the container image innobrim:VERSION, and innobrim:latest. Wheels are fetched here, checked against the hashes of
# deploy/requirements.lock; the build itself has no network.
# BASE=innobrim/systemd:252 takes what make servers makes from Debian's packages, where no registry is at hand: it has
# more than is needed, and makes a large image.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly BASE=${BASE:-python:3.11-slim-bookworm}
readonly PYTHON=3.11
readonly LOCK=deploy/requirements.lock
readonly BIN=${BIN:-.venv/bin}
readonly PIP=("$BIN/python" -m pip --disable-pip-version-check --quiet)

fail() { printf 'IMAGE: %s\n' "$*" >&2; exit 1; }

[ -x "$BIN/python" ] || fail ".venv is missing: make setup"
docker version >/dev/null 2>&1 || fail "no Docker daemon answers"

wheels=.cache/wheels/$(sha256sum "$LOCK" | cut -c 1-12)-$(uname -m)
if [ ! -f "$wheels/complete" ]; then
  platforms=()
  for tag in 1 2010 2014 _2_5 _2_12 _2_17 _2_24 _2_27 _2_28 _2_31 _2_34 _2_35 _2_36; do
    platforms+=(--platform "manylinux${tag}_$(uname -m)")
  done
  rm -rf "$wheels"
  "${PIP[@]}" download --require-hashes --no-deps --only-binary :all: --python-version "$PYTHON" \
    "${platforms[@]}" --dest "$wheels" --requirement "$LOCK"
  touch "$wheels/complete"
fi

work=$(mktemp -d -p /var/tmp innobrim-image.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir "$work/own"
"${PIP[@]}" wheel --no-deps --wheel-dir "$work/own" .
version=$(basename "$work"/own/innobrim-*.whl | cut -d - -f 2)
cp -r "$wheels/." "$work/wheels"
cp deploy/container/Dockerfile deploy/debian/notices.py "$LOCK" "$work/"
docker build --quiet --network none --build-arg BASE="$BASE" \
  --label org.opencontainers.image.title=innobrim --label org.opencontainers.image.version="$version" \
  --label org.opencontainers.image.licenses=Apache-2.0 \
  --tag "innobrim:$version" --tag "${TAG:-innobrim:latest}" "$work" >/dev/null
echo "innobrim:$version"
