#!/usr/bin/env bash
# Make a release of the tag vX.Y.Z at HEAD, in dist/release/X.Y.Z: wheel, source distribution, packages for this machine's
# architecture, list of components (SBOM), container image, apt and dnf repositories, checksums.
# RELEASE_KEY: a GPG key of yours that signs; without it nothing is signed. BASE: as for make image; without it there is no image.
# SUITES: the distributions, of the list below, such as "bookworm el9"; all by default. Packages that lie in dist/release/X.Y.Z/apt/pool or dnf already, of an older
# version or of another architecture, are in the repositories as well.
set -euo pipefail
cd "$(dirname "$0")/../.."

export BIN=${BIN:-.venv/bin}
readonly PYTHON_IMAGE=innobrim/systemd:252

# Suite, what it adds to the revision, the image that has its Python, and the RPMs that have the same Python.
readonly TARGETS=(
  "bookworm deb12 innobrim/systemd:252 el8 el9"
  "trixie deb13 innobrim/systemd:257"
  "noble ubuntu24.04 innobrim/ubuntu:24.04"
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

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
readonly OUT=dist/release/$VERSION
work=$(mktemp -d -p /var/tmp innobrim-release.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir -p "$OUT"
rm -f "$OUT"/*.*
find "$OUT" \( -name '*.asc' -o -name 'Release*' -o -name InRelease \) -delete
left_out=()

say "wheel and source distribution"
deploy/wheel.sh "$OUT" --sdist

say "list of components"
"$BIN/cyclonedx-py" requirements deploy/requirements.lock --pyproject pyproject.toml --mc-type application \
  --output-reproducible --output-file "$OUT/innobrim-$VERSION.cdx.json" 2>"$work/sbom" || fail "no SBOM: $(cat "$work/sbom")"

for target in "${TARGETS[@]}"; do
  read -r suite mark image of_it <<<"$target"
  is_wanted "$suite" || continue
  rpms=
  for release in $of_it; do ! is_wanted "$release" || rpms+=" $release"; done
  if ! docker image inspect "$image" >/dev/null 2>&1; then
    [[ $image == innobrim/ubuntu:* ]] || fail "image $image is missing, or no Docker daemon answers: make servers"
    left_out+=("no package for $suite: no image $image, which is Ubuntu with python3-venv")
    continue
  fi
  say "packages for $suite$rpms"
  DIST=$work/$suite REVISION=1+$mark IMAGE=$image RPM=$rpms deploy/debian/build.sh >"$work/made"
  install -D -m 0644 -t "$OUT/apt/pool/$suite" "$work/$suite"/*.deb
  for release in $rpms; do
    install -D -m 0644 -t "$OUT/dnf/$release/$(uname -m)" "$work/$suite"/*."$release".*.rpm
  done
  rm -r "${work:?}/$suite"
done

if [ -n "${BASE:-}" ]; then
  say "container image"
  name=$(deploy/container/build.sh)
  archive=innobrim-$VERSION-image-$(uname -m).tar
  docker save "$name" | gzip -9n >"$OUT/$archive.gz"
  docker image inspect --format "{{.Id}}  $name, on $BASE" "$name" >"$OUT/$archive.id"
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
