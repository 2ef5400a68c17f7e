"""The questions whose answers are written down in ``said/``: ``python -m tests.why.asked`` writes them anew.

Record anew where words are meant to change, and read the result as a stranger would.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import msgspec

from tests.bench import Bench, FakeServer, Worse
from tests.core.loops import DENSITY, RATE
from tests.factory import DEFAULT, A, command
from tests.why.situations import EPOCH, kept, lived
from tuner.cli.why import lines
from tuner.core.step import start
from tuner.journal.past import past_of
from tuner.records import Capacity, Facts, TickRecord
from tuner.settings import Mode, Settings
from tuner.why.model import Why
from tuner.why.search import Past, of_change, of_moment, of_now, of_span

FOLDER = Path(__file__).parent / "said"
REAL = Path(__file__).parents[1] / "fixtures" / "why" / "mysql-9.7.4.json"
HELD_SECONDS, END_SECONDS = 900, 1960

Situation = Callable[[Path], Path]


def day(directory: Path) -> Path:
    """Live through a way up, an override, a drain and a pause."""
    deeds = {
        1000: command("override", value=900, ttl=60.0, who="ann (unix socket)", reason="bulk load"),
        1300: command("drain", value="45MiB", ttl=240.0, who="ann (unix socket)"),
        1900: command("pause", who="ann (unix socket)", reason="looking around"),
    }
    return lived(directory, seconds=END_SECONDS, deeds=deeds)


def tried(directory: Path) -> Path:
    """Live through a turn of the originals in a trial, and the way back."""
    begin = command("trial", value=2, ttl=7200.0, who="ann (unix socket)")
    return lived(directory, seconds=900, deeds={600: begin})


def alarmed(directory: Path) -> Path:
    """Live through an emergency in a trial, in a block of InnoBrim's values."""
    server = FakeServer(Capacity(650, 650), redo_rate=RATE)
    server.density = DENSITY
    server.oldest = server.lsn - 0.8 * A
    settings = Settings(mode=Mode.ACTIVE, set_point=0.8)
    bench = Bench(settings, server, originals=DEFAULT, left=(server.capacity,))
    first = bench.state
    bench.turns(60)
    bench.turn(command("trial", value=6, ttl=7200.0, who="ann (unix socket)"))
    bench.turns(30)
    server.redo_rate *= 8.0
    bench.until("emergency", limit=120)
    bench.turns(60)
    return kept(directory, first, bench.records)


def few(directory: Path) -> Path:
    """Live with three changes an hour."""
    return lived(directory, seconds=200, max_changes_per_hour=3)


def waves(directory: Path) -> Path:
    """Live with a load that comes and goes."""
    return lived(directory, seconds=300, scenario="h09-onoff")


def worse(directory: Path) -> Path:
    """Live beside a server that does worse under values that it was not found with."""
    bench = Bench(server=Worse())
    first = bench.state
    bench.turn(command("mode", value="advisory"))
    bench.turns(1200)
    bench.turn(command("mode", value="active"))
    bench.turn()
    bench.ready()
    while bench.record.mode is not Mode.ADVISORY:
        bench.turn()
    bench.turns(120)
    return kept(directory, first, bench.records)


class Recorded(msgspec.Struct):
    """Half a minute of the loop's ticks on a real server."""

    facts: Facts
    records: list[TickRecord]


def real(directory: Path) -> Path:
    """Take what the loop went through on MySQL 9.7.4 under sysbench, with 1200 write IOPS."""
    found = msgspec.json.decode(REAL.read_bytes(), type=Recorded)
    return kept(directory, start(Settings(set_point=0.75), found.facts), found.records)


def kind(wanted: str, place: int = 0) -> Callable[[Past], Why]:
    """Return the question about a change of a kind, counted from the first."""

    def ask(past: Past) -> Why:
        found = [one for one in past.changes(0.0, 1e12) if one.kind.value == wanted]
        return of_change(past, found[place].number)

    return ask


def at(second: float, lasting: float = 0.0) -> Callable[[Past], Why]:
    """Return the question about a second after the start."""
    return lambda past: of_moment(past, EPOCH + second, lasting=lasting)


ASKED: Mapping[str, tuple[Situation, Callable[[Past], Why]]] = {
    "way-up": (day, lambda past: of_change(past, 3)),
    "settled": (day, kind("set", 5)),
    "held": (day, at(HELD_SECONDS)),
    "override": (day, kind("override")),
    "drain": (day, kind("drain")),
    "drained": (day, at(1500.0)),
    "on-the-way-back": (day, at(1595.0)),
    "back-from-a-drain": (day, at(1540.0, 60.0)),
    "now-paused": (day, of_now),
    "last-hour": (day, lambda past: of_span(past, 3600.0)),
    "after-the-end": (day, at(9000.0)),
    "no-such-change": (day, lambda past: of_change(past, 99)),
    "budget-spent": (few, of_now),
    "emergency": (waves, kind("emergency")),
    "back-from-an-emergency": (waves, of_now),
    "baseline-comes-back": (worse, kind("restore")),
    "baseline-is-back": (worse, of_now),
    "trial-to-the-originals": (tried, kind("trial", 2)),
    "trial-originals-turn": (tried, at(780.0)),
    "trial-back": (tried, kind("trial", -1)),
    "trial-ended-by-an-emergency": (alarmed, kind("restore")),
    "real-mysql": (real, lambda past: of_change(past, 1)),
}
"""By the name of its file: where, and what is asked there."""


def said(ask: Callable[[Past], Why], directory: Path) -> str:
    """Return the answer as a person reads it, in UTC, on the day itself."""
    with past_of(directory) as past:
        answer = ask(past)
    now = answer.known.ends if answer.known is not None else EPOCH
    text = "\n".join(lines(answer, now=now, listed=ask is ASKED["last-hour"][1]))
    return text.replace(str(directory), "/var/lib/innobrim").strip() + "\n"


def main(names: list[str]) -> None:
    """Write the files of these names, or all."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    with tempfile.TemporaryDirectory() as scratch:

        @cache
        def lived_through(situation: Situation) -> Path:
            directory = Path(scratch) / situation.__name__
            directory.mkdir()
            return situation(directory)

        for name, (situation, ask) in ASKED.items():
            if not names or name in names:
                (FOLDER / f"{name}.txt").write_text(said(ask, lived_through(situation)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
