"""The cases that people write: a fake server, what happens to it tick by tick, and what should be decided."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import MEBIBYTE, SAVED, command
from tests.golden.notation import decision_of
from tuner.core.step import start
from tuner.records import Capacity, Command, TickRecord, Window
from tuner.servers.families.redo_capacity import redo_limits
from tuner.settings import Mode, Settings

FOLDER = Path(__file__).parent / "cases"

ARROW = "=>"


class Line(msgspec.Struct, frozen=True):
    """One line of a case.

    Attributes:
        tick: from which on it holds, until the next line's.
        deeds: what happens before this tick: figures, and commands with a ``!``.
        expected: of this tick and all up to the next line's.
    """

    tick: int
    deeds: str
    expected: str


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


def text_of(case: Case) -> str:
    """Return what should stand in a case's file: the same remarks and deeds, and what is decided."""
    deeds = {line.tick: line.deeds for line in case.lines if line.deeds}
    said, before = [*case.head], ""
    for tick, decided in _decided(case):
        if deeds.get(tick) or decided != before:
            said.append(f"{tick:5}  {deeds.get(tick, ''):44} {ARROW} {decided}")
        before = decided
    return "\n".join([*said, f"end {case.end}\n"])


def _decided(case: Case) -> Iterator[tuple[int, str]]:
    """Yield what is decided at every tick of a case."""
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
    for tick in range(1, case.end + 1):
        yield tick, decision_of(_turned(bench, deeds.get(tick, "")))


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
