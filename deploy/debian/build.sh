#!/usr/bin/env bash
# Make the Debian package: dist/innobrim_VERSION_ARCHITECTURE.deb. The wheels are those of
# deploy/wheels.sh; everything else happens in a container without network, with Debian 12's Python.
# make deb REVISION=2 for a second package of the same version.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly IMAGE=innobrim/systemd:252

fail() { printf 'DEB: %s\n' "$*" >&2; exit 1; }

docker image inspect "$IMAGE" >/dev/null 2>&1 || fail "image $IMAGE is missing, or no Docker daemon answers: make servers"

wheels=$(deploy/wheels.sh)
# /var/tmp: /tmp may be kept in memory, and an environment is large.
work=$(mktemp -d -p /var/tmp innobrim-deb.XXXXXX)
trap 'rm -rf "$work"' EXIT
deploy/wheel.sh "$work"
version=$(basename "$work"/innobrim-*.whl | cut -d - -f 2)
moment=$(git log -1 --format=%ct 2>/dev/null || date +%s)

mkdir -p dist
docker run --rm --network none --name "innobrim-deb-$$" \
  --volume "$PWD/$wheels:/wheels:ro" --volume "$work:/own:ro" --volume "$PWD:/source:ro" \
  --volume "$PWD/dist:/dist" --env SOURCE_DATE_EPOCH="$moment" \
  --env VERSION="$version" --env REVISION="${REVISION:-1}" --env OWNER="$(id -u):$(id -g)" \
  "$IMAGE" sh /source/deploy/debian/assemble.sh
