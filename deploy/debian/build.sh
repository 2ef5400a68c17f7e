#!/usr/bin/env bash
# Make the Debian package: dist/innobrim_VERSION-REVISION_ARCHITECTURE.deb, and the RPM packages that RPM names, such as
# RPM="el8 el9". The wheels are those of deploy/wheels.sh; everything else happens in a container without network, made of
# IMAGE, a Debian or Ubuntu with python3-venv: the package is for the Python of that. DIST: where it goes.
# make deb REVISION=2 for a second package of the same version. ARCHES: for which processors, such as "amd64 arm64"; for the
# image's own by default.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly IMAGE=${IMAGE:-innobrim/systemd:252}

fail() { printf 'DEB: %s\n' "$*" >&2; exit 1; }

docker image inspect "$IMAGE" >/dev/null 2>&1 || fail "image $IMAGE is missing, or no Docker daemon answers: make servers"

python=$(docker run --rm --network none "$IMAGE" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
native=$(docker run --rm --network none "$IMAGE" dpkg --print-architecture)
readonly ARCHES=${ARCHES:-$native}
volumes=()
# shellcheck disable=SC2086 # a list
for architecture in $(printf '%s\n' $native $ARCHES | sort -u); do
  wheels=$(deploy/wheels.sh "$python" "$architecture")
  volumes+=(--volume "$PWD/$wheels:/wheels/$architecture:ro")
done
# /var/tmp: /tmp may be kept in memory, and an environment is large.
work=$(mktemp -d -p /var/tmp innobrim-deb.XXXXXX)
trap 'rm -rf "$work"' EXIT
deploy/wheel.sh "$work"
version=$(basename "$work"/innobrim-*.whl | cut -d - -f 2)
moment=$(git log -1 --format=%ct 2>/dev/null || date +%s)

dist=$(realpath -m "${DIST:-dist}")
mkdir -p "$dist"
docker run --rm --network none --name "innobrim-deb-$$" \
  "${volumes[@]}" --volume "$work:/own:ro" --volume "$PWD:/source:ro" \
  --volume "$dist:/dist" --env SOURCE_DATE_EPOCH="$moment" \
  --env VERSION="$version" --env REVISION="${REVISION:-1}" \
  --env OWNER="$(id -u):$(id -g)" --env RPM="${RPM:-}" --env ARCHES="$ARCHES" \
  "$IMAGE" sh /source/deploy/debian/assemble.sh
