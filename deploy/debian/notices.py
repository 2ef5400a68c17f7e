"""Write the package's copyright file: our licence, and the notice of everything that it carries.

Runs in the package's own environment, on what is really installed there; standard library only.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

import innobrim

OWN = "innobrim"
HERE = Path(innobrim.__file__).parent
VENDORED = HERE / "api" / "static" / "vendor"
HEAD = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: InnoBrim
"""
APACHE = """\
License: Apache-2.0
 On Debian systems the full text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
"""
NAMES = ("licen", "copying", "notice", "copyright", "authors")


def main() -> int:
    """Print the file; 1 where something is carried without any notice."""
    found = sorted(distributions(path=[str(HERE.parent)]), key=lambda one: one.name.lower())
    missing = []
    print(f"{HEAD}\nFiles: *\nCopyright: The InnoBrim authors\nLicense: Apache-2.0\n\n{APACHE}")
    for one in found:
        if one.name == OWN:
            continue
        texts = list(notices(one))
        if not texts:
            missing.append(one.name)
        show(f"{one.name} {one.version}", licence(one), texts)
    for folder in sorted(VENDORED.iterdir()):
        about = tomllib.loads((folder / "VENDORED.toml").read_text(encoding="utf-8"))
        text = (folder / "LICENSE").read_text(encoding="utf-8")
        show(f"{about['name']} {about['version']}, in the API's page", about["licence"], [text])
    for name in missing:
        print(f"notices: {name} has no licence file", file=sys.stderr)
    return 1 if missing else 0


def licence(one: Distribution) -> str:
    """Return what a distribution says its licence is."""
    about = one.metadata
    classified = [
        line.rpartition(" :: ")[2]
        for line in about.get_all("Classifier", [])
        if line.startswith("License ::")
    ]
    return about.get("License-Expression") or ", ".join(classified) or about.get("License") or "see below"


def notices(one: Distribution) -> Iterator[str]:
    """Yield the texts of a distribution's licence files."""
    for file in sorted(one.files or (), key=str):
        if ".dist-info" not in file.parts[0] or not any(name in file.name.lower() for name in NAMES):
            continue
        text = Path(str(one.locate_file(file))).read_text(encoding="utf-8", errors="replace")
        if text.strip():
            yield text


def show(what: str, words: str, texts: list[str]) -> None:
    """Print one part, its texts indented as the format wants them."""
    print(f"Comment: {what}\nLicense: {' '.join(words.split())}")
    for text in texts:
        print("\n".join(f" {line.rstrip()}" if line.strip() else " ." for line in text.strip().splitlines()))
        print(" .")
    print()


if __name__ == "__main__":
    sys.exit(main())
