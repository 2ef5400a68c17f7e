#!/usr/bin/env bash
# Make the container image innobrim:VERSION, and innobrim:latest. The wheels are those of deploy/wheels.sh; the
# build itself has no network.
# BASE=innobrim/systemd:252 takes what make servers makes from Debian's packages, where no registry is at hand: it has
# more than is needed, and makes a large image.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly BASE=${BASE:-python:3.11-slim-bookworm}
export BIN=${BIN:-.venv/bin}
readonly PIP=("$BIN/python" -m pip --disable-pip-version-check --quiet)

fail() { printf 'IMAGE: %s\n' "$*" >&2; exit 1; }

docker version >/dev/null 2>&1 || fail "no Docker daemon answers: start it; where it is not installed: make servers"

wheels=$(deploy/wheels.sh)
# /var/tmp: /tmp may be kept in memory, and wheels and layers are large.
work=$(mktemp -d -p /var/tmp innobrim-image.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir "$work/own"
"${PIP[@]}" wheel --no-deps --wheel-dir "$work/own" .
version=$(basename "$work"/own/innobrim-*.whl | cut -d - -f 2)
cp -r "$wheels/." "$work/wheels"
cp deploy/container/Dockerfile deploy/debian/notices.py deploy/requirements.lock "$work/"
docker build --quiet --network none --build-arg BASE="$BASE" \
  --label org.opencontainers.image.title=innobrim --label org.opencontainers.image.version="$version" \
  --label org.opencontainers.image.licenses=Apache-2.0 \
  --tag "innobrim:$version" --tag "${TAG:-innobrim:latest}" "$work" >/dev/null
echo "innobrim:$version"
