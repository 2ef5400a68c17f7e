"""Write the golden files anew; README.md says when that is right."""

from __future__ import annotations

import sys

from tests.golden import cases, runs


def main(names: list[str]) -> None:
    """Write the files of these names, or all, and take away runs that are no more."""
    for path in sorted(cases.FOLDER.glob("*.txt")):
        if not names or path.stem in names:
            case = cases.read(path)
            path.write_text(cases.text_of(case, cases.run(case)), encoding="utf-8")
    for name in runs.RUNS:
        if not names or name in names:
            (runs.FOLDER / f"{name}.txt").write_text(runs.text_of(name), encoding="utf-8")
    for path in runs.FOLDER.glob("*.txt"):
        if path.stem not in runs.RUNS:
            path.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
