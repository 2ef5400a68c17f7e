#!/usr/bin/env bash
# A Kubernetes API server for tests/real/test_kubernetes.py, in .cache/kubernetes: kube-apiserver, built of its Go module, and
# Debian's etcd, unpacked. Needs Go 1.26 on the PATH; the build takes 20 minutes of a processor, and memory of 2 GiB.
set -euo pipefail
cd "$(dirname "$0")/../.."
readonly VERSION=1.36.1
readonly INTO=$PWD/.cache/kubernetes

fail() { printf 'SETUP: %s\n' "$*" >&2; exit 1; }
work=$(mktemp -d -p /var/tmp innobrim-apiserver.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir -p "$INTO"

if [ ! -x "$INTO/etcd" ]; then
  (cd "$work" && apt-get download etcd-server) || fail "etcd-server: apt-get does not give it; apt-get update first"
  dpkg-deb --extract "$work"/etcd-server_*.deb "$work/etcd"
  mv "$work/etcd/usr/bin/etcd" "$INTO/etcd"
fi

[ ! -x "$INTO/kube-apiserver" ] || exit 0
command -v go >/dev/null || fail "no go on the PATH"
# The module names its parts by folders that it does not have: each is a module of its own, of the same version.
source=$(cd "$work" && go mod download -json "k8s.io/kubernetes@v$VERSION" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
{
  printf 'module apiserver\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v%s\n' "$VERSION"
  sed -nE "s#^\s*(k8s.io/[a-z0-9-]+) => \./staging.*#replace \1 => \1 v0.${VERSION#1.}#p" "$source/go.mod"
} >"$work/go.mod"
printf 'package tools\n\nimport _ "k8s.io/kubernetes/cmd/kube-apiserver"\n' >"$work/tools.go"
version=k8s.io/component-base/version
minor=${VERSION#1.}
(cd "$work" && CGO_ENABLED=0 GOFLAGS=-mod=mod nice -n 19 go build -p 1 \
  -ldflags "-s -w -X $version.gitVersion=v$VERSION -X $version.gitMajor=1 -X $version.gitMinor=${minor%%.*}" \
  -o "$INTO/kube-apiserver" k8s.io/kubernetes/cmd/kube-apiserver)
