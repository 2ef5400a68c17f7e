"""``python -m tuner.optimiser``: the optimiser's process, started by the daemon."""

from __future__ import annotations

import sys

from tuner.optimiser.child import limit, serve

if __name__ == "__main__":
    limit()
    serve(sys.stdin.buffer, sys.stdout.buffer)
