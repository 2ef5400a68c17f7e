"""``python -m lab.plant.articles`` prints docs/results/plant-seeds.md.

``--fit`` prints the two fitted parameters instead, as found anew.
"""

from __future__ import annotations

import sys

from lab.plant.articles.page import fitted, report


def main(arguments: list[str]) -> int:
    """Print the page, or the fit with ``--fit``; return the exit code."""
    if arguments not in ([], ["--fit"]):
        sys.stderr.write("usage: python -m lab.plant.articles [--fit]\n")
        return 2
    for line in [fitted()] if arguments else report():
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
