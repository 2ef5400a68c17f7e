"""What the key h shows."""

from __future__ import annotations

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
    ("predicted", "were it now: crash recovery, shutdown; how long a burst may last"),
    ("changes", "writes of C and M in the last hour, and how many more it may have"),
)
STEER = (
    "innobrim pause | resume                          hands off; on again",
    "innobrim override --io-capacity-max N --ttl 10m  an M of your own, for a time",
    "innobrim drain --to-age 10%                      the age down, for a shutdown",
    "innobrim park | restore | mode advisory          safe; as it was; no writes",
)


def helping(look: Look) -> list[Text]:
    """Return the lines of the help, as many as there is room for."""
    lines = [look.line((" innobrim watch ", f"{NAME} reverse"), " only reads: no key changes the server")]
    lines += [look.line((f"  {key:<11}", NAME), text) for key, text in KEYS]
    lines += [Text(), look.line(("Words", NAME), " as in innobrim status, and in the README")]
    lines += [look.line((f"  {word:<11}", NAME), text) for word, text in WORDS]
    lines.append(
        look.line(
            ("Colours", NAME),
            "  ",
            ("as it should be", GOOD),
            "  ",
            ("look at it", CAREFUL),
            "  ",
            ("trouble", BAD),
            "  ",
            ("what is held", OURS),
            "  (nothing): a gap",
        )
    )
    lines.append(look.line(("To steer", NAME), " from another terminal"))
    lines += [look.line(f"  {text}") for text in STEER]
    lines = lines[: look.height - 1]
    lines += [Text()] * (look.height - 1 - len(lines))
    return [*lines, look.line((" any key goes back", QUIET))]
