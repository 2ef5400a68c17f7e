#!/usr/bin/env bash
# Make the plain manifests of the chart: of each WAY.values.yaml here WAY.yaml, and for a sidecar WAY.patch.yaml.
# render.sh DIRECTORY writes them there. Takes helm of PATH, else the one that make servers fetches.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
into=${1:-$here}
helm=$(command -v helm || printf '%s/../../.cache/kubernetes/helm' "$here")
[ -x "$helm" ] || { echo "RENDER: no helm: make servers fetches it" >&2; exit 1; }

render() { # FILE VALUES [OPTION …]
  local file=$1 values=$2 made
  shift 2
  made=$("$helm" template innobrim "$here/../helm/innobrim" --values "$values" "$@")
  { printf '# Made of %s by render.sh.\n' "$(basename "$values")"; sed '/^# Source: /d; s/ *$//' <<<"$made" | cat -s; } >"$into/$file"
}

for values in "$here"/*.values.yaml; do
  way=$(basename "$values" .values.yaml)
  render "$way.yaml" "$values"
  [ "$way" = hosted ] || render "$way.patch.yaml" "$values" --set patch=true
done
