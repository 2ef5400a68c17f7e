"""What is vendored is what its makers published."""

from __future__ import annotations

import hashlib
import tomllib

from lab.report.assets import UPLOT


def test_uplot_is_the_published_one() -> None:
    """Version, licence and the sums of every file are on record, and the files are those."""
    marks = tomllib.loads((UPLOT / "VENDORED.toml").read_text())

    sums = {name: hashlib.sha256((UPLOT / name).read_bytes()).hexdigest() for name in marks["sha256"]}
    assert sums == marks["sha256"]
    assert {one.name for one in UPLOT.iterdir()} == {*sums, "VENDORED.toml", "LICENSE"}
    assert marks["licence"] == "MIT"
    assert "Leon Sorokin" in (UPLOT / "LICENSE").read_text()
    assert f"v{marks['version']}" in (UPLOT / "uPlot.iife.min.js").read_text()[:300]
