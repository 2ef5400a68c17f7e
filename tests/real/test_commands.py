"""Each command once beside a real MySQL and a real MariaDB, as a user types it: the promise that it keeps.

Both servers are gone through at the same time, and the tests judge what was printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from lab.servers.base import LabServer
from lab.servers.spec import MEBIBYTE
from lab.workloads.load import Load
from lab.workloads.sysbench import SysbenchRun, prepare
from tests.api.factory import free_port
from tests.cli.schema import answer
from tests.real.families import SPEC, WITH_AUTHORITY, named
from tests.real.installation import Innobrim, innobrim
from tests.real.support import in_force, pair, until
from tuner.records import Capacity

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

SERVERS = {"MySQL": "mysql-8.0.31", "MariaDB": "mariadb-11.4.5"}
EXTRA = {"MySQL": (), "MariaDB": (*WITH_AUTHORITY, "--skip-ssl")}
"""What they are started with; making a key at each start takes MariaDB long on a busy machine."""


LOAD = Load(rows=50_000, threads=4, rate=800)
REDO = 48 * MEBIBYTE
FOUND = Capacity(200, 1000)
"""What the servers start with: from what suits the load a handful of a restore's steps away."""

SET_POINT = 0.6
VERDICTS = {0: "you gain ", 5: "nothing to gain, because ", 6: "no gain can be told yet, because "}
"""How advise begins, by its exit code; on a busy machine the age may still rise while it looks."""

BASELINE_FIRST = 1
"""A seed of a trial whose first block has the originals."""

SOON, LATER = 60.0, 180.0
"""Seconds that a busy machine may take to what is awaited."""

TRIAL = ("trial", "begin", "--hours", "6", "--seed", str(BASELINE_FIRST), "--json")
GROW = ("redo", "--to", "96M", "--yes", "--json")
UNDO = ("redo", "--undo", "--yes", "--json")

Answer = CompletedProcess[str]


@dataclass
class Seen:
    """What was seen of one server, in the order of the fields.

    Attributes:
        answers: what each command came to, by its words.
        before: the server's global variables before any command.
        looked: the same once all commands that look had ended.
        drained: the drain in the status, once it had been waited for.
        sizes: of the redo log as found, grown, and set back, bytes.
    """

    answers: dict[str, Answer] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)
    looked: dict[str, str] = field(default_factory=dict)
    drained: dict[str, Any] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)

    def of(self, *words: str) -> Answer:
        """Return what a command came to."""
        return self.answers[" ".join(words)]

    def json(self, *words: str, code: Sequence[int] = (0,)) -> Any:  # noqa: ANN401 - any answer
        """Return a command's JSON, valid by the published schema; its exit code is one of these."""
        ran = self.of(*words, "--json")
        assert ran.returncode in code, ran.stdout + ran.stderr
        names = [one for one in words[:2] if not one.startswith("-")]
        grouped = names[0] in {"config", "trial"}
        return answer(" ".join(names) if grouped else names[0], ran.stdout)


def variables_of(server: LabServer) -> dict[str, str]:
    """Return all global variables but those that count by themselves."""
    rows = server.query("SHOW GLOBAL VARIABLES")
    return {str(name): str(value) for name, value in rows if "gtid" not in str(name)}


def redo_size(server: LabServer) -> int:
    """Return the size of the redo log, bytes."""
    rows = server.query(
        "SHOW GLOBAL VARIABLES WHERE variable_name IN ('innodb_redo_log_capacity', 'innodb_log_file_size')"
    )
    sizes = {str(name): int(value) for name, value in rows}
    return sizes.get("innodb_redo_log_capacity", sizes["innodb_log_file_size"])


class Story:
    """One server and one daemon, and every command beside them."""

    def __init__(self, server: LabServer, directory: Path) -> None:
        self.server = server
        self.seen = Seen()
        self.port = free_port()
        self.daemon = Innobrim(server, directory)
        self.daemon.configure(set_point=SET_POINT)

    def run(self, *words: str, account: Sequence[str] = ()) -> Answer:
        """Run a command to its end with this daemon's configuration, and keep what it came to."""
        ran = innobrim(*words, *(account or ("--config", str(self.daemon.config))))
        self.seen.answers[" ".join(words)] = ran
        return ran

    def look(self) -> None:
        """Ask everything that only looks, at the same time, of a server that nobody steers yet."""
        self.seen.before = variables_of(self.server)
        commands = (
            ("advise", "--seconds", "15"),
            ("advise", "--seconds", "15", "--json"),
            ("doctor", "--seconds", "5", "--json"),
            ("check",),
            ("check", "--json"),
            ("config", "check", "--json"),
            ("config", "show", "--json"),
            ("config", "explain", "set_point", "--json"),
            ("status", "--json"),
        )
        with ThreadPoolExecutor(3) as side_by_side:
            list(side_by_side.map(lambda words: self.run(*words), commands))
        self.seen.looked = variables_of(self.server)

    def steer(self) -> None:
        """Start the daemon, and ask of it; what would larger redo bring is watched meanwhile."""
        self.daemon.start("--active", "--api-port", str(self.port))
        with ThreadPoolExecutor(1) as beside:
            sizes = beside.submit(self.run, "redo", "--seconds", "60", "--json")
            self.daemon.await_own_write(LATER)
            self.try_it()
            sizes.result()
        self.run("why", "--json")
        self.run("why", "--last", "1h", "--json")
        self.run("why", "--last", "1h")
        first = json.loads(self.seen.of("why", "--last", "1h", "--json").stdout)["stories"][0]
        self.run("why", "--change", str(first["change"]["number"]), "--json")
        self.run("why", "--at", "30s ago", "--json")
        self.drain()
        self.daemon.await_status(lambda now: now["ledger"] is not None, LATER, "a minute in the ledger")
        self.run("status")
        self.run("status", "--json")
        self.run("status", "--json", "--url", account=(f"http://127.0.0.1:{self.port}",))
        self.run("advise", "--from", account=(str(self.daemon.state), "--json"))

    def try_it(self) -> None:
        """Begin a trial whose first block has the originals, and stop it there."""
        until(lambda: self.run(*TRIAL).returncode == 0, SOON, lambda: self.seen.of(*TRIAL).stderr)
        until(lambda: in_force(self.server) == FOUND, LATER, "the originals in force")
        self.daemon.await_ticks(1)
        for words in (("status",), ("status", "--json"), ("stop", "--json")):
            self.run("trial", *words)
        until(lambda: in_force(self.server) != FOUND, SOON, "InnoBrim's values in force")

    def drain(self) -> None:
        """Bring the age as low as it safely goes, and wait for it."""
        self.run("drain", "--wait", "--json")
        self.seen.drained = until(self.daemon.status, 60.0, "a status")["drain"]

    def grow(self) -> None:
        """Grow the redo log as an administrator, and set it back."""
        self.seen.sizes.append(redo_size(self.server))
        for words in (GROW, UNDO):
            self.seen.answers[" ".join(words)] = self.daemon.administer(*words)
            self.seen.sizes.append(redo_size(self.server))


def told(name: str, directory: Path) -> Seen:
    """Go through all commands beside a server."""
    spec = replace(
        SPEC,
        redo_capacity=REDO,
        io_capacity=FOUND.io_capacity,
        io_capacity_max=FOUND.io_capacity_max,
        extra=EXTRA[name],
    )
    with named(SERVERS[name], spec) as server:
        prepare(server, LOAD)
        story = Story(server, directory)
        with SysbenchRun(server, LOAD) as load, story.daemon:
            load.wait_seconds(2, SOON)
            story.look()
            story.steer()
            story.grow()
            assert story.daemon.terminate().code == 0, story.daemon.log()
        return story.seen


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """Return what was seen of each server; both are gone through at the same time."""
    folders = {name: tmp_path_factory.mktemp("commands") for name in SERVERS}
    with ThreadPoolExecutor(len(SERVERS)) as both:
        return dict(zip(SERVERS, both.map(told, SERVERS, folders.values()), strict=True))


@pytest.fixture(params=SERVERS)
def seen(request: pytest.FixtureRequest, stories: dict[str, Seen]) -> Seen:
    """Return what was seen of the server whose turn it is."""
    return stories[request.param]


def test_commands_that_look_write_nothing(seen: Seen) -> None:
    """After advise, doctor, check, config and status each global variable is what it was before."""
    assert seen.looked == seen.before


def test_advise_gives_a_verdict_first_and_the_same_as_json(seen: Seen) -> None:
    """The first line is the verdict, the exit code says the same, and a gain comes with the pair to set."""
    ran = seen.of("advise", "--seconds", "15")
    assert ran.returncode in VERDICTS, ran.stdout + ran.stderr
    assert ran.stdout.startswith(VERDICTS[ran.returncode])
    found = seen.json("advise", "--seconds", "15", code=tuple(VERDICTS))
    assert found["verdict"]["answer"] in {"gain", "nothing", "rising"}
    assert found["seconds"] >= 15
    ids = {one["id"] for one in found["advice"]}
    assert "recovery-and-shutdown" in ids
    assert found["verdict"]["answer"] != "gain" or "static-io-capacity" in ids


def test_check_and_doctor_answer_for_this_server(seen: Seen) -> None:
    """The server can be controlled, and what doctor found is one of what was looked at."""
    assert "can be controlled" in seen.of("check").stdout
    assert seen.json("check")["controllable"]
    found = seen.json("doctor", "--seconds", "5", code=(0, 1))
    assert len(found["findings"]) + len(found["fine"]) + len(found["unknown"]) > 0


def test_config_says_what_the_daemon_will_go_by(seen: Seen) -> None:
    """The file is fine, the set-point in force is the file's, and its explanation says so."""
    assert seen.json("config", "check")["fine"]
    keys = {one["key"]: one for one in seen.json("config", "show")["keys"]}
    assert keys["loop.set_point"]["value"] == SET_POINT
    (key,) = seen.json("config", "explain", "set_point")["keys"]
    assert key["now"] == keys["loop.set_point"]


def test_redo_foretells_each_size(seen: Seen) -> None:
    """From half of today's log to sixteen times it, and a larger one never writes more."""
    sizes = seen.json("redo", "--seconds", "60")["sizing"]["sizes"]
    assert [one["redo_capacity"] for one in sizes] == [REDO // 2 << n for n in range(6)]
    saved = [one["page_writes_saved"]["likeliest"] for one in sizes]
    assert saved == sorted(saved)


def changes(seen: Seen) -> list[dict[str, Any]]:
    """Return the changes that why tells of the last hour, oldest first."""
    told_of = (one["change"] for one in seen.json("why", "--last", "1h")["stories"])
    return [one for one in told_of if one is not None]


def test_a_trial_goes_to_the_originals_and_back(seen: Seen) -> None:
    """Its first block has the originals in force; once it is stopped a pair from before it is back."""
    assert seen.json(*TRIAL[:-1])["command"] == "trial"
    under_way = seen.json("trial", "status")
    assert (under_way["running"], under_way["side"], under_way["result"]["verdict"]) == (
        True,
        "baseline",
        "too_few",
    )
    assert "a block of the baseline's values" in seen.of("trial", "status").stdout
    seen.json("trial", "stop")
    pairs = [pair(one["new"]) for one in changes(seen)]
    there = pairs.index(FOUND)
    assert pairs[there + 1] in pairs[:there]


def test_why_names_the_changes_that_the_journal_has(seen: Seen) -> None:
    """The list has the trial's change and the loop's own, and each can be asked for by its number."""
    first = changes(seen)[0]
    assert {"set", "trial"} <= {one["kind"] for one in changes(seen)}
    told_again = seen.json("why", "--change", str(first["number"]))
    assert told_again["stories"][0]["change"] == first
    assert seen.json("why", "--at", "30s ago")["found"]
    assert seen.json("why")["found"]
    assert str(first["new"]["io_capacity_max"]) in seen.of("why", "--last", "1h").stdout


def test_a_drain_without_an_age_waits_until_it_is_as_low_as_it_goes(seen: Seen) -> None:
    """It ends with 0 once the age is there, and says that this is as low as it safely goes."""
    assert "the lowest that is safe" in seen.json("drain", "--wait")["message"]
    assert seen.drained["lowest"]
    assert seen.drained["reached"] is not None


def test_status_has_the_ledger_with_its_bounds(seen: Seen) -> None:
    """Likeliest between least and most, over TCP as over the socket, and in words."""
    for words in (("status", "--json"), ("status", "--json", "--url")):
        ledger = answer("status", seen.of(*words).stdout)["ledger"]
        for figure in ("pages_saved", "bytes_saved", "share_saved"):
            one = ledger[figure]
            assert one["least"] < one["likely"] < one["most"]
    (line,) = (one for one in seen.of("status").stdout.splitlines() if one.startswith("page writes "))
    assert re.search(r"\(-?[\d.,]+ to -?[\d.,]+\) of page writes", line)


def test_advise_reads_the_daemons_journal(seen: Seen) -> None:
    """Of the minutes that the daemon kept it says what they were like, hour by hour."""
    ran = seen.of("advise", "--from")
    assert ran.returncode in VERDICTS, ran.stdout + ran.stderr
    hours = answer("advise", ran.stdout)["hours"]
    assert sum(one["seconds"] for one in hours) >= 60
    assert all(one["row_changes"] > 0 and one["pages"] > 0 for one in hours)


def test_the_redo_log_grows_and_is_set_back(seen: Seen) -> None:
    """By consent, beside the daemon, to the byte."""
    assert [seen.json(*words[:-1])["in_force"] for words in (GROW, UNDO)] == [2 * REDO, REDO]
    assert seen.sizes == [REDO, 2 * REDO, REDO]
