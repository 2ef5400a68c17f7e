"""Exit codes, the same for every command."""

from __future__ import annotations

FINE = 0
NO = 1
USAGE = 2
UNREACHABLE = 3
UNFINISHED = 4
INTERRUPTED = 130
