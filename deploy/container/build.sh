#!/usr/bin/env bash
# Make the container image innobrim:VERSION, and innobrim:latest. The wheels are those of deploy/wheels.sh; the
# build itself has no network.
# BASE names the base image by its digest, so that nobody can put another one in its place:
#   make image BASE=python:3.11-slim-bookworm@sha256:…
# docker buildx imagetools inspect python:3.11-slim-bookworm shows the digest of today. BASE=innobrim/systemd:252 takes what
# make servers makes from Debian's packages, where no registry is at hand: it has more than is needed, and makes a large image.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly BASE=${BASE:-}
export BIN=${BIN:-.venv/bin}

fail() { printf 'IMAGE: %s\n' "$*" >&2; exit 1; }

# What make servers made on this machine comes from no registry, and so has no digest of one.
case "$BASE" in
*@sha256:*) [[ $BASE =~ @sha256:[0-9a-f]{64}$ ]] || fail "BASE=$BASE: a digest is sha256: and 64 digits of 0-9a-f" ;;
innobrim/*) ;;
*)
  fail "BASE=$BASE: expected the base image with its digest, such as python:3.11-slim-bookworm@sha256:…" \
    "(docker buildx imagetools inspect python:3.11-slim-bookworm shows it), or innobrim/systemd:252, which make servers makes"
  ;;
esac

docker version >/dev/null 2>&1 || fail "no Docker daemon answers: start it; where it is not installed: make servers"
# Docker asks a public registry for what is not on this machine, where anybody may have that name.
case "$BASE" in
*@sha256:*) ;;
innobrim/*) docker image inspect "$BASE" >/dev/null 2>&1 || fail "BASE=$BASE: not on this machine: make servers makes it" ;;
esac

wheels=$(deploy/wheels.sh)
# /var/tmp: /tmp may be kept in memory, and wheels and layers are large.
work=$(mktemp -d -p /var/tmp innobrim-image.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir "$work/own"
deploy/wheel.sh "$work/own"
version=$(basename "$work"/own/innobrim-*.whl | cut -d - -f 2)
cp -r "$wheels/." "$work/wheels"
cp deploy/container/Dockerfile deploy/debian/notices.py deploy/requirements.lock "$work/"
install -m 0755 deploy/container/innobrim-sidecar "$work/"
docker build --quiet --network none --build-arg BASE="$BASE" \
  --label org.opencontainers.image.title=innobrim --label org.opencontainers.image.version="$version" \
  --label org.opencontainers.image.licenses=Apache-2.0 \
  --tag "innobrim:$version" --tag "${TAG:-innobrim:latest}" "$work" >/dev/null
echo "innobrim:$version"
