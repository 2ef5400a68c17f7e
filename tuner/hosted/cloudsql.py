"""Google Cloud SQL for MySQL: each variable is a database flag, one of a list that the instance has.

By its Admin API (instances.get and patch, flags.list, operations.get) and "Configure database flags".
A patch replaces the whole list. So each one has the list as it was read right before, with one flag changed,
and the settingsVersion of that reading: the service refuses it where that is no longer the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tuner.config.hosted import CLOUD_SQL
from tuner.hosted.port import ANSWER_SECONDS, NAMES, TRIES, HostedError, Look, Parameter

EXTRA = "pip install '.[cloudsql]' in a checkout"
SCOPE = "https://www.googleapis.com/auth/sqlservice.admin"
STALE = 412
"""HTTP status of a change with a settingsVersion that is no longer the instance's."""

REACHED_AT = frozenset({"PRIMARY", "PRIVATE"})
"""Types of IP addresses by which an instance is reached."""


def carrier() -> Any:  # noqa: ANN401 - the SDK is an extra
    """Return what sends requests, in bounded time; credentials come from Google's own chain alone.

    Raises:
        HostedError: the extra is not installed, or there are no credentials.
    """
    try:
        import google.auth  # noqa: PLC0415 - an extra
        import google_auth_httplib2  # noqa: PLC0415 - an extra
        import httplib2  # noqa: PLC0415 - an extra
        from googleapiclient import discovery  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise HostedError(
            f"Google Cloud SQL is reached by its SDK, which is not installed: {EXTRA}"
        ) from error
    with _told("its credentials"):
        credentials, _ = google.auth.default(scopes=[SCOPE])
        return google_auth_httplib2.AuthorizedHttp(credentials, http=httplib2.Http(timeout=ANSWER_SECONDS))


class DatabaseFlags:
    """The database flags of one instance."""

    service = "Google Cloud SQL"

    def __init__(self, instance: str) -> None:
        """Take the instance's connection name; raises ``HostedError`` where the SDK is not there."""
        named = re.fullmatch(CLOUD_SQL, instance)
        if named is None:
            raise HostedError(f"{instance} is no connection name of Google Cloud SQL")
        self.key, self._project, self._name = instance, named["project"], named["name"]
        self.place = f"the database flags of {self._name}"
        sends = carrier()
        from googleapiclient import discovery  # noqa: PLC0415 - an extra

        with _told("its client"):
            self._api = discovery.build(
                "sqladmin", "v1", http=sends, static_discovery=True, cache_discovery=False
            )
        self._operation = ""

    def look(self) -> Look:
        """Ask for the instance and its flags, and for what its version offers and takes."""
        with _told("what it shows"):
            instance = self._instance()
            if barred := self._barred(instance):
                return Look(self.place, barred=barred)
            version = instance["databaseVersion"]
            listed = _asked(self._api.flags().list(databaseVersion=version)).get("items", [])
            offered = {one["name"]: one for one in listed if _fits(version, one["appliesTo"])}
            flags = _flags(instance)
            kept = {one["name"]: one["value"] for one in flags if one["name"] in NAMES}
            return Look(
                self.place,
                addresses=_addresses(instance),
                parameters={
                    name: _parameter(offered[name], kept.get(name)) for name in NAMES if name in offered
                },
                along=tuple(
                    "=".join([one["name"], *_value(one)]) for one in flags if one["name"] not in NAMES
                ),
            )

    def write(self, name: str, value: str | None) -> None:
        """Begin a patch of the list, in which this flag alone is another one, or is left out."""
        with _told(f"the update of {name}"):
            instance = self._instance()
            flags = _flags(instance)
            at = next((place for place, one in enumerate(flags) if one["name"] == name), len(flags))
            flags[at : at + 1] = [] if value is None else [{"name": name, "value": value}]
            settings = {
                "settingsVersion": instance["settings"]["settingsVersion"],
                "databaseFlags": flags,
            }
            patch = self._api.instances().patch(
                project=self._project, instance=self._name, body={"settings": settings}
            )
            self._operation = patch.execute(num_retries=0)["name"]  # a lost answer leaves open what it did

    def settled(self) -> bool:
        """Tell whether Cloud SQL is done with the update."""
        with _told("the update"):
            if self._operation:
                get = self._api.operations().get(project=self._project, operation=self._operation)
                shown = _asked(get)
                if errors := shown.get("error", {}).get("errors"):
                    said = "; ".join(f"{one.get('code')} {one.get('message', '')}" for one in errors)
                    raise HostedError(f"Google Cloud SQL, the update: {said}")
                if shown["status"] == "DONE":
                    self._operation = ""
            return not self._operation

    def _instance(self) -> dict[str, Any]:
        return _asked(self._api.instances().get(project=self._project, instance=self._name))

    def _barred(self, instance: dict[str, Any]) -> str:
        """Return why nothing may be changed; empty where it may."""
        if instance["connectionName"] != self.key:
            return f"its connection name is {instance['connectionName']}, not {self.key}"
        if not instance["databaseVersion"].startswith("MYSQL_"):
            return f"it is {instance['databaseVersion']}, not MySQL"
        if instance["instanceType"] != "CLOUD_SQL_INSTANCE":
            return f"it is a {instance['instanceType']}: only a primary instance is changed"
        if instance["settings"].get("activationPolicy") == "NEVER":
            return "the instance is stopped: start it first"
        if instance["state"] != "RUNNABLE":
            return f"the instance is {instance['state']}: wait until it is RUNNABLE"
        return "" if _addresses(instance) else "it has no address of its own that tells which server it is"


def _asked(request: Any) -> dict[str, Any]:  # noqa: ANN401 - the SDK's
    """Return the answer to a request that changes nothing, and so may be sent again."""
    answer: dict[str, Any] = request.execute(num_retries=TRIES - 1)
    return answer


def _flags(instance: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the instance's own list; a flag that takes no value has none."""
    flags: list[dict[str, Any]] = instance["settings"].get("databaseFlags", [])
    return flags


def _fits(version: str, versions: list[str]) -> bool:
    """Tell whether a version is one of those, as MYSQL_8_0_36 is one of MYSQL_8_0."""
    return any(f"{version}_".startswith(f"{one}_") for one in versions)


def _value(flag: dict[str, Any]) -> list[str]:
    return [flag["value"]] if "value" in flag else []


def _addresses(instance: dict[str, Any]) -> tuple[str, ...]:
    """Return the hosts by which this instance is reached, and no other one of a group."""
    numbers = [one["ipAddress"] for one in instance.get("ipAddresses", []) if one["type"] in REACHED_AT]
    names = [one["name"] for one in instance.get("dnsNames", []) if one.get("dnsScope") == "INSTANCE"]
    return tuple(dict.fromkeys([*numbers, *names]))


def _parameter(offered: dict[str, Any], value: str | None) -> Parameter:
    barred = ""
    if offered.get("requiresRestart") is not False:
        says = "says that" if offered.get("requiresRestart") else "does not say whether"
        barred = f"Cloud SQL {says} a change restarts the instance"
    highest = offered.get("maxValue")
    return Parameter(
        value, int(offered.get("minValue", 0)), None if highest is None else int(highest), barred
    )


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Say what was asked where the SDK fails; only called once it is installed."""
    from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415 - an extra
    from googleapiclient.errors import Error, HttpError  # noqa: PLC0415 - an extra
    from httplib2 import HttpLib2Error  # noqa: PLC0415 - an extra

    try:
        yield
    except HttpError as error:
        said = f"{error.reason} (HTTP {error.status_code})"
        if error.status_code == STALE:
            said = "the instance was changed meanwhile, and nothing is written over that; run it again"
        raise HostedError(f"Google Cloud SQL, {what}: {said}") from error
    except (Error, GoogleAuthError, HttpLib2Error, OSError) as error:
        raise HostedError(f"Google Cloud SQL, {what}: {str(error) or type(error).__name__}") from error
    except (AttributeError, KeyError, ValueError, TypeError) as error:
        raise HostedError(f"Google Cloud SQL, {what}: an answer that is not understood: {error!r}") from error
