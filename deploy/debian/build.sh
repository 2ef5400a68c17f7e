#!/usr/bin/env bash
# Make the Debian package: dist/innobrim_VERSION_ARCHITECTURE.deb. The wheels of deploy/requirements.lock are fetched
# here, checked against their hashes; everything else happens in a container without network, with Debian 12's Python.
# make deb REVISION=2 for a second package of the same version.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly IMAGE=innobrim/systemd:252
readonly PYTHON=3.11 # Debian 12's
readonly LOCK=deploy/requirements.lock
readonly PIP=(.venv/bin/python -m pip --disable-pip-version-check --quiet)

fail() { printf 'DEB: %s\n' "$*" >&2; exit 1; }

[ -x .venv/bin/python ] || fail ".venv is missing: make setup"
docker image inspect "$IMAGE" >/dev/null 2>&1 || fail "image $IMAGE is missing, or no Docker daemon answers: make servers"

lock=$(sha256sum "$LOCK" | cut -c 1-12)
wheels=.cache/wheels/$lock-$(uname -m)
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

work=$(mktemp -d -p /var/tmp innobrim-deb.XXXXXX)
trap 'rm -rf "$work"' EXIT
"${PIP[@]}" wheel --no-deps --wheel-dir "$work" .
version=$(basename "$work"/innobrim-*.whl | cut -d - -f 2)
moment=$(git log -1 --format=%ct 2>/dev/null || date +%s)

mkdir -p dist
docker run --rm --network none --name "innobrim-deb-$$" \
  --volume "$PWD/$wheels:/wheels:ro" --volume "$work:/own:ro" --volume "$PWD:/source:ro" \
  --volume "$PWD/dist:/dist" --env SOURCE_DATE_EPOCH="$moment" \
  --env VERSION="$version" --env REVISION="${REVISION:-1}" --env OWNER="$(id -u):$(id -g)" \
  "$IMAGE" sh /source/deploy/debian/assemble.sh
