#!/usr/bin/env bash
# Make a release of the tag vX.Y.Z at HEAD, in dist/release/X.Y.Z: wheel, source distribution, packages, list of components
# (SBOM), container image for this machine's processor, apt and dnf repositories, checksums.
# RELEASE_KEY: a GPG key of yours that signs; without it nothing is signed. BASE: as for make image; without it there is no image.
# SUITES: the distributions, of the list below, such as "bookworm el9"; all by default. ARCHES: the processors that packages are for,
# "amd64 arm64" by default. Packages of an older version that lie in dist/release/X.Y.Z/apt/pool or dnf already are in the
# repositories as well.
set -euo pipefail
cd "$(dirname "$0")/../.."

export BIN=${BIN:-.venv/bin} ARCHES=${ARCHES:-amd64 arm64}
readonly PYTHON_IMAGE=innobrim/systemd:252

# Suite, what it adds to the revision, its Python, the image that has it, and the RPMs that have the same Python.
readonly TARGETS=(
  "bookworm deb12 3.11 innobrim/systemd:252 el8 el9"
  "trixie deb13 3.13 innobrim/systemd:257"
  "noble ubuntu24.04 3.12 innobrim/ubuntu:24.04"
)

fail() { printf 'RELEASE: %s\n' "$*" >&2; exit 1; }
is_wanted() { [[ -z ${SUITES:-} || " $SUITES " == *" $1 "* ]]; }
say() { printf 'release: %s\n' "$*"; }

# What a release is made of: one commit, its tag, and what was written about it.
changed=$(git status --porcelain --untracked-files=normal) # whatever the publisher's own settings of git are
[ -z "$changed" ] || fail "the tree has changes that are in no commit; commit them or take them away: $(head -n 3 <<<"$changed" | paste -sd ' ')"
written=$("$BIN/python" -c 'import tomllib; print(tomllib.load(open("pyproject.toml", "rb"))["project"]["version"])')
mapfile -t tags < <(git tag --points-at HEAD --list 'v*')
case ${#tags[@]} in
0) fail "HEAD has no tag; for the version in pyproject.toml: git tag -s v$written" ;;
1) ;;
*) fail "HEAD has ${#tags[@]} tags, ${tags[*]}: a release is made of one" ;;
esac
readonly TAG=${tags[0]} VERSION=${tags[0]#v}
[[ $VERSION =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "tag $TAG: expected vX.Y.Z, such as v$written"
[ "$VERSION" = "$written" ] || fail "tag $TAG, but pyproject.toml says version $written: they have to be the same"
changes=$(awk -v version="$VERSION" '/^## / { here = $2 == version; next } here' CHANGELOG.md)
grep -q '[^[:space:]]' <<<"$changes" || fail "CHANGELOG.md has no section '## $VERSION', or nothing in it"
if [ -n "${RELEASE_KEY:-}" ]; then
  # gpg takes a part of a name as well: every key that it found would be exported as the publisher's.
  mapfile -t keys < <(gpg --batch --with-colons --list-secret-keys "$RELEASE_KEY" 2>/dev/null |
    awk -F: '$1 == "sec" { key = 1 } $1 == "fpr" && key { print $10; key = 0 }')
  case ${#keys[@]} in
  0) fail "RELEASE_KEY=$RELEASE_KEY: gpg has no such secret key; gpg --list-secret-keys shows yours" ;;
  1) ;;
  *) fail "RELEASE_KEY=$RELEASE_KEY fits ${#keys[@]} secret keys; give the fingerprint of one: ${keys[*]}" ;;
  esac
fi
readonly KEY=${keys[0]:-}

# And what packages are made of: compiled wheels for each Python and processor, and images.
left_out=() targets=()
for target in "${TARGETS[@]}"; do
  read -r suite mark python image of_it <<<"$target"
  is_wanted "$suite" || continue
  is_there=$(docker image inspect --format yes "$image" 2>/dev/null) || is_there=
  if [[ -z $is_there && $image == innobrim/ubuntu:* ]]; then
    left_out+=("no package for $suite: no image $image, which is Ubuntu with python3-venv")
    continue
  fi
  for architecture in $ARCHES; do
    deploy/wheels.sh "$python" "$architecture" >/dev/null ||
      fail "ARCHES=$ARCHES: no package for $suite on $architecture, for the reason above"
  done
  [ -n "$is_there" ] || fail "image $image is missing, or no Docker daemon answers: make servers"
  targets+=("$target")
done

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
readonly OUT=dist/release/$VERSION
work=$(mktemp -d -p /var/tmp innobrim-release.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir -p "$OUT"
rm -f "$OUT"/*.*
find "$OUT" \( -name '*.asc' -o -name 'Release*' -o -name InRelease \) -delete

say "wheel and source distribution"
deploy/wheel.sh "$OUT" --sdist

say "list of components"
"$BIN/cyclonedx-py" requirements deploy/requirements.lock --pyproject pyproject.toml --mc-type application \
  --output-reproducible --output-file "$OUT/innobrim-$VERSION.cdx.json" 2>"$work/sbom" || fail "no SBOM: $(cat "$work/sbom")"

for target in "${targets[@]}"; do
  read -r suite mark python image of_it <<<"$target"
  rpms=
  for release in $of_it; do ! is_wanted "$release" || rpms+=" $release"; done
  say "packages for $suite$rpms, $ARCHES"
  DIST=$work/$suite REVISION=1+$mark IMAGE=$image RPM=$rpms deploy/debian/build.sh >"$work/made"
  install -D -m 0644 -t "$OUT/apt/pool/$suite" "$work/$suite"/*.deb
  for release in $rpms; do
    for file in "$work/$suite"/*."$release".*.rpm; do
      machine=${file%.rpm}
      install -D -m 0644 -t "$OUT/dnf/$release/${machine##*.}" "$file"
    done
  done
  rm -r "${work:?}/$suite"
done

if [ -n "${BASE:-}" ]; then
  say "container image"
  name=$(deploy/container/build.sh)
  archive=innobrim-$VERSION-image-$(uname -m).tar
  docker save "$name" | gzip -9n >"$OUT/$archive.gz"
  docker image inspect --format "{{.Id}}  $name, on $BASE" "$name" >"$OUT/$archive.id"
  left_out+=("no container image for other processors than $(uname -m): its build runs the base image's Python")
else
  left_out+=("no container image: BASE= names none")
fi

say "repositories"
docker run --rm --network none --volume "$PWD/$OUT:/release" --volume "$PWD/deploy/release:/scripts:ro" \
  --env SOURCE_DATE_EPOCH --env OWNER="$(id -u):$(id -g)" "$PYTHON_IMAGE" sh /scripts/repositories.sh

sign() { gpg --batch --yes --quiet --local-user "$KEY" --armor "$@"; }
if [ -n "$KEY" ]; then
  sign --export "$KEY" >"$OUT/innobrim.asc"
  for file in "$OUT"/apt/dists/*/Release; do
    sign --output "${file%Release}InRelease" --clearsign "$file"
    sign --output "$file.gpg" --detach-sign "$file"
  done
  for file in "$OUT"/dnf/*/*/repodata/repomd.xml; do sign --output "$file.asc" --detach-sign "$file"; done
else
  left_out+=("NOTHING IS SIGNED: RELEASE_KEY= names no key")
fi
printf '%s\n' "$changes" >"$OUT/CHANGES.md"
printf 'tag %s, commit %s, SOURCE_DATE_EPOCH %s\n' "$TAG" "$(git rev-parse HEAD)" "$SOURCE_DATE_EPOCH" >"$OUT/BUILD.txt"
[ ${#left_out[@]} -eq 0 ] || printf '%s\n' "${left_out[@]}" | tee -a "$OUT/BUILD.txt" | sed 's/^/release: /'

(cd "$OUT" && find . -type f ! -name 'SHA256SUMS*' -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >SHA256SUMS)
[ -z "$KEY" ] || sign --output "$OUT/SHA256SUMS.asc" --detach-sign "$OUT/SHA256SUMS"
say "$OUT"
