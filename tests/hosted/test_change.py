"""What ``innobrim hosted`` writes at a provider, what is on disk when, and that the way back is open."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.schema import answer
from tests.cli.support import ended
from tests.hosted.account import ADDRESS, MANAGED, C, Desk, M, instance, parameter
from tuner.hosted.kept import NAME, Kept, keep
from tuner.hosted.rds import client
from tuner.records import Capacity, Missed

APPLY = ("hosted", "apply", "--to", "444/444", "--timeout", "20s", "--yes")
RESTORE = ("hosted", "restore", "--yes", "--timeout", "20s")


def test_a_pair_is_in_force_once_the_server_shows_it(desk: Desk) -> None:
    """Each variable is set alone and seen in the server before the next one, in an order that clips none."""
    result = desk.types(*APPLY)

    ended(result, 0, "444/444 is in force", f"{C} = 444 is in force", f"{M} = 444 is in force")
    assert desk.account.asked == [
        ("modify", {"ParameterName": C, "ParameterValue": "444", "ApplyMethod": "immediate"}),
        ("modify", {"ParameterName": M, "ParameterValue": "444", "ApplyMethod": "immediate"}),
    ]
    assert desk.server.seen == [Capacity(200, 2000), Capacity(444, 2000), Capacity(444, 444)]


def test_what_was_found_is_on_disk_before_the_provider_is_told(desk: Desk) -> None:
    """Whoever is killed after the first call still has the way back, with what is the engine's default."""
    desk.types(*APPLY)

    (kept,) = json.loads(desk.account.on_disk[0])
    assert kept["values"] == {C: None, M: None}
    assert kept["found"] == {"io_capacity": 200, "io_capacity_max": 2000}


def test_what_is_kept_outlasts_a_power_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is on disk, and after it its name in the directory, before anybody goes on."""
    synced: list[tuple[bool, bool]] = []
    fsync = os.fsync

    def noted(place: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(place).st_mode), (tmp_path / NAME).exists()))
        fsync(place)

    monkeypatch.setattr(os, "fsync", noted)
    keep(tmp_path, "key", Kept("key", Capacity(200, 2000), {C: None, M: None}))

    assert synced == [(False, False), (True, True)]


def test_a_raise_comes_in_steps(desk: Desk) -> None:
    """No step more than doubles the gain, as a raise at a high age has pages flushed at once."""
    desk.server.capacity = Capacity(400, 400)
    ended(desk.types("hosted", "apply", "--to", "2000/4000", "--yes"), 0, "2000/4000 is in force")

    gains = [pair.gain for pair in desk.server.seen[1:]]
    assert all(after <= 2 * before for before, after in zip([400, *gains], gains, strict=False))
    assert desk.server.seen[-1] == Capacity(2000, 4000)


@pytest.mark.parametrize(
    ("c", "m"), [(None, None), ("200", "2000"), ("{DBInstanceClassMemory/42949672}", "2000")]
)
def test_a_restore_leaves_the_group_as_it_was_found(desk: Desk, c: str | None, m: str | None) -> None:
    """A default is reset, a number or formula is written again, and there is nothing more to set back."""
    desk.account.parameters |= {C: parameter(C, c), M: parameter(M, m)}
    desk.types(*APPLY)
    ended(desk.types(*RESTORE), 0, "200/2000 is in force")

    assert desk.account.values == {C: c, M: m}
    assert desk.server.capacity == Capacity(200, 2000)
    ended(desk.types(*RESTORE), 1, "has changed nothing")


def test_a_default_that_is_another_number_by_now_is_set_back_as_a_default(desk: Desk) -> None:
    """After an upgrade or on a larger instance a restore ends as well, and says what is in force."""
    desk.types(*APPLY)
    desk.server.default = Capacity(400, 4000)
    ended(desk.types(*RESTORE), 0, "400/4000 is in force")

    assert desk.account.values == {C: None, M: None}
    ended(desk.types(*RESTORE), 1, "has changed nothing")


@pytest.mark.parametrize(("words", "in_force"), [(APPLY, (444, 444)), (RESTORE, (200, 2000))])
def test_a_machine_gets_one_object(desk: Desk, words: tuple[str, ...], in_force: tuple[int, int]) -> None:
    """With --json the answer alone is on stdout, in the published form."""
    if words is RESTORE:
        desk.types(*APPLY)
    found = answer(" ".join(words[:2]), desk.types(*words, "--json").stdout)

    assert tuple(found["in_force"].values()) == in_force


@pytest.mark.parametrize(("typed", "writes"), [("y\n", 2), ("n\n", 0), ("\n", 0)])
def test_a_person_at_a_terminal_is_asked(desk: Desk, typed: str, writes: int) -> None:
    """What changes is shown, and nothing is written without a yes."""
    result = desk.types(*APPLY[:-1], answer=typed)

    ended(
        result,
        0 if writes else 1,
        "in force: 200/2000 → 444/444",
        f"{C} is the provider's default",
        "innobrim hosted restore",
    )
    assert len(desk.account.asked) == writes
    assert bool(desk.kept()) is bool(writes)


def test_without_a_terminal_nothing_is_written_unasked(desk: Desk) -> None:
    """A script has to say --yes."""
    ended(desk.types(*APPLY[:-1]), 2, "--yes")
    assert desk.account.asked == []


def test_what_happens_while_a_person_is_asked_counts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A yes that comes hours later writes nothing where another instance has the group by now."""

    def confirm(*_: object, **__: object) -> bool:
        desk.account.instances.append(instance("db2"))
        return True

    monkeypatch.setattr("tuner.cli.hosted.click.confirm", confirm)
    ended(desk.types(*APPLY[:-1], answer="y\n"), 1, "db2")
    assert desk.account.asked == []


def _shared(desk: Desk) -> None:
    desk.account.instances.append(instance("db2"))


def _status(status: str) -> Any:  # noqa: ANN401 - a function
    def make(desk: Desk) -> None:
        desk.account.status["ParameterApplyStatus"] = status

    return make


def _instance(**changes: Any) -> Any:  # noqa: ANN401 - any field, a function
    def make(desk: Desk) -> None:
        desk.account.instances[0] |= changes

    return make


def _parameter(value: str | None = None, **changes: Any) -> Any:  # noqa: ANN401 - any field, a function
    def make(desk: Desk) -> None:
        desk.account.parameters[M] = parameter(M, value, **changes)

    return make


def _server(**changes: Any) -> Any:  # noqa: ANN401 - any field, a function
    def make(desk: Desk) -> None:
        desk.server.said = replace(MANAGED, **changes)

    return make


def _table(old: str, new: str) -> Any:  # noqa: ANN401 - a function
    def make(desk: Desk) -> None:
        desk.table = desk.table.replace(old, new)

    return make


def _reached_by(host: str) -> Any:  # noqa: ANN401 - a function
    def make(desk: Desk) -> None:
        desk.host = host

    return make


def _refused(operation: str) -> Any:  # noqa: ANN401 - a function
    def make(desk: Desk) -> None:
        desk.account.refuses[operation] = "AccessDenied"

    return make


NEVER = [
    (_shared, "db2 would get the same values"),
    (_status("applying"), "it is applying"),
    (_status("failed-to-apply"), "it is failed-to-apply"),
    (_instance(Engine="aurora-mysql"), "its engine is aurora-mysql"),
    (_instance(DBClusterIdentifier="c1"), "it belongs to the cluster c1"),
    (_instance(DBInstanceStatus="modifying"), "the instance is modifying"),
    (_instance(DBParameterGroups=instance(group="other")["DBParameterGroups"]), "another group, other"),
    (_instance(DBInstanceArn="arn:aws:rds:eu-west-1:999999999999:db:db1"), "there is no instance"),
    (_parameter(IsModifiable=False), "lets nobody change it"),
    (_parameter(ApplyType="static"), "takes a reboot"),
    (_server(managed=""), "does not look like Amazon RDS"),
    (_server(managed="Google Cloud SQL with optimized writes"), "does not look like Amazon RDS"),
    (_reached_by("127.0.0.1"), f"the instance's address is {ADDRESS}"),
    (_refused("DescribeDBInstances"), "may not DescribeDBInstances"),
    (_refused("DescribeDBParameters"), "may not DescribeDBParameters"),
]


@pytest.mark.parametrize(("make", "why"), NEVER, ids=[why for _, why in NEVER])
def test_where_nothing_may_be_written_check_and_apply_say_why(desk: Desk, make: Any, why: str) -> None:  # noqa: ANN401 - a function
    """Whatever is wrong at the provider is said before anything is written, with exit 1."""
    make(desk)

    ended(desk.types("check"), 1, "PROBLEM hosted", why)
    ended(desk.types(*APPLY), 1, why)
    assert desk.account.asked == []
    assert desk.kept() == []


def test_check_says_that_it_can_be_changed(desk: Desk) -> None:
    """The line has what the provider keeps; nothing is written."""
    desk.account.parameters[C] = parameter(C, "200")

    ended(desk.types("check"), 0, "ok       hosted", f"{C} 200", f"{M} the provider's default")
    assert desk.account.asked == []


def test_a_shared_group_is_written_where_a_person_says_so(desk: Desk) -> None:
    """With shared_group the other instances are named, and the pair is set for all."""
    desk.account.instances.append(instance("db2"))
    desk.table += "shared_group = true\n"

    ended(desk.types(*APPLY), 0, "also on: db2", "444/444 is in force")


REFUSED = [
    ("200/2000", (), "is in force already"),
    ("300/1000", (), "a whole multiple"),
    ("50/100", (), "at least 100"),
    ("10000/40000", (), "from 100 to 20000"),
    ("444/444", (_parameter(AllowedValues="1000-20000"),), "takes 1000 to 20000"),
    ("444/444", (_parameter("900"),), f"{M} is 900 at the provider and 2000 in the server"),
    ("444/444", (_status("pending-reboot"),), "reboot the instance first"),
]


@pytest.mark.parametrize(("pair", "makes", "why"), REFUSED, ids=[why for *_, why in REFUSED])
def test_a_pair_that_is_not_to_be_set_is_refused(desk: Desk, pair: str, makes: Any, why: str) -> None:  # noqa: ANN401 - functions
    """Limits, the server's own rule for the pair, and a change that is under way stand in its way."""
    for make in makes:
        make(desk)

    ended(desk.types("hosted", "apply", "--to", pair, "--yes"), 1, why)
    assert desk.account.asked == []


@pytest.mark.parametrize("pair", ["444", "444-444", "0/0", "a/b", ""])
def test_what_is_no_pair_is_a_wrong_usage(desk: Desk, pair: str) -> None:
    """The message names what was typed and what would be right."""
    ended(desk.types("hosted", "apply", "--to", pair, "--yes"), 2, repr(pair), "444/444")


def test_changes_are_few_and_far_between(desk: Desk) -> None:
    """A second change within half an hour, and a fifth within a day, is refused; a restore never is."""
    desk.types(*APPLY)
    ended(desk.types("hosted", "apply", "--to", "500/500", "--yes"), 1, "wait 30 minutes")
    (kept,) = desk.kept()
    kept["begun"] = [kept["begun"][0] - 3600.0 * hours for hours in (4, 3, 2, 1)]
    (desk.directory / NAME).write_text(json.dumps([kept]), encoding="utf-8")

    ended(desk.types("hosted", "apply", "--to", "500/500", "--yes"), 1, "4 changes within a day")
    ended(desk.types(*RESTORE), 0, "200/2000 is in force")


def _ages(desk: Desk, seconds: float) -> None:
    """Let a time go by since the changes so far."""
    (kept,) = desk.kept()
    kept["begun"] = [one - seconds for one in kept["begun"]]
    (desk.directory / NAME).write_text(json.dumps([kept]), encoding="utf-8")


def test_a_restore_counts(desk: Desk) -> None:
    """After it the next change waits for half an hour, and then takes what it finds for the way back."""
    desk.types(*APPLY)
    _ages(desk, 3600.0)
    desk.types(*RESTORE)
    ended(desk.types(*APPLY), 1, "wait 30 minutes")

    _ages(desk, 1800.0)
    desk.account.parameters[M] = parameter(M, "888")
    desk.server.set(M, 888)
    ended(desk.types(*APPLY), 0, "444/444 is in force")
    ended(desk.types(*RESTORE), 0, "200/888 is in force")
    _ages(desk, 3600.0)
    ended(desk.types(*APPLY), 1, "4 changes within a day")


def test_a_restore_that_goes_on_counts_once(desk: Desk) -> None:
    """One that was not done in time counts, and its second half does not count again."""
    desk.types(*APPLY)
    desk.account.reads = None
    ended(desk.types(*RESTORE, "--timeout", "0.05s"), 4, f"{M} = 888")
    desk.server.set(M, 888)
    desk.account.reads = 0
    ended(desk.types(*RESTORE), 0, "200/2000 is in force")

    assert [len(one["begun"]) for one in desk.kept()] == [2]


def test_a_restore_of_what_the_provider_did_not_take_is_no_change(desk: Desk) -> None:
    """Where nothing was changed, nothing is waited for."""
    desk.account.refuses["ModifyDBParameterGroup"] = "AccessDenied"
    desk.types(*APPLY)
    desk.account.refuses.clear()
    ended(desk.types(*RESTORE), 0, "200/2000 is in force")

    ended(desk.types(*APPLY), 0, "444/444 is in force")


def test_a_clock_that_was_ahead_bars_no_change_for_long(desk: Desk) -> None:
    """A change that was begun in another year, by a clock that was wrong, is none of today's."""
    desk.types(*APPLY)
    (kept,) = desk.kept()
    kept["begun"] = [kept["begun"][0] + 365 * 86_400.0] * 4
    (desk.directory / NAME).write_text(json.dumps([kept]), encoding="utf-8")

    ended(desk.types("hosted", "apply", "--to", "500/500", "--yes"), 0, "500/500 is in force")


def test_a_change_that_takes_too_long_is_gone_on_with(desk: Desk) -> None:
    """Exit 4 says what the server shows; the same command goes on once that is in force, without a wait."""
    desk.account.reads = None
    ended(desk.types(*APPLY, "--timeout", "0.05s"), 4, f"{C} = 444", "shows 200/2000", "awaited is 444/2000")
    ended(desk.types(*APPLY), 1, f"{C} is 444 at the provider and 200 in the server")
    desk.server.set(C, 444)
    desk.account.reads = 0

    ended(desk.types(*APPLY), 0, "444/444 is in force")
    assert desk.kept()[0]["values"] == {C: None, M: None}


@pytest.mark.parametrize("operation", ["ModifyDBParameterGroup", "ResetDBParameterGroup"])
def test_a_refusal_of_the_provider_is_told(desk: Desk, operation: str) -> None:
    """Which call was refused, in the provider's words; the way back stays on disk."""
    if operation.startswith("Reset"):
        desk.types(*APPLY)
    desk.account.refuses[operation] = "AccessDenied"

    ended(desk.types(*(RESTORE if desk.kept() else APPLY)), 1, f"may not {operation}", "AccessDenied")
    assert desk.kept()[0]["values"] == {C: None, M: None}


def test_what_the_provider_did_not_take_is_no_change(desk: Desk) -> None:
    """Once the rights are there another pair can be set at once."""
    desk.account.refuses["ModifyDBParameterGroup"] = "AccessDenied"
    desk.types(*APPLY)
    desk.account.refuses.clear()

    ended(desk.types("hosted", "apply", "--to", "500/500", "--yes"), 0, "500/500 is in force")


def test_another_server_at_the_address_ends_it(desk: Desk) -> None:
    """What is awaited is the same server; the other one is named."""
    passing = desk.server.on_read

    def moved() -> None:
        passing()
        if desk.account.asked:
            desk.server.identity = "another"

    desk.server.on_read = moved
    ended(desk.types(*APPLY), 1, "another server, another, answers")


def test_a_server_that_does_not_answer_for_a_moment_is_waited_for(desk: Desk) -> None:
    """A failover while the provider is at work ends nothing."""
    read, gone = desk.server.read, [Missed(1.0, 1.0, "lost connection")]
    desk.server.read = lambda: gone.pop() if gone and desk.account.asked else read()  # type: ignore[method-assign]  # this server alone

    ended(desk.types(*APPLY), 0, "444/444 is in force")


def test_somebody_elses_change_is_not_written_over(desk: Desk) -> None:
    """Both commands refuse it unseen; a person is told of it, and --adopt takes theirs for what was found."""
    desk.types(*APPLY)
    desk.account.parameters[M] = parameter(M, "888")
    desk.server.set(M, 888)
    theirs = f"{M} is 888, and InnoBrim wrote 444"

    ended(desk.types(*RESTORE), 1, theirs, "somebody else changed it")
    ended(desk.types("hosted", "apply", "--to", "500/500", "--yes"), 1, theirs, "--adopt")
    (kept,) = desk.kept()
    kept["begun"] = [kept["begun"][0] - 3600.0]
    (desk.directory / NAME).write_text(json.dumps([kept]), encoding="utf-8")
    ended(desk.types("hosted", "apply", "--to", "500/500", "--adopt", "--yes"), 0, "500/500 is in force")
    ended(desk.types(*RESTORE), 0, "444/888 is in force")
    assert desk.account.values == {C: "444", M: "888"}


def test_somebody_elses_change_between_our_two_variables_is_seen(desk: Desk) -> None:
    """Where we wrote one variable alone, the other one counts as somebody else's once it is another value."""
    desk.account.reads = None
    ended(desk.types(*APPLY, "--timeout", "0.05s"), 4, f"{C} = 444")
    desk.account.parameters[M] = parameter(M, "888")

    ended(desk.types(*RESTORE), 1, f"{M} is 888, and InnoBrim found the default", "somebody else changed it")


def test_a_restore_of_nothing_is_a_no(desk: Desk) -> None:
    """Where nothing was written from here, nothing is put back."""
    ended(desk.types(*RESTORE), 1, "has changed nothing")


def test_without_the_extra_the_command_names_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without boto3 is told what to install."""
    monkeypatch.setattr("tuner.hosted.rds.client", client)
    monkeypatch.setitem(sys.modules, "boto3", None)

    ended(desk.types(*APPLY), 1, "pip install '.[rds]'")


def test_without_credentials_the_sdk_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """No credentials are asked for or kept by us: the SDK's own chain has none, and that is told."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setattr("tuner.hosted.rds.client", client)

    ended(desk.types(*APPLY), 1, "Unable to locate credentials")


def test_without_the_table_the_command_says_where_it_is_explained(desk: Desk) -> None:
    """Nothing is guessed."""
    desk.table = ""
    ended(desk.types(*APPLY), 2, "no table [hosted]", "docs/hosted.md")


def test_every_call_has_a_time_limit(desk: Desk) -> None:
    """A provider that does not answer keeps nobody waiting for more than some minutes."""
    config = desk.account.client("eu-west-1").meta.config

    assert config.connect_timeout <= 5
    assert config.read_timeout <= 20
    assert config.retries["total_max_attempts"] <= 3


@pytest.mark.skipif(os.geteuid() != 0, reason="whoever is not root is nobody else either")
def test_root_asks_the_provider_and_the_file_is_the_services(desk: Desk) -> None:
    """Root's own credentials reach the SDK, and the daemon's account can read what was kept."""
    desk.directory.parent.chmod(0o755)
    os.chown(desk.directory, 4321, 4321)
    asking: list[int] = []
    look = desk.account._DescribeDBInstances

    def noted(request: dict[str, Any]) -> dict[str, Any]:
        asking.append(os.geteuid())
        return look(request)

    desk.account._DescribeDBInstances = noted  # type: ignore[method-assign]  # this account alone
    ended(desk.types(*APPLY), 0, "444/444 is in force")

    assert set(asking) == {0}
    assert (desk.directory / NAME).stat().st_uid == 4321
