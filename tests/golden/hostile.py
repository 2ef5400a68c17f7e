"""The invariants' machine driven by dice of a fixed seed, so that what it does can be recorded and read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from policies.types import Suggestion
from tests.core.machine import Loop
from tests.factory import EPOCH, command
from tests.golden.notation import Course
from tuner.records import Capacity, Command, Window
from tuner.settings import Mode, Settings

ROUNDS = 120
"""Things that are done to a loop in one run."""

KINDNESS = 0.35
"""Share of the rounds in which nothing is done but to wait."""

PEACE = 0.12
"""Share of the rounds in which all is mended, so that the loop writes again."""


def hostile(seed: int) -> Iterator[str]:
    """Yield the lines of one run: what was done, and what the loop decided after it."""
    dice = Random(seed)  # noqa: S311 - the same dice every time, and nothing secret
    machine, course = Loop(), Course()
    settings = _settings(dice)
    yield f"# {settings.mode}, {settings.policy}"
    machine.begin(settings, _pair(dice), 1e6, known=dice.random() < 0.5, warm=True, stuck=False)
    begun = machine.bench.records[0].tick.now
    seen = 0
    try:
        for deed in _deeds(dice, machine):
            yield f"# {deed}"
            for record in machine.bench.records[seen:]:
                yield from course.lines(record.tick.now - begun, record)
            seen = len(machine.bench.records)
    finally:
        machine.teardown()


def _deeds(dice: Random, machine: Loop) -> Iterator[str]:
    """Do one thing after the other to the loop, and yield in a few words what was done."""
    for _ in range(ROUNDS):
        if dice.random() < PEACE:
            machine.compete(writer=True, stranger=False, count=0)
            machine.refuse("")
            machine.hand_over({}, 0, read_only=False, firmly=False)
            machine.blind_counters(0, degraded=False)
            machine.change_server(
                resizing=False, redo=True, adaptive=True, lru=0.0, skew=0, size=100, count=0
            )
            machine.press(dirty_limit=90.0, waits=0, held=0, device=1e9, lru=0.0, count=0)
            machine.ask([command("resume"), command("mode", value="active")], 30)
            yield "all is mended"
        elif dice.random() < KINDNESS:
            machine.go_on(dice.randint(5, 40))
            yield "time passes"
        else:
            name = dice.choice(list(DEEDS))
            given = DEEDS[name](dice)
            if not (name in {"restart", "tamper", "move"} and machine.blind):
                getattr(machine, name)(**given)
                yield f"{name} {' '.join(f'{key}={_said(value)}' for key, value in given.items())}"


def _said(value: Any) -> str:  # noqa: ANN401 - whatever a rule takes
    if isinstance(value, list):
        return ",".join(_said(one) for one in value)
    if isinstance(value, Command):
        return value.name if value.value is None else f"{value.name}:{value.value}"
    if isinstance(value, Settings):
        return f"{value.mode}/{value.policy}"
    return str(value).replace(" ", "")


def _pair(dice: Random) -> Capacity:
    io_capacity = dice.randint(100, 10_000)
    return Capacity(io_capacity, io_capacity * dice.randint(1, 4))


def _settings(dice: Random) -> Settings:
    lowest = dice.randint(100, 1_500)
    return Settings(
        mode=dice.choice([Mode.ACTIVE, Mode.ACTIVE, Mode.ACTIVE, Mode.ADVISORY]),
        policy=dice.choice(["cascade", "cascade", "pid", "fixed"]),
        set_point=dice.choice([None, None, 0.5]),
        fixed_io_capacity_max=dice.randint(100, 20_000),
        min_io_capacity_max=lowest,
        max_io_capacity_max=dice.randint(lowest + 2_000, 20_000),
        dwell_seconds=dice.choice([5.0, 15.0]),
        max_changes_per_hour=dice.choice([3, 60, 120]),
        baseline=dice.choice([None, "10000/20000"]),
        max_recovery_seconds=dice.choice([None, 20.0]),
    )


def _order(dice: Random) -> Command:
    name = dice.choice(
        ["pause", "resume", "resume", "cancel_override", "cancel_drain", "park", "restore", "mode", "suggest"]
    )
    if name == "suggest":
        return command(name, value=1, suggestion=Suggestion(-0.05))
    if name == "mode":
        return command(name, value=dice.choice(["active", "active", "advisory", "nonsense"]))
    return command(name)


def _windows(dice: Random) -> Command:
    window = Window(
        name="a",
        began=EPOCH,
        ends=EPOCH + dice.choice([600.0, 100_000.0]),
        set_point=dice.choice([None, 0.21, 0.5, 0.95]),
        drain=dice.random() < 0.3,
        max_recovery_seconds=dice.choice([None, 2.0, 20.0]),
    )
    return command("schedule", windows=(window,) if dice.random() < 0.6 else ())


DEEDS: dict[str, Callable[[Random], dict[str, Any]]] = {
    "ask": lambda dice: {"asked": [_order(dice)], "count": dice.randint(0, 3)},
    "override": lambda dice: {"share": round(dice.random(), 2), "ttl": dice.choice([5.0, 60.0]), "count": 9},
    "drain": lambda dice: {"age": f"{dice.randint(20, 60)}%", "ttl": dice.choice([60.0, 600.0]), "count": 30},
    "the_clock_strikes": lambda dice: {"told": _windows(dice), "count": 20},
    "reload": lambda dice: {"chosen": _settings(dice)},
    "journal": lambda dice: {"stuck": dice.random() < 0.5},
    "be_late": lambda dice: {"seconds": dice.choice([0.2, 3.0, 12.0, 30.0])},
    "lose_time": lambda dice: {
        "seconds": dice.choice([0.4, 2.5, 30.0, 300.0]),
        "how": dice.choice(["still", "all still", "paused", "set"]),
        "down": dice.choice([0, 0, 4]),
        "asked": [],
        "count": 10,
    },
    "lose_contact": lambda dice: {"count": dice.randint(1, 9), "asked": [], "writer": True},
    "tamper": lambda dice: {"pair": _pair(dice), "away": dice.random() < 0.3},
    "restart": lambda dice: {"pair": _pair(dice), "recovered": dice.choice([None, 3.0])},
    "move": lambda dice: {"number": dice.randint(0, 2)},
    "spoil": lambda dice: {
        "after": dice.choice([None, 0, 1]),
        "value": dice.choice([None, 700]),
        "unread": dice.random() < 0.3,
    },
    "refuse": lambda dice: {"refusal": dice.choice(["", "access denied"])},
    "compete": lambda dice: {
        "writer": dice.random() < 0.6,
        "stranger": dice.random() < 0.5,
        "count": 3,
    },
    "hand_over": lambda dice: {
        "role": dice.choice([{}, {"replica": True}]),
        "count": 5,
        "read_only": dice.random() < 0.3,
        "firmly": False,
    },
    "blind_counters": lambda dice: {"degraded": dice.random() < 0.4, "count": 10},
    "go_on_beside": lambda dice: {
        "field": dice.choice(["backup_locked", "undo_truncating", "pool_loading", "nothing", "nothing"]),
        "ddl": dice.choice([0, 0, 1]),
        "drops": dice.choice([0, 1]),
        "count": 25,
    },
    "change_server": lambda dice: {
        "resizing": dice.random() < 0.2,
        "redo": dice.random() < 0.8,
        "adaptive": dice.random() < 0.8,
        "lru": 0.0,
        "skew": dice.choice([0, 0, 500]),
        "size": dice.choice([100, 100, 1024]),
        "count": 10,
    },
    "press": lambda dice: {
        "dirty_limit": dice.choice([90.0, 90.0, 10.0]),
        "waits": dice.choice([0, 0, 5_000]),
        "held": dice.choice([0, 0, 20]),
        "device": dice.choice([1e9, 1e9, 100.0]),
        "lru": dice.choice([0.0, 300.0]),
        "count": 25,
    },
    "change_load": lambda dice: {
        "rate": dice.choice([0.0, 1e5, 1e6, 4e6]),
        "density": dice.choice([1e-4, 4e-4, 2e-3]),
        "count": 15,
    },
}
"""The machine's rules, each with dice for what it takes."""
