"""An account of Amazon RDS and a server in it: the SDK itself judges each request and each answer.

Requests go through botocore's own validation and serialisation and end before the network; answers have to
be of the shape that the service's model publishes.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from botocore.awsrequest import AWSResponse
from botocore.validate import validate_parameters
from click.testing import CliRunner, Result
from msgspec.structs import replace

from tests.api.factory import FACTS, sample
from tuner.cli.main import cli
from tuner.hosted import rds
from tuner.hosted.kept import NAME
from tuner.records import Capacity, Facts, Missed, Sample

ARN = "arn:aws:rds:eu-west-1:123456789012:db:{}"
ADDRESS = "db1.c1.eu-west-1.rds.amazonaws.com"
GROUP = "db1-innobrim"
C, M = "innodb_io_capacity", "innodb_io_capacity_max"
MANAGED = replace(FACTS, managed="Amazon RDS", endpoint=f"innobrim@{ADDRESS}:3306")


def instance(name: str = "db1", group: str = GROUP, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """Return what DescribeDBInstances says of one."""
    return {
        "DBInstanceIdentifier": name,
        "DBInstanceArn": ARN.format(name),
        "Engine": "mysql",
        "DBInstanceStatus": "available",
        "Endpoint": {"Address": ADDRESS.replace("db1", name), "Port": 3306},
        "DBParameterGroups": [{"DBParameterGroupName": group, "ParameterApplyStatus": "in-sync"}],
        **changes,
    }


def parameter(name: str, value: str | None, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """Return what DescribeDBParameters says of one."""
    given = {"ParameterValue": value} if value is not None else {}
    return {
        "ParameterName": name,
        "Source": "engine-default" if value is None else "user",
        "ApplyType": "dynamic",
        "DataType": "integer",
        "AllowedValues": "100-18446744073709551615",
        "IsModifiable": True,
        **given,
        **changes,
    }


_client = functools.cache(rds.client)  # The SDK takes a second to make one


class Server:
    """The MySQL of the instance; it clips one variable by the other, as InnoDB does.

    Attributes:
        capacity: in force.
        seen: every pair that was in force.
        default: what the engine has without a value in the group.
    """

    def __init__(self) -> None:
        self.said = MANAGED
        self.capacity = self.default = Capacity(200, 2000)
        self.seen = [self.capacity]
        self.identity = FACTS.identity
        self.on_read: Callable[[], object] = lambda: None

    def facts(self) -> Facts:
        """Return what it is."""
        return self.said

    def read(self) -> Sample | Missed:
        """Return a reading with the pair in force."""
        self.on_read()
        pair = self.capacity
        return sample(
            1, io_capacity=pair.io_capacity, io_capacity_max=pair.io_capacity_max, identity=self.identity
        )

    def may_write(self) -> bool | None:
        """Leave it open."""
        return None

    def close(self) -> None:
        """Have the next statement connect again."""

    def set(self, name: str, value: int) -> None:
        """Have a variable in force."""
        c, m = self.capacity.io_capacity, self.capacity.io_capacity_max
        self.capacity = Capacity(min(value, m), m) if name == C else Capacity(min(c, value), value)
        self.seen.append(self.capacity)


class Account:
    """What the service's API answers with.

    Attributes:
        instances: of the region.
        parameters: of the group.
        reads: readings after a change until it is in force; None where it never is.
        asked: the operations that changed something, with what the request said and what was on disk then.
        refuses: operations that end with an error of the service's.
    """

    def __init__(self, server: Server, *, c: str | None = None, m: str | None = None) -> None:
        self.server = server
        self.instances = [instance()]
        self.parameters = {C: parameter(C, c), M: parameter(M, m)}
        self.reads: int | None = 1
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.on_disk: list[str] = []
        self.refuses: dict[str, str] = {}
        self.directory = Path()
        self._pending: list[tuple[int, str, int]] = []
        server.on_read = self._pass

    @property
    def values(self) -> dict[str, str | None]:
        """Return what the group has of each variable; None for the engine's default."""
        return {name: one.get("ParameterValue") for name, one in self.parameters.items()}

    @property
    def status(self) -> dict[str, str]:
        """Return what the instance says of its group."""
        found: dict[str, str] = self.instances[0]["DBParameterGroups"][0]
        return found

    def client(self, region: str) -> Any:  # noqa: ANN401 - boto3 has no types
        """Return the client that the product makes, with this account at its end."""
        for event, handler in (("before-parameter-build", self._noted), ("before-call", self._answered)):
            events = _client(region).meta.events
            events.unregister(f"{event}.rds.*", unique_id=event)
            events.register(f"{event}.rds.*", handler, unique_id=event)
        return _client(region)

    def _noted(self, params: dict[str, Any], **_: object) -> None:
        self._request = params

    def _answered(self, model: Any, **_: object) -> tuple[AWSResponse, dict[str, Any]]:  # noqa: ANN401 - the SDK's
        if model.name in self.refuses:
            code = self.refuses[model.name]
            error = {
                "Error": {"Code": code, "Message": f"User: arn:aws:iam::1:user/dba may not {model.name}"}
            }
            return AWSResponse("", 403, {}, None), error
        answer = getattr(self, f"_{model.name}")(self._request)
        validate_parameters(answer, model.output_shape)
        return AWSResponse("", 200, {}, None), answer

    def _DescribeDBInstances(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - the service's name
        wanted = request.get("DBInstanceIdentifier")
        return {"DBInstances": [one for one in self.instances if wanted in {None, one["DBInstanceArn"]}]}

    def _DescribeDBParameters(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - the service's name
        assert request["DBParameterGroupName"] == GROUP
        return {"Parameters": list(self.parameters.values())}

    def _ModifyDBParameterGroup(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - the service's name
        return self._changed("modify", request)

    def _ResetDBParameterGroup(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - the service's name
        assert request["ResetAllParameters"] is False
        return self._changed("reset", request)

    def _changed(self, what: str, request: dict[str, Any]) -> dict[str, Any]:
        (given,) = request["Parameters"]
        assert given["ApplyMethod"] == "immediate"
        file = self.directory / NAME
        self.on_disk.append(file.read_text(encoding="utf-8") if file.exists() else "")
        self.asked.append((what, given))
        name, value = given["ParameterName"], given.get("ParameterValue")
        self.parameters[name] = parameter(name, value)
        default = self.server.default
        by_default = {C: default.io_capacity, M: default.io_capacity_max}[name]
        number = int(value) if value and value.isdigit() else by_default  # so does a formula come out here
        if self.reads is not None:
            self.status["ParameterApplyStatus"] = "applying"
            self._pending.append((self.reads, name, number))
        return {"DBParameterGroupName": GROUP}

    def _pass(self) -> None:
        """Let one reading's time go by."""
        for left, name, number in self._pending:
            if left == 0:
                self.server.set(name, number)
                self.status["ParameterApplyStatus"] = "in-sync"
        self._pending = [(left - 1, name, number) for left, name, number in self._pending if left > 0]


class Desk:
    """A DBA who types commands beside such an account.

    Attributes:
        directory: the state directory.
        table: of the configuration, as it is written.
        host: by which the server is reached.
    """

    def __init__(
        self, directory: Path, server: Server, account: Account, patched: pytest.MonkeyPatch
    ) -> None:
        self.directory, self.server, self.account = directory, server, account
        self.table = f'[hosted]\ninstance = "{ARN.format("db1")}"\nparameter_group = "{GROUP}"\n'
        self.host = ADDRESS
        account.directory = directory
        for name, value in {
            "AWS_ACCESS_KEY_ID": "made-up",
            "AWS_SECRET_ACCESS_KEY": "made-up",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": str(directory / "none"),
            "AWS_SHARED_CREDENTIALS_FILE": str(directory / "none"),
        }.items():
            patched.setenv(name, value)
        patched.setattr("tuner.hosted.rds.client", account.client)
        patched.setattr("tuner.hosted.change.LOOK_SECONDS", 0.0)
        for module in ("hosted", "check"):
            patched.setattr(f"tuner.cli.{module}.real_server", lambda *_, **__: server)

    def types(self, *words: str, answer: str = "") -> Result:
        """Return what ``innobrim`` comes to; an answer is typed at a terminal."""
        file = self.directory / "innobrim.toml"
        file.write_text(f'[server]\nhost = "{self.host}"\n{self.table}', encoding="utf-8")
        file.chmod(0o600)
        with patch("tuner.cli.redo_growth.at_terminal", lambda: bool(answer)):
            typed = [*words, "--config", str(file), "--state-directory", str(self.directory)]
            return CliRunner().invoke(cli, typed, prog_name="innobrim", input=answer)

    def kept(self) -> list[dict[str, Any]]:
        """Return what is on disk."""
        file = self.directory / NAME
        return list(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else []
