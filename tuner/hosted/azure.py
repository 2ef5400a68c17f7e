"""Azure Database for MySQL, flexible server: each variable is a server parameter of its own.

By "Server parameters in Azure Database for MySQL - Flexible Server" and the REST API's Configurations and
Servers. A value with the source user-override is the owner's; system-default is Azure's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tuner.config.hosted import AZURE
from tuner.hosted.port import (
    ANSWER_SECONDS,
    CONNECT_SECONDS,
    NAMES,
    TRIES,
    HostedError,
    Look,
    Parameter,
    bounds_of,
)

EXTRA = "pip install '.[azure]' in a checkout"
POLL_SECONDS = 5


def client(subscription: str) -> Any:  # noqa: ANN401 - the SDK is an extra
    """Return the SDK's client for a subscription; credentials come from its own chain alone.

    Raises:
        HostedError: the extra is not installed.
    """
    try:
        from azure.identity import DefaultAzureCredential  # noqa: PLC0415 - an extra
        from azure.mgmt.mysqlflexibleservers import MySQLManagementClient  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise HostedError(f"Azure is reached by its SDK, which is not installed: {EXTRA}") from error
    return MySQLManagementClient(DefaultAzureCredential(), subscription, **LIMITS)


LIMITS = {
    "connection_timeout": CONNECT_SECONDS,
    "read_timeout": ANSWER_SECONDS,
    "retry_total": TRIES - 1,
    "polling_interval": POLL_SECONDS,
}
"""Options of the client."""


class ServerParameters:
    """The server parameters of one flexible server."""

    service = "Azure Database for MySQL"

    def __init__(self, instance: str) -> None:
        """Take the server's resource ID; raises ``HostedError`` where the SDK is not there."""
        named = re.fullmatch(AZURE, instance, re.IGNORECASE)
        if named is None:
            raise HostedError(f"{instance} is no flexible server of Azure Database for MySQL")
        self.key, self._server = instance, (named["group"], named["name"])
        self.place = f"the server parameters of {named['name']}"
        self._client = client(named["subscription"])
        self._doing: Any = None

    def look(self) -> Look:
        """Ask for the server and for both parameters."""
        with _told("what it shows"):
            server = self._client.servers.get(*self._server)
            if server.state != "Ready":
                return Look(self.place, barred=f"the server is {server.state}: wait until it is Ready")
            shown = {name: self._client.configurations.get(*self._server, name) for name in NAMES}
            waiting = [name for name, one in shown.items() if one.is_config_pending_restart == "True"]
            return Look(
                self.place,
                addresses=(server.fully_qualified_domain_name,),
                parameters={name: _parameter(one) for name, one in shown.items()},
                pending=f"{' and '.join(waiting)} waits for a restart of the server" if waiting else "",
            )

    def write(self, name: str, value: str | None) -> None:
        """Begin an update of the parameter; a default is asked for anew, as it follows the server's size."""
        from azure.mgmt.mysqlflexibleservers.models import Configuration  # noqa: PLC0415 - an extra

        with _told(f"the update of {name}"):
            source = "system-default" if value is None else "user-override"
            if value is None:
                value = self._client.configurations.get(*self._server, name).default_value
            self._doing = self._client.configurations.begin_update(
                *self._server, name, Configuration(value=value, source=source)
            )

    def settled(self) -> bool:
        """Tell whether Azure is done with the update."""
        with _told("the update"):
            if self._doing is not None and self._doing.done():
                self._doing.result()  # which raises what went wrong
                self._doing = None
            return self._doing is None


def _parameter(shown: Any) -> Parameter:  # noqa: ANN401 - the SDK's
    barred = ""
    if shown.is_read_only == "True":
        barred = "Azure lets nobody change it"
    elif shown.is_dynamic_config != "True":
        barred = "it is static, and takes a restart"
    value = shown.value if shown.source == "user-override" else None
    return Parameter(value, *bounds_of(shown.allowed_values), barred)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Say what was asked where the SDK fails; only called once it is installed."""
    from azure.core.exceptions import AzureError  # noqa: PLC0415 - an extra

    try:
        yield
    except AzureError as error:
        raise HostedError(f"Azure, {what}: {error}") from error
    except (AttributeError, KeyError, ValueError, TypeError) as error:
        raise HostedError(f"Azure, {what}: an answer that is not understood: {error!r}") from error
