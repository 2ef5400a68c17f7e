"""What ``innobrim check`` says about a server that answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.api import factory
from tests.api.factory import sample
from tests.cli.advised import CHECKED, FOLDER, asked
from tests.cli.support import FakeServer, innobrim
from tests.servers.sockets.mysqld import CERTIFICATES
from tuner.cli import check as command
from tuner.records import Capacity, Receipt
from tuner.servers import endpoint

CA = str(CERTIFICATES / "ca.crt")

Check = Callable[..., dict[str, dict[str, str]]]

FACTS = replace(factory.FACTS, flush_law="legacy")


class Writable(FakeServer):
    """A server that notes what is written to it."""

    def __init__(self) -> None:
        super().__init__(FACTS)
        self.written: list[tuple[str, int]] = []

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Take a write."""
        self.written += steps
        return Receipt(1.0, wanted, wanted, len(steps), 0.01)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Writable:
    """Return the server that check looks at."""
    found = Writable()
    monkeypatch.setattr(command, "real_server", lambda *_: found)
    return found


@pytest.fixture
def check(server: Writable) -> Check:  # noqa: ARG001 - the server must be there
    """Return a way to check it: lines by name."""

    def ask(*words: str, **environ: str) -> dict[str, dict[str, str]]:
        result = innobrim("check", "--json", *words, **environ)
        return {line["id"]: line for line in json.loads(result.stdout)["findings"]}

    return ask


def test_the_privilege_is_proved_where_the_mode_is_active(server: Writable, check: Check) -> None:
    """Whether --active or the configuration asks for active mode, the present value is written back."""
    assert check()["write"]["severity"] == "untested"
    assert server.written == []

    assert check("--active")["write"]["severity"] == "ok"
    assert check(INNOBRIM_LOOP_MODE="active")["write"]["severity"] == "ok"
    assert server.written == [("innodb_io_capacity", 225)] * 2


def test_a_size_for_the_redo_log_has_its_line(server: Writable, check: Check) -> None:
    """With redo.grow_to in the configuration check says what becomes of it, and nothing of it without."""
    there = server.read().redo_capacity // 2**20

    assert check(INNOBRIM_REDO_GROW_TO=f"{there}M")["grow_to"]["title"].endswith("is in force")
    assert "grow_to" not in check()


def test_a_read_only_server_is_fine_where_the_configuration_says_so(
    server: Writable, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What loop.allow_read_only_writes allows is no warning."""
    replica = sample(1, read_only=True)
    monkeypatch.setattr(server, "read", lambda: replica)

    assert check()["read_only"]["severity"] == "warning"
    assert check(INNOBRIM_LOOP_ALLOW_READ_ONLY_WRITES="true")["read_only"]["severity"] == "ok"


@pytest.mark.parametrize(
    ("changes", "last", "said"),
    [
        (
            {"family": "mariadb", "flush_law": "soft-limit"},
            'this server can be written to; how far that controls it is in the line "authority"',
            "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0.001;",
        ),
        ({}, "this server can be controlled", ""),
        (
            {"managed": "Amazon RDS", "family": "mariadb", "flush_law": "soft-limit"},
            'advisory mode works here; what active mode lacks is in the line "write"',
            'ParameterName=innodb_max_dirty_pages_pct_lwm,ParameterValue=0.001,ApplyMethod=immediate"\n',
        ),
    ],
    ids=["M does not move the age", "M does", "managed"],
)
def test_the_last_line_promises_no_more_than_is_so(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, str], last: str, said: str
) -> None:
    """Whoever reads the last line alone learns what active mode can do; what is to be pasted is on a line."""
    server = FakeServer(replace(FACTS, **changes))
    monkeypatch.setattr(command, "real_server", lambda _config, _clock: server)

    result = innobrim("check")

    assert result.output.splitlines()[-1] == last, result.output
    assert said in result.output


@pytest.mark.parametrize("situation", CHECKED)
def test_a_person_reads_what_was_recorded(situation: str) -> None:
    """Each situation prints its file; python -m tests.cli.advised records anew."""
    scenario, shown, words, code = CHECKED[situation]
    said = asked(scenario, *words, verb="check", **shown)

    assert said.exit_code == code
    assert said.output == (FOLDER / f"{situation}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "environ", "code"),
    [((), {}, 0), (("--active",), {}, 1), ((), {"INNOBRIM_LOOP_MODE": "active"}, 1)],
)
def test_the_exit_code_says_whether_what_was_asked_for_is_possible(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], environ: dict[str, str], code: int
) -> None:
    """On a managed server advisory mode is, and active mode, which no account there can have, is not."""
    server = FakeServer(replace(FACTS, managed="Amazon RDS"))
    monkeypatch.setattr(command, "real_server", lambda _config, _clock: server)

    assert innobrim("check", *words, **environ).exit_code == code


@pytest.mark.parametrize(
    ("environ", "outcome"),
    [
        ({"INNOBRIM_SERVER_SOCKET": "/run/s"}, "ok"),
        ({"INNOBRIM_SERVER_HOST": "127.0.0.1"}, "warning"),
        ({"INNOBRIM_SERVER_HOST": "localhost"}, "warning"),
        ({"INNOBRIM_SERVER_HOST": "db1"}, "warning"),
        ({"INNOBRIM_SERVER_HOST": "10.0.0.5", "INNOBRIM_SERVER_TLS": "off"}, "warning"),
        ({"INNOBRIM_SERVER_HOST": "10.0.0.5", "INNOBRIM_SERVER_TLS": "required"}, "warning"),
        (
            {"INNOBRIM_SERVER_HOST": "db1", "INNOBRIM_SERVER_TLS": "verify_ca", "INNOBRIM_SERVER_TLS_CA": CA},
            "ok",
        ),
        (
            {"INNOBRIM_SERVER_HOST": "db1", "INNOBRIM_SERVER_TLS": "required", "INNOBRIM_SERVER_TLS_CA": CA},
            "ok",
        ),
    ],
)
def test_a_server_that_nobody_checks_is_warned_of(
    check: Check, environ: dict[str, str], outcome: str
) -> None:
    """TCP without a certificate authority is a warning with what would help, on this machine too."""
    line = check(**environ)["connection"]

    assert line["severity"] == outcome
    assert ("tls_ca" in line["fix"]) is (outcome == "warning")


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("why", ["of the system", "many"])
def test_authorities_of_everybody_are_warned_of_where_no_name_is_checked(
    check: Check, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, why: str, *, hashed: bool
) -> None:
    """Where anybody can have a certificate of theirs, one without the host's name proves nothing."""
    bundle, file = tmp_path / "0a1b2c3d.0", tmp_path / "my.cnf"
    bundle.write_text(Path(CA).read_text() + (CERTIFICATES / "other.crt").read_text())
    file.write_text(
        f"[client]\nhost=db1\n{'ssl-capath' if hashed else 'ssl-ca'}={tmp_path if hashed else bundle}\n"
    )
    file.chmod(0o600)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))

    assert check("--defaults-file", str(file))["connection"]["severity"] == "ok"
    if why == "many":
        monkeypatch.setattr(endpoint, "FEW", 1)
    else:
        monkeypatch.setenv("SSL_CERT_FILE", CA)
    line = check("--defaults-file", str(file))["connection"]
    assert line["severity"] == "warning"
    assert "verify_identity" in line["fix"]
    file.write_text(f"{file.read_text()}ssl-verify-server-cert\n")
    assert check("--defaults-file", str(file))["connection"]["severity"] == "ok"
