"""Instances of Google Cloud SQL: what the SDK sends, and that its answers are understood.

The SDK makes each request and reads each answer; both end before the network, and are judged by the service's
own schemas, which are in the SDK.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

import google.auth
import pytest
from google.auth.credentials import AnonymousCredentials
from httplib2 import Response
from msgspec.structs import replace

from tests.cli.support import ended
from tests.hosted.account import MANAGED, Account, C, Desk, M
from tuner.hosted.cloudsql import carrier
from tuner.records import Capacity

APPLY = ("hosted", "apply", "--to", "444/444", "--yes", "--timeout", "20s")
RESTORE = ("hosted", "restore", "--yes", "--timeout", "20s")
INSTANCE = "shop-1:europe-west1:db1"
ADDRESS = "10.20.30.40"
FOUND = [{"name": "max_connections", "value": "500"}, {"name": "skip_show_database"}]
SCHEMAS: dict[str, Any] = json.loads(
    resources.files("googleapiclient.discovery_cache")
    .joinpath("documents/sqladmin.v1.json")
    .read_text("utf-8")
)["schemas"]
KINDS = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
}


def wrong(value: object, schema: dict[str, Any], place: str) -> Iterator[str]:
    """Yield what the service's schema says against a value."""
    schema = SCHEMAS[schema["$ref"]] if "$ref" in schema else schema
    kind = schema["type"]
    if not isinstance(value, KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):  # type: ignore[arg-type]  # types
        yield f"{place} is no {kind}: {value!r}"
    elif isinstance(value, dict):
        for name, one in value.items():
            of = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            yield from [f"{place}.{name} is unknown"] if of is None else wrong(one, of, f"{place}.{name}")
    elif isinstance(value, list):
        for one in value:
            yield from wrong(one, schema["items"], f"{place}[]")
    elif value not in schema.get("enum", [value]) or (
        schema.get("format") == "int64" and not re.fullmatch(r"-?\d+", str(value))
    ):
        yield f"{place} cannot be {value!r}"


class Project:
    """What the Cloud SQL Admin API answers with.

    Attributes:
        instance: as instances.get shows it.
        offered: as flags.list shows it, by name.
        sent: bodies of patches that the service took.
        unfinished: looks at an operation until it is done.
        failed: what goes wrong with an operation; empty for nothing.
        refuses: status and words for every patch; None where it takes them.
        before_patch: what somebody else does after the reading that a patch is made of.
    """

    def __init__(self, account: Account) -> None:
        self._account = account
        self.instance: dict[str, Any] = {
            "connectionName": INSTANCE,
            "databaseVersion": "MYSQL_8_0",
            "instanceType": "CLOUD_SQL_INSTANCE",
            "state": "RUNNABLE",
            "ipAddresses": [
                {"type": "OUTGOING", "ipAddress": "10.0.0.1"},
                {"type": "PRIVATE", "ipAddress": ADDRESS},
            ],
            "dnsNames": [{"name": "db1.shop.sql.goog.", "dnsScope": "INSTANCE"}],
            "settings": {"settingsVersion": "41", "activationPolicy": "ALWAYS", "databaseFlags": list(FOUND)},
        }
        self.offered = {name: self.flag(name) for name in (C, M)}
        self.sent: list[dict[str, Any]] = []
        self.unfinished, self.failed = 0, ""
        self.refuses: tuple[int, str] | None = None
        self.before_patch: Callable[[], object] = lambda: None

    @staticmethod
    def flag(name: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
        """Return what the service says of a flag that it offers."""
        return {
            "name": name,
            "type": "INTEGER",
            "appliesTo": ["MYSQL_8_0", "MYSQL_8_4"],
            "minValue": "100",
            "maxValue": "100000",
            "requiresRestart": False,
            "kind": "sql#flag",
            **changes,
        }

    @property
    def flags(self) -> list[dict[str, str]]:
        """Return the flags that the instance has."""
        found: list[dict[str, str]] = self.instance["settings"].get("databaseFlags", [])
        return found

    def somebody_sets(self, flags: list[dict[str, str]]) -> None:
        """Change the flags as somebody else does, who leaves a new version of the settings."""
        version = str(int(self.instance["settings"]["settingsVersion"]) + 1)
        self.instance["settings"] |= {"databaseFlags": flags, "settingsVersion": version}

    def request(
        self, uri: str, method: str = "GET", body: str | None = None, **_: object
    ) -> tuple[Response, bytes]:
        """Answer one request of the SDK's."""
        path, _, query = uri.removeprefix("https://sqladmin.googleapis.com/v1/").partition("?")
        if method == "PATCH":
            assert path == "projects/shop-1/instances/db1"
            return self._patched(json.loads(body or ""))
        if path == "projects/shop-1/instances/db1":
            return self._answer("DatabaseInstance", self.instance)
        if path == "flags":
            assert "databaseVersion=MYSQL_8_0" in query
            return self._answer("FlagsListResponse", {"items": list(self.offered.values())})
        assert path == "projects/shop-1/operations/op-1"
        self.unfinished -= 1
        shown: dict[str, Any] = {"name": "op-1", "status": "DONE" if self.unfinished <= 0 else "RUNNING"}
        if self.failed:
            shown["error"] = {"errors": [{"code": "INTERNAL_ERROR", "message": self.failed}]}
        return self._answer("Operation", shown)

    def _patched(self, body: dict[str, Any]) -> tuple[Response, bytes]:
        assert list(wrong(body, {"$ref": "DatabaseInstance"}, "body")) == []
        self.before_patch()
        if self.unfinished > 0:
            return self._refusal(409, "Another operation was already in progress.")
        if self.refuses is not None:
            return self._refusal(*self.refuses)
        if body["settings"].pop("settingsVersion") != self.instance["settings"]["settingsVersion"]:
            return self._refusal(412, "Condition does not match.")
        before = {one["name"]: one.get("value") for one in self.flags}
        self.sent.append(body)
        self.somebody_sets(body["settings"]["databaseFlags"])
        now = {one["name"]: one.get("value") for one in self.flags}
        default = self._account.server.default
        for name, number in ((C, default.io_capacity), (M, default.io_capacity_max)):
            if before.get(name) != now.get(name) and not self.failed:
                self._account._pending.append((1, name, int(now.get(name) or number)))
        self.unfinished = 2
        return self._answer("Operation", {"name": "op-1", "status": "PENDING", "operationType": "UPDATE"})

    @staticmethod
    def _answer(schema: str, body: dict[str, Any]) -> tuple[Response, bytes]:
        assert list(wrong(body, {"$ref": schema}, schema)) == []
        return Response({"status": "200"}), json.dumps(body).encode()

    @staticmethod
    def _refusal(status: int, message: str) -> tuple[Response, bytes]:
        return Response({"status": str(status)}), json.dumps({"error": {"message": message}}).encode()


@pytest.fixture
def project(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Have the desk beside an instance of Cloud SQL that has two other flags."""
    made = Project(desk.account)
    monkeypatch.setattr("tuner.hosted.cloudsql.carrier", lambda: made)
    desk.table, desk.host = f'[hosted]\ninstance = "{INSTANCE}"\n', ADDRESS
    desk.server.said = replace(MANAGED, managed="Google Cloud SQL", endpoint=f"innobrim@{ADDRESS}:3306")
    return made


def _ours(c: str, m: str | None = None) -> list[dict[str, str]]:
    return [{"name": C, "value": c}, *([] if m is None else [{"name": M, "value": m}])]


def test_a_pair_is_set_beside_all_other_flags_and_set_back(desk: Desk, project: Project) -> None:
    """Each change has the other flags as they were found, and a restore leaves the list that was found."""
    ended(desk.types("check"), 0, "ok       hosted", f"{C} the provider's default")
    ended(desk.types(*APPLY), 0, "444/444 is in force")
    lists = [one["settings"]["databaseFlags"] for one in project.sent]
    assert lists == [[*FOUND, *_ours("444")], [*FOUND, *_ours("444", "444")]]
    assert [list(one) for one in project.sent] == [["settings"]] * 2

    ended(desk.types(*RESTORE), 0, "200/2000 is in force")
    assert desk.server.capacity == Capacity(200, 2000)
    assert project.flags == FOUND


def test_a_restore_leaves_what_others_set_since(desk: Desk, project: Project) -> None:
    """Our two flags get the values found, in their place; a flag that somebody changed or added stays."""
    project.somebody_sets([*_ours("200"), *FOUND])
    desk.types(*APPLY)
    changed = [{"name": "max_connections", "value": "900"}, {"name": "long_query_time", "value": "1"}]
    project.somebody_sets([*_ours("444"), *changed, *_ours("", "444")[1:]])

    ended(desk.types(*RESTORE), 0, "200/2000 is in force")
    assert project.flags == [*_ours("200"), *changed]


def test_without_any_other_flag_the_list_is_empty_again(desk: Desk, project: Project) -> None:
    """An instance without flags has none after a restore."""
    del project.instance["settings"]["databaseFlags"]
    desk.types(*APPLY)

    ended(desk.types(*RESTORE), 0, "200/2000 is in force")
    assert project.flags == []


def test_a_change_between_reading_and_writing_loses_nothing(desk: Desk, project: Project) -> None:
    """The service refuses ours, the flag that somebody set is there, and the same command then goes on."""
    theirs = [*FOUND, {"name": "long_query_time", "value": "1"}]
    project.before_patch = lambda: project.somebody_sets(theirs)

    ended(desk.types(*APPLY), 1, "the instance was changed meanwhile", "run it again")
    assert project.flags == theirs
    project.before_patch = lambda: None
    ended(desk.types(*APPLY), 0, "444/444 is in force")
    assert project.flags == [*theirs, *_ours("444", "444")]


def test_a_person_sees_what_is_sent_along(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All other flags are shown before the question; one that changes while it is open ends it."""

    def confirm(*_: object, **__: object) -> bool:
        project.somebody_sets(FOUND[:1])
        return True

    monkeypatch.setattr("tuner.cli.hosted.click.confirm", confirm)
    told = desk.types(*(word for word in APPLY if word != "--yes"), answer="y\n")

    ended(told, 1, "sent along as found: max_connections=500, skip_show_database", "ask again")
    assert project.sent == []


def test_an_instance_of_a_minor_version_is_reached_by_its_name(desk: Desk, project: Project) -> None:
    """What the service offers for MYSQL_8_0 is offered for MYSQL_8_0_36, which its DNS name leads to."""
    project.instance["databaseVersion"] = "MYSQL_8_0_36"
    desk.host = "db1.shop.sql.goog"

    ended(desk.types(*APPLY), 0, "444/444 is in force")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"requiresRestart": True},
            f"{M} in the database flags of db1: Cloud SQL says that a change restarts",
        ),
        ({"requiresRestart": None}, "Cloud SQL does not say whether a change restarts"),
        ({"appliesTo": ["MYSQL_5_7"]}, f"{M} in the database flags of db1: it is not there"),
        ({"minValue": "1000"}, f"takes 1000 to 100000 for {M}"),
    ],
)
def test_a_flag_that_is_not_to_be_changed_is_named(
    desk: Desk, project: Project, changes: dict[str, Any], why: str
) -> None:
    """Where a change may restart the server, and where the service would refuse it, nothing is sent."""
    shown = project.flag(M, **changes)
    project.offered[M] = {name: value for name, value in shown.items() if value is not None}

    ended(desk.types(*APPLY), 1, why)
    assert project.sent == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"instanceType": "READ_REPLICA_INSTANCE"}, "it is a READ_REPLICA_INSTANCE"),
        ({"state": "MAINTENANCE"}, "the instance is MAINTENANCE: wait until it is RUNNABLE"),
        ({"settings": {"settingsVersion": "1", "activationPolicy": "NEVER"}}, "stopped: start it first"),
        ({"databaseVersion": "POSTGRES_16"}, "it is POSTGRES_16, not MySQL"),
        ({"connectionName": "shop-1:us-east1:db1"}, "its connection name is shop-1:us-east1:db1"),
        ({"ipAddresses": [{"type": "PRIMARY", "ipAddress": "10.0.0.2"}]}, f"was reached by {ADDRESS}"),
        (
            {"ipAddresses": [{"type": "OUTGOING", "ipAddress": ADDRESS}], "dnsNames": []},
            "no address of its own",
        ),
    ],
)
def test_an_instance_that_is_not_to_be_changed_says_why(
    desk: Desk, project: Project, changes: dict[str, Any], why: str
) -> None:
    """Replicas, instances that are stopped or in maintenance, and other instances are left alone."""
    project.instance |= changes

    ended(desk.types("check"), 1, "PROBLEM hosted", why)
    ended(desk.types(*APPLY), 1, why)
    assert project.sent == []


def test_optimized_writes_keep_both_variables_to_themselves(desk: Desk, project: Project) -> None:
    """Where the provider moves them, no person's pair is set beside that."""
    desk.server.said = replace(desk.server.said, managed="Google Cloud SQL with optimized writes")

    ended(desk.types(*APPLY), 1, "optimized writes")
    assert project.sent == []


def test_what_goes_wrong_with_the_operation_is_told_at_once(desk: Desk, project: Project) -> None:
    """Nobody waits ten minutes for what has failed; the way back is on disk."""
    project.failed = "a system error"

    ended(desk.types(*APPLY), 1, "the update: INTERNAL_ERROR a system error")
    assert desk.kept()[0]["values"] == {C: None, M: None}


def test_maintenance_in_the_midst_of_a_restore_is_told(desk: Desk, project: Project) -> None:
    """The way back stays on disk, and the same command goes on after it."""
    desk.types(*APPLY)
    passing = desk.server.on_read

    def began() -> None:
        passing()
        if desk.server.capacity == Capacity(200, 2000):
            project.instance["state"] = "MAINTENANCE"

    desk.server.on_read = began
    ended(desk.types(*RESTORE), 1, "the instance is MAINTENANCE")
    desk.server.on_read, project.instance["state"] = passing, "RUNNABLE"

    ended(desk.types(*RESTORE), 0, "200/2000 is in force")
    assert project.flags == FOUND


@pytest.mark.parametrize(
    "refusal", [(403, "The client is not authorized."), (409, "Another operation runs.")]
)
def test_a_refusal_is_told_in_googles_words(desk: Desk, project: Project, refusal: tuple[int, str]) -> None:
    """Which flag, and what Google said."""
    project.refuses = refusal

    ended(desk.types(*APPLY), 1, f"the update of {C}: {refusal[1]} (HTTP {refusal[0]})")


def test_an_update_whose_answer_is_lost_is_not_sent_twice(desk: Desk, project: Project) -> None:
    """What it did is open: the command ends, says so, and the next one looks first."""
    tries: list[str] = []

    def lost() -> None:
        tries.append("")
        raise TimeoutError

    project.before_patch = lost
    ended(desk.types(*APPLY), 1, f"the update of {C}: TimeoutError")
    assert len(tries) == 1


@pytest.mark.usefixtures("project")
def test_without_the_extra_the_command_names_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the SDK is told what to install."""
    monkeypatch.setattr("tuner.hosted.cloudsql.carrier", carrier)
    monkeypatch.setitem(sys.modules, "google_auth_httplib2", None)

    ended(desk.types(*APPLY), 1, "pip install '.[cloudsql]'")


@pytest.mark.usefixtures("project")
def test_without_credentials_the_sdk_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """No credentials are asked for or kept by us: where the SDK finds none, that is told."""
    monkeypatch.setattr("tuner.hosted.cloudsql.carrier", carrier)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(desk.directory / "none.json"))

    ended(desk.types(*APPLY), 1, "its credentials", "none.json was not found")


def test_every_request_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider that does not answer keeps nobody waiting for more than some minutes."""
    monkeypatch.setattr(google.auth, "default", lambda **_: (AnonymousCredentials(), None))

    assert carrier().http.timeout <= 20


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"setings": {}}, "body.setings is unknown"),
        ({"settings": {"settingsVersion": 41}}, "body.settings.settingsVersion is no string: 41"),
        ({"settings": {"databaseFlags": {"name": C}}}, "body.settings.databaseFlags is no array"),
        ({"settings": {"databaseFlags": [{"name": C, "value": 444}]}}, "value is no string: 444"),
        ({"settings": {"activationPolicy": "SOMETIMES"}}, "activationPolicy cannot be 'SOMETIMES'"),
    ],
)
def test_the_services_schema_judges_what_is_sent(body: dict[str, Any], why: str) -> None:
    """What the tests above send would not pass with a wrong name, type or word."""
    (found,) = wrong(body, {"$ref": "DatabaseInstance"}, "body")

    assert why in found
