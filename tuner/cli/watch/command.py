"""``innobrim watch``: the command line of it."""

from __future__ import annotations

import os
import sys
import time

import click

from tuner.cli.api_client import Daemon
from tuner.cli.errors import answering
from tuner.cli.quantities import Duration
from tuner.cli.saying import say_json
from tuner.cli.watch.follow import SPANS, Follower, View
from tuner.cli.watch.glyphs import ASCII, Glyphs, glyphs_for
from tuner.cli.where import Where, configuration, options

LONGEST_INTERVAL = 3600.0
DUMB = {"", "dumb", "unknown"}
COLUMNS, LINES = 80, 48
"""Size of a picture that is not on a terminal."""


@click.command()
@click.option(
    "--interval",
    metavar="TIME",
    type=Duration(LONGEST_INTERVAL),
    default="1s",
    show_default=True,
    help="Ask the daemon so often, in s, m or h.",
)
@click.option(
    "--range",
    "span",
    metavar="TIME",
    type=Duration(SPANS[-1]),
    default="5m",
    show_default=True,
    help="How far back the charts go; at most 6h.",
)
@click.option("--once", is_flag=True, help="Print one picture and end.")
@click.option("--lines", is_flag=True, help="Print one line each time, until Ctrl-C.")
@click.option("--ascii", "plain", is_flag=True, help="Use ASCII alone, as where the locale is not UTF-8.")
@options
def watch(
    where: Where,
    *,
    interval: float,
    span: float,
    once: bool,
    lines: bool,
    plain: bool,
    as_json: bool,
) -> None:
    """Show what the loop does and why, as a picture that goes on; on this machine or over --url.

    First whether it works, its last decision and why, and what would be without it; then the age up to max
    checkpoint age with set-point and sync flushing marked, charts of the last minutes, holds, what a crash or
    a shutdown would take now, and the last decisions and events. It only reads: no key changes anything.

    Keys: q quit, p pause the picture, + and - the range of the charts, h help.

    Where the output is no terminal, or one that cannot move its cursor (TERM=dumb), it prints one picture as
    text and ends. --json prints what innobrim status --json does: with --once one object, else one a line
    each time. NO_COLOR is heeded. While the daemon does not answer, the last picture stays, greyed, and is
    gone on with as soon as it answers again.

    Exit 0: ended by q or Ctrl-C. Exit 3: nothing answers at the beginning.

    \b
    Example: innobrim watch
             innobrim watch --url https://db1.example:8633 --range 1h
             innobrim watch --lines --interval 10s >> innobrim.log
    """  # noqa: D301 - click's sign for lines that stay as they are
    if lines and (once or as_json):
        raise click.UsageError("--lines goes without --once and --json")
    with answering(as_json=as_json):
        follower = Follower(Daemon(where, configuration(where)), interval=interval, span=span)
        first = follower.ask()
    glyphs = ASCII if plain else glyphs_for(os.environ)
    try:
        if as_json:
            _objects(follower, first, once=once)
        elif lines:
            _lines(follower, first, glyphs)
        elif once or not _is_screen():
            _still(first, glyphs)
        else:
            from tuner.cli.watch.screen import Screen  # noqa: PLC0415 - --help must not carry it

            Screen(follower, first, glyphs).run()
    except KeyboardInterrupt:
        return


def _is_screen() -> bool:
    """Tell whether the output is a terminal that can be drawn on."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in DUMB


def _still(view: View, glyphs: Glyphs) -> None:
    """Print one picture."""
    from tuner.cli.watch.look import Look  # noqa: PLC0415 - the same
    from tuner.cli.watch.picture import picture  # noqa: PLC0415 - the same
    from tuner.cli.watch.screen import colours, console_for  # noqa: PLC0415 - the same

    console = console_for(glyphs)
    width, height = (console.width, console.height - 1) if console.is_terminal else (COLUMNS, LINES)
    look = Look(width=width, height=height, glyphs=glyphs, colour=colours(console), live=False)
    for line in picture(view, look, view.answered):
        line.rstrip()
        console.print(line, width=width, no_wrap=True, crop=False)


def _lines(follower: Follower, first: View, glyphs: Glyphs) -> None:
    """Print a line for each tick that is seen, and one for a daemon that is gone."""
    from tuner.cli.watch.lines import line_of  # noqa: PLC0415 - the same

    told: list[tuple[int, bool]] = []

    def tell(view: View) -> None:
        what = (view.status.tick, view.gone is not None)
        if told[-1:] != [what]:
            told[:] = [what]
            print(line_of(view, time.monotonic(), glyphs), flush=True)

    tell(first)
    follower.run(tell)


def _objects(follower: Follower, first: View, *, once: bool) -> None:
    """Print the status as an object a line; nothing while there is none."""

    def tell(view: View) -> None:
        if view.gone is None:
            say_json(view.status)

    tell(first)
    if not once:
        follower.run(tell)
