#!/usr/bin/env bash
# make prove PART=mutants: one small change at a time in guards, gate, tokens and restore (cosmic-ray, in a copy of the tree), and
# which of them the tests beside a module do not notice. MINUTES=14 for each module; the same command goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
ROOT=$PWD WORK=$PWD/.cache/mutants BIN=${BIN:-$PWD/.venv/bin}

TARGETS="
tuner/core/writes/guards.py tests/core/test_guards.py tests/core/test_emergency.py
tuner/core/gate.py tests/core/test_gate.py
api/tokens.py tests/api/test_tokens.py tests/api/test_access.py tests/cli/test_token.py
tuner/without_daemon.py tests/test_restore.py tests/test_park.py tests/cli/test_offline.py
"

while read -r module tests; do
  [ -n "$module" ] || continue
  # shellcheck disable=SC2086 # a list of files
  mark=$(cat "$module" $tests | sha256sum | cut -c1-12) # another text begins another session
  name=$WORK/$(basename "$module" .py)-$mark
  rm -rf "$WORK/tree" && mkdir -p "$WORK/tree" # what was stopped may have left a change in the last one
  cp -r api lab policies pyproject.toml tests tuner "$WORK/tree"
  cd "$WORK/tree"
  export PYTHONPATH=$PWD PYTHONDONTWRITEBYTECODE=1
  printf '%s\n' '[cosmic-ray]' "module-path = \"$module\"" 'timeout = 120.0' 'excluded-modules = []' \
    "test-command = \"$BIN/python -m pytest -x -q -p no:cacheprovider $tests\"" \
    '[cosmic-ray.distributor]' 'name = "local"' >"$name.toml"
  if [ ! -f "$name.sqlite" ]; then
    # shellcheck disable=SC2086 # a list of files
    "$BIN/python" -m pytest -x -q -p no:cacheprovider $tests # without a change they pass
    "$BIN/cosmic-ray" init "$name.toml" "$name.sqlite"
  fi
  timeout "${MINUTES:-14}m" "$BIN/cosmic-ray" exec "$name.toml" "$name.sqlite" || echo "$module: not every change was tried"
  "$BIN/cr-report" --surviving-only --show-diff "$name.sqlite"
  cd "$ROOT"
done <<<"$TARGETS"
