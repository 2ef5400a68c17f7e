"""Numbers that JavaScript's own do not hold, as the page's scripts read and show them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "api" / "static" / "js"
NODE = shutil.which("node")
TOP = 2**64 - 1

PROGRAM = f"""
import {{ readFileSync, writeFileSync, mkdtempSync, copyFileSync }} from "node:fs";
const folder = mkdtempSync(process.argv[1] + "/js-");
for (const name of ["api", "format"]) copyFileSync("{SCRIPTS}/" + name + ".js", folder + "/" + name + ".mjs");
const {{ parse }} = await import(folder + "/api.mjs");
const {{ pair, whole }} = await import(folder + "/format.mjs");
const found = parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify({{ pair: pair(found.in_force), whole: whole(found.small), found }}));
"""


@pytest.mark.skipif(NODE is None, reason="no node, which runs the page's scripts without a browser")
def test_every_digit_is_shown(tmp_path: Path) -> None:
    """A pair up to 2^64 − 1 is shown to the last digit; texts and other numbers stay as they are."""
    sent = {
        "in_force": {"io_capacity": 2**53 + 1, "io_capacity_max": TOP},
        "small": 12_345,
        "largest": 2**53 - 1,
        "fraction": 0.12345678901234567,
        "text": f'a "quoted" reason: {TOP}, [{TOP}]\\',
        "list": [1, -5, 1e300, None, True],
    }
    assert NODE is not None
    done = subprocess.run(  # noqa: S603 - our own script
        [NODE, "--input-type=module", "--eval", PROGRAM, str(tmp_path)],
        input=json.dumps(sent),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    shown = json.loads(done.stdout)

    thin = "\u202f"
    assert shown["pair"] == f"{2**53 + 1:,} / {TOP:,}".replace(",", thin)
    assert shown["whole"] == f"12{thin}345"
    kept = shown["found"]
    assert {name: kept[name] for name in ("small", "largest", "fraction", "text", "list")} == {
        name: sent[name] for name in ("small", "largest", "fraction", "text", "list")
    }
