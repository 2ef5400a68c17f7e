"""The cases that people write: a fake server, what happens to it tick by tick, and what should be decided."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import MEBIBYTE, SAVED, command
from tests.golden.notation import decision_of
from tuner.core.step import start
from tuner.records import Capacity, Command, Sample, TickRecord, Window
from tuner.servers.families.redo_capacity import redo_limits
from tuner.settings import Mode, Settings

FOLDER = Path(__file__).parent / "cases"

ARROW = "=>"

SETTLED, NEAR = 30, 0.03
"""For so many ticks the age has been no farther from the set-point, and nothing was written."""


class Line(msgspec.Struct, frozen=True):
    """One line of a case."""

    tick: int  # from which on it holds, until the next line's
    deeds: str  # what happens before this tick: figures, and commands with a ``!``
    expected: str  # of this tick and all up to the next line's


class Case(msgspec.Struct, frozen=True):
    """A file of ``cases/``: remarks and settings at its top, then its lines; the last one ends it."""

    head: tuple[str, ...]
    lines: tuple[Line, ...]
    end: int


def read(path: Path) -> Case:
    """Return a case as it stands in its file."""
    head: list[str] = []
    lines: list[Line] = []
    end = 0
    for text in path.read_text(encoding="utf-8").splitlines():
        words = text.split()
        if words and words[0].isdigit():
            left, _, expected = text.partition(ARROW)
            tick, deeds = (*left.split(maxsplit=1), "")[:2]
            lines.append(Line(int(tick), " ".join(deeds.split()), expected.strip()))
        elif words and words[0] == "end":
            end = int(words[1])
        else:
            head.append(text)
    return Case(tuple(head), tuple(lines), end)


def text_of(case: Case, records: Sequence[TickRecord]) -> str:
    """Return what should stand in a case's file: the same remarks and deeds, and what is decided."""
    deeds = {line.tick: line.deeds for line in case.lines if line.deeds}
    said, before, source = [*case.head], "", ""
    for tick, record in enumerate(records, start=1):
        decided, now = decision_of(record), record.decision.set_point_source
        if deeds.get(tick) or (decided, now) != (before, source):
            aim = "" if now == source else f"; set-point by {now or 'none'}"
            said.append(f"{tick:5}  {deeds.get(tick, ''):44} {ARROW} {decided}{aim}")
        before, source = decided, now
    return "\n".join([*said, f"end {case.end}\n"])


def not_shown(case: Case, records: Sequence[TickRecord]) -> list[str]:
    """Return what the head says that the case shows, and its records do not."""
    claims = [text.split()[1:] for text in case.head if text.startswith("shows ")]
    missing = [] if claims else ["no line says what it shows"]
    for first, *words in claims:
        if first.isdigit():
            found = _facts(records[: int(first)])
            missing += [f"{word} at {first}" for word in words if word not in found]
        else:
            anywhere = set().union(*(_facts(records[:end]) for end in range(1, len(records) + 1)))
            missing += [word for word in (first, *words) if word not in anywhere]
    return missing


def _facts(records: Sequence[TickRecord]) -> set[str]:
    """Return the words that are true of the last of some records, as ``README.md`` lists them."""
    record = records[-1]
    decision, reading = record.decision, record.tick.reading
    facts = {decision.kind.value, decision.reason, record.mode.value, *decision.set_point_source.split()}
    facts |= {*decision.guards, *(hold.code.value for hold in record.holds)}
    facts |= {event.code for event in record.events}
    facts |= {str(reading.capacity)} if isinstance(reading, Sample) else set()
    facts |= {"would"} if decision.would is not None else set()
    facts |= {"settled"} if len(records) >= SETTLED and all(map(_rests, records[-SETTLED:])) else set()
    return facts


def _rests(record: TickRecord) -> bool:
    """Tell whether the age is at the set-point and nothing is written."""
    found, aim = record.estimate, record.decision.set_point
    there = found is not None and aim is not None and abs(found.age_ratio - aim) <= NEAR
    return there and not record.decision.steps


def run(case: Case) -> list[TickRecord]:
    """Return what is decided at every tick of a case."""
    settings = Settings(mode=Mode.ACTIVE)
    server = FakeServer()
    beginning: dict[str, Any] = {}
    for text in case.head:
        word, *given = text.split() or [""]
        pairs = dict(one.split("=", 1) for one in given if "=" in one)
        if word == "settings":
            settings = replace(settings, **_settings(pairs))
        elif word == "server":
            for name, value in pairs.items():
                _happens(server, name, value)
        elif word == "start":
            beginning = {name: _pairs(value) for name, value in pairs.items()}
            beginning |= {"originals": beginning["originals"][0]} if "originals" in beginning else {}
    server.ours = False
    bench = Bench(settings, server)
    bench.state = start(settings, server.facts(), **beginning)
    deeds = {line.tick: line.deeds for line in case.lines}
    return [_turned(bench, deeds.get(tick, "")) for tick in range(1, case.end + 1)]


def _settings(pairs: dict[str, str]) -> dict[str, Any]:
    """Return settings as the configuration would read them."""
    found = msgspec.convert(pairs, Settings, strict=False)
    return {name: getattr(found, name) for name in pairs}


def _pairs(value: str) -> tuple[Capacity, ...]:
    return tuple(Capacity(*(int(part) for part in one.split("/"))) for one in value.split(","))


def _turned(bench: Bench, deeds: str) -> TickRecord:
    """Let happen what is to happen, and tick."""
    commands: list[Command] = []
    seconds = 1.0
    for deed in deeds.split():
        name, _, value = deed.partition("=")
        if name.startswith("!"):
            commands.append(_command(name[1:], value))
        elif name == "seconds":
            seconds = float(value)
        elif name in {"stand_still", "pause_server"}:
            getattr(bench, name)(float(value))
        else:
            _happens(bench.server, name, value)
    return bench.turn(*commands, seconds=seconds)


def _command(name: str, value: str) -> Command:
    """Return a command: ``!override=600,ttl=60``; ``!schedule`` takes the fields of a window."""
    if name == "originals_saved":
        return SAVED
    given: dict[str, Any] = {}
    for part in value.split(",") if value else []:
        key, _, said = part.rpartition("=")
        given[key or "value"] = _read(said)
    if name == "schedule":
        window = Window(name="nightly", began=0.0, ends=1e12, **given) if given else None
        return command(name, windows=() if window is None else (window,))
    return command(name, **given)


def _happens(server: FakeServer, name: str, value: str) -> None:
    """Change a figure of the server; somebody else's SETs, restarts and ages have names of their own."""
    if name == "set":
        server.capacity, server.ours = _pairs(value)[0], False
    elif name == "restart":
        server.restart(_pairs(value)[0])
    elif name == "age":
        server.oldest = server.lsn - float(value) * redo_limits(server.redo_capacity).flush_limit
    elif name == "redo_mib":
        server.redo_capacity = int(value) * MEBIBYTE
    elif "." in name:
        group, _, field = name.partition(".")
        setattr(server, group, {**getattr(server, group), field: _read(value)})
    else:
        getattr(server, name)
        setattr(server, name, _read(value))


def _read(value: str) -> Any:  # noqa: ANN401 - whatever the server's field holds
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value
