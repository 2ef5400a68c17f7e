"""What commands print in certain situations: ``python -m tests.cli.asked`` writes ``said/`` anew.

Read the difference before it is kept: it is what people see.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import Result

from tests.cli.support import innobrim

FOLDER = Path(__file__).parent / "said"

WRONG = """\
[loop]
mode = "activ"
max_io_capacity = 5000
min_io_capacity_max = 30000

[daemn]
interval = 1

[server]
password = "secret"
port = 33061

[[schedule]]
name = "day"
cron = "0 8 * * *"
minutes = 60
drain = true

[[schedule]]
name = "night"
cron = "0 99 * * *"
minutes = 60
drain = true
"""
RIGHT = """\
[server]
socket = "/run/mysqld/mysqld.sock"

[loop]
mode = "active"
max_io_capacity_max = 4000

[[schedule]]
name = "night"
cron = "0 2 * * *"
minutes = 60
drain = true
"""
SITUATIONS: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    "config-check-wrong": (WRONG, ("check",), {"INNOBRIM_LOOP_RATO": "5"}),
    "config-check-fine": (RIGHT, ("check",), {}),
    "config-show-changed": (RIGHT, ("show", "--changed"), {"INNOBRIM_SERVER_HOST": "db1"}),
    "config-explain-key": (RIGHT, ("explain", "max_io_capacity_max"), {}),
    "config-explain-section": (RIGHT, ("explain", "log"), {}),
}
"""File, words and variables of each."""


def answer(folder: Path, name: str, *more: str) -> tuple[Result, str]:
    """Return what a command came to, and what it printed with the folder left out."""
    text, words, variables = SITUATIONS[name]
    path = folder / "innobrim.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o640)
    result = innobrim("config", *words, "--config", path, *more, **variables)
    return result, result.output.replace(f"{folder}/", "")


def main() -> None:
    """Write every file anew."""
    FOLDER.mkdir(exist_ok=True)
    for name in SITUATIONS:
        with TemporaryDirectory() as folder:
            FOLDER.joinpath(f"{name}.txt").write_text(answer(Path(folder), name)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
