"""``innobrim trial``: proof on the user's own server, the baseline and InnoBrim's values in turn."""

from __future__ import annotations

import secrets
from typing import NoReturn

import click

from api.models import Status, TrialShown
from tuner.cli.answer import NO, Group, Refused, complain, say, say_json
from tuner.cli.client import DaemonClient, Where, daemon_options
from tuner.cli.options import WholeNumber
from tuner.cli.steering import ask, reason_option, show
from tuner.cli.waiting import polled
from tuner.cli.wording import stamp
from tuner.core.trials.paired import figure_texts, pairs_text, side_text, verdict_text
from tuner.core.trials.proof import ENDED
from tuner.records import LONGEST_TTL, TrialEnd, TrialProgress, TrialVerdict

MOST_HOURS = LONGEST_TTL / 3600.0
HIGHEST_SEED = 2**32 - 1

wait_option = click.option("--wait", is_flag=True, help="Show it live, and wait for its end.")


@click.group(cls=Group)
def trial() -> None:
    """Prove on this server what InnoBrim's values bring, against the originals, in turns of random order.

    The daemon runs it in active mode for the time that you give. An emergency or a hold ends it. The exit
    code is 1 where InnoBrim's values are shown to be worse, where a trial that the command waits for ends
    early, and where no trial can be begun, stopped or shown; it is 3 where no daemon answers.

    Example: innobrim trial begin --hours 4 --wait
    """


@trial.command()
@click.option("--hours", type=click.FloatRange(0.0, MOST_HOURS, min_open=True), help="How long it lasts.")
@click.option("--minutes", type=click.FloatRange(0.0, 60 * MOST_HOURS, min_open=True), help="The same.")
@click.option(
    "--seed",
    metavar="N",
    type=WholeNumber(0, HIGHEST_SEED, ""),
    help="Decides the order of the blocks [default: drawn].",
)
@wait_option
@reason_option
@daemon_options
def begin(
    where: Where,
    *,
    hours: float | None,
    minutes: float | None,
    seed: int | None,
    wait: bool,
    reason: str,
    as_json: bool,
) -> None:
    """Begin a trial for a time; refused in advisory mode, under a hold, and where the time is too short.

    It goes on after a pause and a restart of the daemon, and ends by itself. Its writes do not count for the
    hourly budget of changes.

    Example: innobrim trial begin --hours 4
    """
    if (hours is None) is (minutes is None):
        raise click.UsageError("say --hours N or --minutes N")
    seconds = 60.0 * minutes if minutes is not None else 3600.0 * (hours or 0.0)
    chosen = secrets.randbelow(HIGHEST_SEED) if seed is None else seed
    change = ask(where, "PUT", "/v1/trial", {"seconds": seconds, "seed": chosen, "reason": reason})
    if not wait:
        show(change, as_json=as_json)
        return
    say(change.message, err=True)
    _until_ended(DaemonClient(where), as_json=as_json)


@trial.command()
@reason_option
@daemon_options
def stop(where: Where, *, reason: str, as_json: bool) -> None:
    """End the trial before its time; the loop goes on with its own values.

    Example: innobrim trial stop
    """
    show(ask(where, "DELETE", "/v1/trial", {"reason": reason}), as_json=as_json)


@trial.command()
@wait_option
@daemon_options
def status(where: Where, *, wait: bool, as_json: bool) -> None:
    """Show how far the trial is, or what the last one came to.

    Example: innobrim trial status
    """
    daemon = DaemonClient(where)
    shown = daemon.get("/v1/status", Status).trial
    if shown is None:
        raise Refused("there was no trial yet: innobrim trial begin --hours 4 begins one")
    if wait and shown.progress.running:
        _until_ended(daemon, as_json=as_json)
        return
    _show(shown.progress, as_json=as_json)


def trial_lines(shown: TrialProgress) -> list[str]:
    """Return how far a trial is or what it came to, its verdict first, and a line for each figure."""
    result = shown.result
    room = f" of about {shown.room} that its time holds" if shown.running else ""
    counted = f"{pairs_text(result.pairs)} counted{room}, {result.discarded} discarded"
    if shown.running:
        block = f"now a block of {side_text(shown.side)}" + ("" if shown.counted else ", settling")
        now = f"waits: {shown.waits}" if shown.waits else block
        head = f"so far: {verdict_text(result)}"
        when = f"under way until {stamp(shown.ends or 0.0)}; {now}"
    else:
        head, end = verdict_text(result), "" if result.end is None else f"; {ENDED[result.end]}"
        when = f"from {stamp(result.began)} to {stamp(result.ended or 0.0)}{end}"
    figures = [f"  {line}" for line in figure_texts(result)]
    return [head, *figures, *(["  in brackets: 95 % bounds"] if figures else []), f"  {when}; {counted}"]


def _until_ended(daemon: DaemonClient, *, as_json: bool) -> None:
    """Say each pair as it is counted, and the result at the end."""
    told = None
    for now in polled(daemon):
        shown: TrialShown | None = now.trial
        if shown is None:
            raise Refused("the trial is gone: another server answers")
        progress = shown.progress
        if not progress.running:
            _show(progress, as_json=as_json)
            if progress.result.end is not TrialEnd.TIME:
                _answer_is_no("the trial ended before its time")
            return
        if told != progress.result.pairs:
            told = progress.result.pairs
            say(*trial_lines(progress), err=True)


def _show(shown: TrialProgress, *, as_json: bool) -> None:
    if as_json:
        say_json(shown)
    else:
        say(*trial_lines(shown))
    if not shown.running and shown.result.verdict is TrialVerdict.WORSE:
        _answer_is_no("InnoBrim's values are worse here: innobrim restore goes back to the originals")


def _answer_is_no(why: str) -> NoReturn:
    """End with no after the answer was printed, as JSON or in words."""
    complain(why)
    raise click.exceptions.Exit(NO)
