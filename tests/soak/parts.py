"""``python -m tests.soak.parts``: what a daemon's memory is made of before its first tick.

One process imports one thing after another, in the order of a daemon that has an API.
"""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]

PARTS = {
    "interpreter": "",
    "click, msgspec": "import click, msgspec",
    "ssl, hashlib: OpenSSL": "import ssl, hashlib",
    "structlog, with logging and asyncio": "import tuner.system.logs",
    "sqlite3, PyMySQL": "import sqlite3, pymysql",
    "`policies`, `tuner`": "import tuner.cli.main, tuner.cli.run",
    "Starlette": "import starlette.applications, starlette.routing",
    "FastAPI, pydantic": "import api.problems",
    "uvicorn, prometheus-client": "import uvicorn, prometheus_client",
    "`api`": "import api.access, api.app, api.daemon, api.server",
    "routes, and six hours of history": """
from tuner.cli.run import Board, make_api
from tuner.config.schema import Config, DaemonSection
config = Config(daemon=DaemonSection(state_directory=sys.argv[1]))
made = make_api(config, Board(watched=True), configuration=lambda: config)
""",
}
"""Each part, and the code that takes it into memory."""

BEGIN = """
import sys
def memory():
    rows = (line.split() for line in open("/proc/self/smaps_rollup") if line.endswith("kB\\n"))
    kib = {name: int(size) for name, size, _ in rows}
    return [kib["Rss:"] / 1024, (kib["Private_Clean:"] + kib["Private_Dirty:"]) / 1024]
before = [0, 0]
"""
LOOK = """
now = memory()
print("|", {name!r}, *(f"| {{size - other:.1f}}" for size, other in zip(now, before)), "|")
before = now
"""


def write_byte_code() -> None:
    """Write our byte code, as an installation does; a process that compiles a module takes more memory."""
    for room in ("policies", "tuner", "api"):
        compileall.compile_dir(ROOT / room, quiet=1)


def main() -> None:
    """Print what each part adds to the resident memory, and to what no other process shares, MiB."""
    write_byte_code()
    program = BEGIN + "".join(code + LOOK.format(name=name) for name, code in PARTS.items())
    program += "before = [0, 0]" + LOOK.format(name="together")
    with tempfile.TemporaryDirectory(prefix="innobrim-parts-") as place:
        subprocess.run(  # noqa: S603 - a program of our own
            [sys.executable, "-c", program, place],
            check=True,
            cwd=ROOT,
            env=os.environ | {"MALLOC_ARENA_MAX": "1"},  # as the daemon has it
        )


if __name__ == "__main__":
    main()
