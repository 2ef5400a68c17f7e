"""What was logged."""

from __future__ import annotations

import io
import json
from typing import Any

from tuner.system import logs


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    """Return what was said, as a log collector would read it."""
    logs.close_logs(10.0)
    return [json.loads(line) for line in out.getvalue().splitlines()]
