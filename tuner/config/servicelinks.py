"""``INNOBRIM_*`` variables that others set: Kubernetes for each Service of a namespace, and our compose file.

Kubernetes puts the address of a Service named ``innobrim``, ``innobrim-api`` or so into every pod of its
namespace: ``INNOBRIM_SERVICE_HOST``, ``INNOBRIM_PORT=tcp://10.0.0.5:8633``, ``INNOBRIM_PORT_8633_TCP_ADDR``.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping

PROTOCOLS = "TCP|UDP|SCTP"
COMPOSE: Mapping[str, str] = {
    "INNOBRIM_IMAGE": "",
    "INNOBRIM_PORT": "the keys are INNOBRIM_SERVER_PORT, the server's, and INNOBRIM_API_PORT",
}
"""Variables of our compose file, which are often exported, each with the keys that it resembles."""

SLIPS = frozenset({"INNOBRIM_SERVICE_HOST", "INNOBRIM_SERVICE_PORT"})
"""Links that a slip of the finger makes of ``server.host`` and ``server.port``."""

_ADDRESS = re.compile(rf"({PROTOCOLS})://(\[[0-9a-f:.]+\]|[^:/\s]+):[0-9]+", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,5}")
_FORMS = (
    (re.compile(rf".+_PORT_[0-9]+_({PROTOCOLS})_PROTO"), "protocol"),
    (re.compile(rf".+_PORT_[0-9]+_({PROTOCOLS})_PORT"), "number"),
    (re.compile(rf".+_PORT_[0-9]+_({PROTOCOLS})_ADDR"), "figures"),
    (re.compile(rf".+_PORT_[0-9]+_({PROTOCOLS})"), "address"),
    (re.compile(r".+_SERVICE_HOST"), "figures"),
    (re.compile(r".+_SERVICE_PORT(_[A-Z0-9_]+)?"), "number"),
    (re.compile(r".+_PORT"), "address"),
)
"""Names of the variables, each with what its value is."""


def is_service_link(name: str, value: str) -> bool:
    """Tell whether a variable has name and value as Kubernetes gives them to the address of a Service."""
    return any(form.fullmatch(name) and _is(kind, value) for form, kind in _FORMS)


def may_be_a_slip(name: str, environ: Mapping[str, str]) -> bool:
    """Tell whether a link may be meant for a key: it has none beside it that Kubernetes sets with it."""
    address = f"{name.partition('_SERVICE_')[0]}_PORT"
    own = any(_is("address", environ.get(one, "")) for one in (name, address))
    return name in SLIPS and not own


def _is(kind: str, value: str) -> bool:
    if kind == "address":
        return _ADDRESS.fullmatch(value) is not None
    if kind == "number":
        return _NUMBER.fullmatch(value) is not None
    if kind == "protocol":
        return value.upper() in PROTOCOLS.split("|")
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True
