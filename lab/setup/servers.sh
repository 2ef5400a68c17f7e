#!/usr/bin/env bash
# Real servers for tests and benches on a Debian machine: Docker, sysbench and the image innobrim/mysql:9.7.
# Idempotent. Needs root only where something is missing. Exit 75: the package mirror failed, not we.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly IMAGE=innobrim/mysql:9.7
readonly DAEMON_WAIT=60
readonly APT=(apt-get -o DPkg::Lock::Timeout=120 -o Acquire::Retries=2)
readonly MIRROR_FAILED=75

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'SETUP: %s\n' "$*" >&2; exit 1; }
mirror_failed() { printf 'SETUP: package mirror %s\n' "$*" >&2; exit "$MIRROR_FAILED"; }
need_root() { [ "$(id -u)" -eq 0 ] || fail "$1 is missing: run $0 once as root"; }

# Judge a failed fetch by what it said: a mirror that moved, is down or out of step is nobody's bug here.
judge() {
  tail -n 20 "$2" >&2
  if grep -qiE 'failed to fetch|unable to fetch|404 +not found|could not (resolve|connect)|temporary failure|timed out|no longer has a|does not have a release|unable to locate package|hash sum mismatch|connection failed|50[0-9] ' "$2"; then
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

packages() {
  local missing=() pair
  for pair in dockerd:docker.io mmdebstrap:mmdebstrap sysbench:sysbench; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
  done
  # mmdebstrap and dockerd are means to the image: with a daemon that answers and has it, neither is needed.
  if have_image; then
    command -v sysbench >/dev/null && return
    missing=(sysbench)
  fi
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
have_image() { daemon_answers && docker image inspect "$IMAGE" >/dev/null 2>&1; }

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
  have_image && return
  need_root "image $IMAGE"
  local from
  from=$(mirror) || mirror_failed "not found in this machine's apt sources"
  root=$(mktemp -d -p /var/tmp innobrim-rootfs.XXXXXX)
  trap 'rm -rf "$root"' EXIT
  say "building $IMAGE from Debian unstable"
  mkdir -p .cache
  mmdebstrap --variant=apt --mode=root --aptopt='Acquire::Check-Valid-Until "false"' \
    --aptopt='Acquire::Retries "2"' --include=mysql-server-core,mysql-client-core unstable "$root/fs" \
    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $from unstable main" >.cache/mmdebstrap.log 2>&1 ||
    judge "unstable's mysql-server-core" .cache/mmdebstrap.log
  tar -C "$root/fs" -c . | docker import - "$IMAGE" >/dev/null
}

packages
start_daemon
build_image
say "ready: $(docker run --rm --label innobrim.lab=1 "$IMAGE" mysqld --version)"
