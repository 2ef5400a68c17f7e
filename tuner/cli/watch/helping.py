"""What the key h shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from tuner.cli.watch.look import BAD, CAREFUL, GOOD, NAME, OURS, QUIET, Look

KEYS = (
    ("q", "quit; so does Ctrl-C"),
    ("p", "pause: the picture stands still, and nothing but the picture"),
    ("+ -", "charts go farther back, or less far: 1 min, 5 min, 15 min, 1 h, 6 h"),
    ("h", "this help, and away with it"),
    ("Ctrl-L", "draw all of it anew"),
)
WORDS = (
    ("age", "redo written since the last checkpoint, up to where writers block"),
    ("set-point", "the age ratio that is held: modified age over the flush limit"),
    ("C and M", "innodb_io_capacity and innodb_io_capacity_max, pages per second"),
    ("pages/s", "flushed by age, from the LRU tail, and by sync flushing (red)"),
    ("without it", "the same load with the values from before the first write"),
    ("predicted", "how long recovery and shutdown take, and a burst may last"),
    ("changes", "writes of C and M in the last hour, and how many more it may have"),
)
STEER = (
    ("innobrim pause | resume", "hands off; on again"),
    ("innobrim override --io-capacity-max N --ttl 10m", "an M of your own, for a time"),
    ("innobrim drain --to-age 10%", "the age down, for a shutdown"),
    ("innobrim park | restore | mode advisory", "safe; as it was; no writes"),
)
COLOURS = (
    ("as it should be", GOOD),
    ("look at it", CAREFUL),
    ("trouble", BAD),
    ("what is held", OURS),
    ("(nothing): a gap", ""),
)
READS = " only reads: no key changes the server"
KEY_WIDTH = 11
COMMAND_WIDTH = 49


def helping(look: Look) -> list[Text]:
    """Return the lines of the help, as many as there is room for; how to steer before what may be cut."""
    lines = [look.line((" innobrim watch ", f"{NAME} reverse"), " only reads" if look.narrow else READS)]
    lines += _table(look, KEYS, KEY_WIDTH, NAME)
    lines += [Text(), look.line(("To steer", NAME), " from another terminal")]
    lines += _table(look, STEER, COMMAND_WIDTH, "")
    lines.append(look.line(("Words", NAME), " as in innobrim status"))
    lines += _table(look, WORDS, KEY_WIDTH, NAME)
    lines += _colours(look)
    lines = lines[: look.height - 1]
    lines += [Text()] * (look.height - 1 - len(lines))
    return [*lines, look.line((" any key goes back", QUIET))]


def _table(look: Look, rows: Sequence[tuple[str, str]], width: int, style: str) -> Iterator[Text]:
    """Yield names and what they are, the latter on further lines where there is no room beside them."""
    for name, text in rows:
        if look.narrow:
            yield from look.labelled(name, text, most=2)
        else:
            yield look.line((f"  {name:<{width}}", style), text)


def _colours(look: Look) -> Iterator[Text]:
    if look.narrow:
        yield look.line(("Colours", NAME))
        yield from (look.line("  ", one) for one in COLOURS)
        return
    parts = [part for one in COLOURS for part in ("  ", one)]
    yield look.line(("Colours", NAME), *parts)
