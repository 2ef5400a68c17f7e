"""The command ``innobrim`` as it is installed: docs/decisions/wheel.md."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Run the command line of the folders that lie here; an editable installation has them on its path."""
    if (HERE / "tuner").is_dir():
        sys.path.insert(0, str(HERE))
    from tuner.cli.main import main as command  # noqa: PLC0415 - found from now on

    command()
