"""A server of the user's own: where it is, where its password comes from, and when it is not taken."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lab.bench.daemon import configuration
from lab.servers import claim, owner
from lab.servers.base import DiskLimit
from lab.servers.claim import MARKER, Mark
from lab.servers.existing import DsnServer, Found, inspect, objection, parse_dsn
from lab.servers.flavour import LabServerError
from tests.servers.fixtured import FILES, Fixtured, Rows
from tests.servers.sockets.mysqld import CERTIFICATES
from tuner.config.credentials import read_credentials
from tuner.config.schema import ServerSection
from tuner.records import Capacity
from tuner.servers.endpoint import Endpoint
from tuner.servers.fixture import load

OPEN = Found(in_force=Capacity(200, 2000), started=1000.0, redo_capacity=2**30, buffer_pool=2**31)
ENDPOINT = Endpoint(user="dba", password='p"#1', host="db1", port=3307)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("mysql://dba@db1:3307/", "dba@db1:3307"),
        ("mysql://dba@db1", "dba@db1:3306"),
        ("mysql://d%40b@[::1]:3307", "d@b@::1:3307"),
        ("mysql://dba@/run/mysqld/mysqld.sock", "dba@/run/mysqld/mysqld.sock"),
        ("/run/mysqld/mysqld.sock", "innobrim@/run/mysqld/mysqld.sock"),
    ],
)
def test_an_address_is_read(text: str, where: str) -> None:
    """Over TCP or a unix socket, with or without an account."""
    assert str(parse_dsn(text, environ={})) == where


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("mysql://", "neither host nor socket"),
        ("mysql://dba@db1:port", "port"),
        ("mysql://dba@db1:70000", "ort"),
        ("mysql://dba@db1/shop", "names the schema 'shop'"),
        ("mysql://dba@db1?ssl=1", "nothing may follow"),
        ("db1:3306", "'db1:3306' names no server"),
    ],
)
def test_an_address_that_is_none_is_shown(text: str, why: str) -> None:
    """The refusal says what would be right."""
    with pytest.raises(LabServerError, match=why) as refusal:
        parse_dsn(text, environ={})
    assert text in str(refusal.value)


@pytest.mark.parametrize("text", ["mysql://dba:geheim@db1", "mysql://dba:ge/heim@db1", "mysql://:geheim@db1"])
def test_a_password_in_a_dsn_is_refused_unshown(text: str) -> None:
    """Not even the refusal prints it."""
    with pytest.raises(LabServerError, match="can be seen by everybody") as refusal:
        parse_dsn(text, environ={})
    assert "heim" not in str(refusal.value)


def test_a_dsn_has_no_zero_byte() -> None:
    """Neither a path nor an account has one: the DSN is refused, and nothing ends in a traceback."""
    for text in ("mysql:///tmp/a%00b", "mysql://a%00b@db1"):
        with pytest.raises(LabServerError, match="has a zero byte"):
            parse_dsn(text, environ={})


def test_where_a_password_comes_from(tmp_path: Path) -> None:
    """Our own variable, then the option file, then the client's variable, then a person."""
    file = tmp_path / "my.cnf"
    file.write_text("[client]\nuser=filed\npassword=from-file\n")
    file.chmod(0o600)
    named = str(file)
    both = {"INNOBRIM_PASSWORD": "from-variable", "MYSQL_PWD": "from-client"}
    client = {"MYSQL_PWD": "from-client"}

    def password(environ: dict[str, str], defaults_file: str | None) -> str:
        found = parse_dsn("mysql://db1", environ=environ, defaults_file=defaults_file, ask=lambda _: "asked")
        return found.password

    assert password(both, named) == "from-variable"
    assert password(client, named) == "from-file"
    assert password(client, None) == "from-client"
    assert password({}, None) == "asked"
    assert parse_dsn("mysql://db1", environ={}, defaults_file=named).user == "filed"


def test_a_server_that_can_be_written_to_is_taken() -> None:
    """A primary of a group is one."""
    assert objection(OPEN) is None
    assert objection(OPEN._replace(group_role="PRIMARY")) is None


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (OPEN._replace(read_only=True), "read-only (read_only or super_read_only is ON)"),
        (OPEN._replace(channels=1, read_only=True), "it is a replica"),
        (OPEN._replace(group_role="SECONDARY"), "SECONDARY in its replication group"),
        (OPEN._replace(writer=0), "connection 0 of an InnoBrim daemon"),
        (OPEN._replace(disabled_counters=("log_lsn_current",)), "SET GLOBAL innodb_monitor_enable"),
        (OPEN._replace(blockers=("innodb_read_only is ON",)), "innodb_read_only is ON"),
    ],
)
def test_a_server_that_must_not_be_taken_is_refused(found: Found, why: str) -> None:
    """A load on a replica, or beside a daemon at work, does harm or measures nothing."""
    assert why in (objection(found) or "")


def mark(owner_text: str) -> Mark:
    """Return a mark of that process, with other originals than ``OPEN`` has in force."""
    return Mark(owner_text, Capacity(400, 800), 1000.0)


def test_the_daemon_is_told_the_way_that_the_user_named(tmp_path: Path) -> None:
    """A server that was named by its socket may have no port at all."""
    over_socket = DsnServer(Endpoint(user="dba", socket="/run/mysqld/s"), confirmed=True)
    assert tomllib.loads(configuration(over_socket, tmp_path))["server"]["socket"] == "/run/mysqld/s"
    over_tcp = tomllib.loads(configuration(DsnServer(ENDPOINT, confirmed=True), tmp_path))["server"]
    assert (over_tcp["host"], over_tcp["port"], over_tcp.get("socket")) == ("db1", 3307, None)


def gone() -> str:
    """Return the identity of a process of this host that is gone."""
    return "|".join((*owner.mine().split("|")[:3], "1"))


def test_only_a_schema_of_our_own_is_taken() -> None:
    """Tables without our mark are somebody's, however they are called."""
    assert claim.objection([], None) is None
    assert claim.objection([MARKER, "sbtest1"], mark(gone())) is None
    refusal = claim.objection([f"t{number}" for number in range(7)], None) or ""
    assert "holds what is not ours: t0, t1, t2, t3, t4 and 2 more" in refusal


def test_a_schema_that_another_bench_is_at_work_in_is_not_taken() -> None:
    """Nobody knows about a process on another host: a person has to say, and is told what to put back."""
    refusal = claim.objection([MARKER], mark("db9|boot|17|4")) or ""
    assert "process 17 on db9" in refusal
    assert "400/800" in refusal


def test_originals_of_a_killed_bench_are_owed_until_mysqld_starts_again() -> None:
    """A start brings the configured values back by itself."""
    assert claim.owed(mark(gone()), Capacity(100, 100), 1001.0) == Capacity(400, 800)
    assert claim.owed(mark(gone()), Capacity(100, 100), 5000.0) == Capacity(100, 100)


def test_a_server_of_the_users_own_is_left_alone() -> None:
    """It is never killed, stopped or limited, and says so; no limit asked for is none refused."""
    server = DsnServer(ENDPOINT, confirmed=True)
    for forbidden in (server.kill, server.pause, server.crash, server.restart):
        with pytest.raises(LabServerError, match="dba@db1:3307 is a server of your own: it is never"):
            forbidden()
    assert server.limit_disk(DiskLimit()) == ()
    (refusal,) = server.limit_disk(DiskLimit(write_iops=1200))
    assert refusal == "disk not limited to 1,200 writes/s: dba@db1:3307 is a server of your own"
    server.stop()


class Ledger:
    """A server that notes what is done to it, and has these objects and this mark in the schema."""

    def __init__(self, objects: list[str], found: Mark | None) -> None:
        self.done: list[str] = []
        self._objects = objects
        self._mark = found

    def query(self, statement: str) -> list[tuple[object, ...]]:
        """Answer what is asked, and note what is not a question."""
        if statement.startswith("SELECT table_name"):
            return [(name,) for name in self._objects]
        if statement.startswith("SELECT owner") and self._mark is not None:
            were = self._mark.originals
            return [(self._mark.owner, were.io_capacity, were.io_capacity_max, self._mark.started)]
        if statement.startswith("SELECT"):
            return []
        self.done.append(" ".join(statement.split()[:2]))
        return []

    def put_back(self, originals: Capacity) -> None:
        """Note what is put back."""
        self.done.append(f"put back {originals}")


def test_values_are_put_back_before_the_mark_that_says_them_goes() -> None:
    """A second kill in between loses nothing, and the new mark holds the first bench's originals."""
    server = Ledger([MARKER, "sbtest1"], mark(gone()))

    originals = claim.take(server.query, server.put_back, Capacity(100, 100), 1000.0)

    assert originals == Capacity(400, 800)
    assert server.done == ["put back 400/800", "DROP DATABASE", "CREATE DATABASE", "CREATE TABLE"]


def test_a_bench_encrypts_as_the_option_file_says(tmp_path: Path) -> None:
    """How the server of one's own is checked is the same for the bench, its readings and its daemon."""
    authority = CERTIFICATES / "ca.crt"
    key = tmp_path / "key.pem"
    key.write_text("-----BEGIN PUBLIC KEY-----\n")
    file = tmp_path / "my.cnf"
    file.write_text(
        f"[client]\nssl-mode=VERIFY_CA\nssl-ca={authority}\ntls-version=TLSv1.3\nserver-public-key-path={key}\n"
    )
    found = parse_dsn("mysql://dba@db1", environ={}, defaults_file=str(file))
    server = DsnServer(found, confirmed=True)
    written = server.option_file(tmp_path / "client.cnf")
    daemon = read_credentials(ServerSection(defaults_file=str(written)), environ={})

    assert (found.tls, found.tls_ca) == ("verify_ca", str(authority))
    assert server.admin_endpoint() == found
    assert (daemon.tls, daemon.tls_ca, daemon.tls_details, daemon.public_key) == (
        found.tls,
        found.tls_ca,
        found.tls_details,
        found.public_key,
    )


POOL = 2**31


class Lent(Fixtured):
    """A fixture's server with other variables, and what a bench asks for beside them.

    Attributes:
        channels: replication channels.
    """

    def __init__(self, name: str, **variables: str) -> None:
        fixture = load(FILES[name])
        first = fixture.readings[0]
        changed = replace(first, variables={**first.variables, **variables})
        super().__init__(replace(fixture, readings=(changed,)))
        self.channels: list[tuple[Any, ...]] = []

    def query(self, statement: str) -> Rows:
        """Answer."""
        if "innodb_buffer_pool_size" in statement:
            return [(POOL, None)]
        if "SLAVES STATUS" in statement:
            return self.channels
        if "replication_connection_configuration" in statement:
            return [(len(self.channels),)]
        if "replication_group_members" in statement:
            return []
        return super().query(statement)


@pytest.mark.parametrize("name", ["mysql-9.7.4", "mariadb-11.8.6"])
def test_a_server_that_takes_writes_is_borrowed(name: str) -> None:
    """A primary of either kind is taken, with its buffer pool and without objections."""
    found = inspect(Lent(name))

    assert not found.read_only
    assert (found.buffer_pool, found.channels, found.group_role, found.writer) == (POOL, 0, "", None)


@pytest.mark.parametrize("said", ["ON", "NO_LOCK", "NO_LOCK_NO_ADMIN"])
def test_no_kind_of_read_only_is_borrowed(said: str) -> None:
    """MariaDB 12 has three values of read_only that refuse a load; a bench begins on none of them."""
    with pytest.raises(LabServerError, match="read-only"):
        inspect(Lent("mariadb-11.8.6", read_only=said))


def test_super_read_only_alone_is_enough() -> None:
    """A MySQL that refuses the writes of administrators as well is not borrowed."""
    with pytest.raises(LabServerError, match="read-only"):
        inspect(Lent("mysql-9.7.4", super_read_only="ON"))


@pytest.mark.parametrize("name", ["mysql-9.7.4", "mariadb-11.8.6"])
def test_a_replica_is_not_borrowed(name: str) -> None:
    """A channel, at work or not, is enough, however the family shows it."""
    server = Lent(name)
    server.channels = [("",)]

    with pytest.raises(LabServerError, match="it is a replica"):
        inspect(server)
