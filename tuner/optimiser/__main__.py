"""``python -m tuner.optimiser``: the optimiser's process, started by the daemon."""

from __future__ import annotations

import os
import sys

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # read when numpy is imported: more threads cost twice the processor time

from tuner.optimiser.child import limit, serve  # noqa: E402 - after the environment

if __name__ == "__main__":
    limit()
    serve(sys.stdin.buffer, sys.stdout.buffer)
