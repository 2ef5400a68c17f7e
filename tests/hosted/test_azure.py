"""Flexible servers of Azure: what the SDK sends, and that its answers are understood.

The SDK serialises each request and reads each answer; what it sends ends in an adapter, before the network.
"""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest
import requests
from azure.core.credentials import AccessToken
from azure.core.pipeline.transport import RequestsTransport
from azure.mgmt.mysqlflexibleservers import MySQLManagementClient
from msgspec.structs import replace
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3 import HTTPResponse

from tests.cli.support import ended
from tests.hosted.account import MANAGED, Account, C, Desk, M
from tuner.hosted.azure import LIMITS, client
from tuner.records import Capacity

APPLY = ("hosted", "apply", "--to", "444/444", "--yes", "--timeout", "20s")
RESTORE = ("hosted", "restore", "--yes", "--timeout", "20s")
SERVER = (
    "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g1/providers/"
    "Microsoft.DBforMySQL/flexibleServers/db1"
)
ADDRESS = "db1.mysql.database.azure.com"


class Subscription(BaseAdapter):
    """What Azure's API answers with.

    Attributes:
        state: of the server.
        parameters: properties of each variable.
        sent: the bodies of updates.
        refuses: updates end with an error.
        unfinished: polls of an update until it is done.
    """

    def __init__(self, account: Account) -> None:
        super().__init__()
        self._account = account
        self.state, self.refuses, self.unfinished = "Ready", False, 1
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.parameters = {C: self.parameter("200"), M: self.parameter("2000")}

    @staticmethod
    def parameter(default: str, **changes: str) -> dict[str, str]:
        """Return the properties of a parameter that has Azure's value."""
        return {
            "value": default,
            "defaultValue": default,
            "dataType": "Integer",
            "allowedValues": "100-40000",
            "source": "system-default",
            "isReadOnly": "False",
            "isConfigPendingRestart": "False",
            "isDynamicConfig": "True",
            **changes,
        }

    def send(self, request: requests.PreparedRequest, *_: object, **__: object) -> requests.Response:  # type: ignore[override]  # takes all
        """Answer one request of the SDK's."""
        url = str(request.url)
        name = url.partition("?")[0].rpartition("/")[2]
        if "/operations/" in url:
            self.unfinished -= 1
            return self._response(
                request, 200, {"status": "InProgress" if self.unfinished > 0 else "Succeeded"}
            )
        assert SERVER in url
        assert "api-version=" in url
        if request.method == "PATCH":
            return self._updated(request, name)
        if name == "db1":
            server = {"fullyQualifiedDomainName": ADDRESS, "state": self.state}
            return self._response(request, 200, {"location": "westeurope", "properties": server})
        return self._response(request, 200, {"name": name, "properties": self.parameters[name]})

    def close(self) -> None:
        """Have nothing to give back."""

    def _updated(self, request: requests.PreparedRequest, name: str) -> requests.Response:
        if self.refuses:
            error = {"error": {"code": "AuthorizationFailed", "message": "the client may not update it"}}
            return self._response(request, 403, error)
        properties = json.loads(request.body or b"")["properties"]
        self.sent.append((name, properties))
        self.parameters[name] |= properties
        self._account._pending.append((1, name, int(properties["value"])))
        operation = f"https://management.azure.com/operations/{len(self.sent)}?api-version=1"
        return self._response(request, 202, {}, {"Azure-AsyncOperation": operation})

    @staticmethod
    def _response(
        request: requests.PreparedRequest,
        status: int,
        body: dict[str, Any],
        headers: dict[str, str] | None = None,
    ) -> requests.Response:
        text = io.BytesIO(json.dumps(body).encode())
        headers = {"Content-Type": "application/json", **(headers or {})}
        raw = HTTPResponse(text, headers, status, preload_content=False)
        return HTTPAdapter().build_response(request, raw)


class Nobody:
    """A credential that asks nobody."""

    def get_token(self, *_: str, **__: object) -> AccessToken:
        """Return one that never ends."""
        return AccessToken("made-up", 2**33)


@pytest.fixture
def azure(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Subscription:
    """Have the desk beside a flexible server."""
    subscription = Subscription(desk.account)
    session = requests.Session()
    session.mount("https://", subscription)

    def made(name: str) -> MySQLManagementClient:
        transport = RequestsTransport(session=session, session_owner=False)
        return MySQLManagementClient(Nobody(), name, transport=transport, **{**LIMITS, "polling_interval": 0})

    monkeypatch.setattr("tuner.hosted.azure.client", made)
    desk.table, desk.host = f'[hosted]\ninstance = "{SERVER}"\n', ADDRESS
    desk.server.said = replace(
        MANAGED, managed="Azure Database for MySQL", endpoint=f"innobrim@{ADDRESS}:3306"
    )
    return subscription


def test_a_pair_is_set_and_set_back(desk: Desk, azure: Subscription) -> None:
    """Each parameter is the owner's while ours is in force, and Azure's own again after a restore."""
    ended(desk.types("check"), 0, "ok       hosted", f"{C} the provider's default")
    ended(desk.types(*APPLY), 0, "444/444 is in force")
    owners = {"value": "444", "source": "user-override"}
    assert azure.sent == [(C, owners), (M, owners)]

    ended(desk.types(*RESTORE), 0, "200/2000 is in force")
    assert desk.server.capacity == Capacity(200, 2000)
    assert {one["source"] for one in azure.parameters.values()} == {"system-default"}


def test_an_owners_value_is_set_back_as_one(desk: Desk, azure: Subscription) -> None:
    """What was no default stays none."""
    azure.parameters[M] = azure.parameter("1500", value="2000", source="user-override")
    desk.types(*APPLY)
    ended(desk.types(*RESTORE), 0, "200/2000 is in force")

    assert (azure.parameters[M]["value"], azure.parameters[M]["source"]) == ("2000", "user-override")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"isReadOnly": "True"}, "Azure lets nobody change it"),
        ({"isDynamicConfig": "False"}, "takes a restart"),
        ({"allowedValues": "1000-20000"}, "takes 1000 to 20000"),
        ({"isConfigPendingRestart": "True"}, f"{M} waits for a restart"),
        ({"value": "900", "source": "user-override"}, f"{M} is 900 at the provider and 2000 in the server"),
    ],
)
def test_a_parameter_that_cannot_be_set_is_named(
    desk: Desk, azure: Subscription, changes: dict[str, str], why: str
) -> None:
    """Nothing is sent where Azure would refuse it, or where a restart would be needed."""
    azure.parameters[M] |= changes

    ended(desk.types(*APPLY), 1, why)
    assert azure.sent == []


def test_a_server_that_is_not_ready_is_left_alone(desk: Desk, azure: Subscription) -> None:
    """While Azure is at it nothing is sent."""
    azure.state = "Updating"

    ended(desk.types("check"), 1, "PROBLEM hosted", "the server is Updating")
    ended(desk.types(*APPLY), 1, "the server is Updating")


def test_a_refusal_is_told_in_azures_words(desk: Desk, azure: Subscription) -> None:
    """Which parameter, and what Azure said."""
    azure.refuses = True

    ended(desk.types(*APPLY), 1, f"the update of {C}", "may not update it")


@pytest.mark.usefixtures("azure")
def test_without_the_extra_the_command_names_it(monkeypatch: pytest.MonkeyPatch, desk: Desk) -> None:
    """A machine without the SDK is told what to install."""
    monkeypatch.setattr("tuner.hosted.azure.client", client)
    monkeypatch.setitem(sys.modules, "azure.identity", None)

    ended(desk.types(*APPLY), 1, "pip install '.[azure]'")
