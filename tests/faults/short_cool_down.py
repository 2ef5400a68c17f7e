"""A daemon that takes a declared baseline over again sooner.

Run as a program in place of ``innobrim``: ``python tests/faults/short_cool_down.py SECONDS run …``.
"""

from __future__ import annotations

import sys

from tuner.core.ownership import foreign

if __name__ == "__main__":
    foreign.COOLDOWN_SECONDS = float(sys.argv[1])
    sys.argv[1:] = sys.argv[2:]
    from tuner.cli.main import main

    main()
