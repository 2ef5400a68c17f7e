"""Every configuration key: name, type, bounds, default and one line of help."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from tuner.config.price import ACCEPTED, PRICE_PATTERN
from tuner.settings import GrowTo, Settings

NonEmpty = Annotated[str, Meta(min_length=1)]
PLAIN = "off"
"""Says of ``api.tls`` that there is to be none."""

FilePath = Annotated[str, Meta(min_length=1, extra={"path": True})]
"""A path; a leading ~/ is the home of the user who runs this."""


def is_loopback(address: str) -> bool:
    """Tell whether nobody but this machine can reach an address."""
    try:
        return address == "localhost" or ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""How a file begins that an editor, or a shell of Windows, has saved so."""


class Fault(Struct, frozen=True):
    """One thing that is wrong with a configuration."""

    text: Annotated[str, Meta(description="the source, the value and what would be right, in one line")]
    source: Annotated[
        str, Meta(description="file, variable or option that it stands in; empty where unknown")
    ] = ""
    key: Annotated[str, Meta(description="the key, with its section; empty where it is about none")] = ""
    value: Annotated[str, Meta(description="the value, as written; empty where it is about none")] = ""
    line: Annotated[int | None, Meta(description="of the file; none where unknown")] = None


class ConfigError(Exception):
    """A configuration that cannot be used.

    Attributes:
        faults: all that is wrong with it; what a value has of line ends and other control characters is
            escaped.
        problems: the line of each.
    """

    def __init__(self, faults: Iterable[str | Fault]) -> None:
        given = (one if isinstance(one, Fault) else Fault(one) for one in faults)
        self.faults = tuple(replace(one, text=_seen(one.text), value=_seen(one.value)) for one in given)
        self.problems = tuple(one.text for one in self.faults)
        super().__init__("\n".join(self.problems))


def _seen(text: str) -> str:
    """Return a message with each character escaped that would end the line or is not to be seen."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


class ServerSection(Struct, frozen=True, forbid_unknown_fields=True):
    """How the server is reached. A password comes from an option file, a credential or the environment."""

    socket: Annotated[
        FilePath | None,
        Meta(description="path of mysqld's unix socket; host or port from a stronger source overrules it"),
    ] = None
    host: Annotated[
        NonEmpty | None,
        Meta(description="host name or address; default: the option file's, else 127.0.0.1"),
    ] = None
    port: Annotated[
        Annotated[int, Meta(ge=1, le=65535)] | None,
        Meta(description="TCP port; default: the option file's, else 3306"),
    ] = None
    user: Annotated[str | None, Meta(description="account; default: the option file's, else innobrim")] = None
    defaults_file: Annotated[
        FilePath | None,
        Meta(description="MySQL option file whose [client] group holds user and password"),
    ] = None
    tls: Annotated[
        Literal["off", "preferred", "required", "verify_ca", "verify_identity"] | None,
        Meta(
            description="encryption of a TCP connection, each word stricter than the one before; required "
            "with tls_ca is verify_identity; default: the option file's ssl-mode, else preferred"
        ),
    ] = None
    tls_ca: Annotated[
        FilePath | None,
        Meta(
            description="certificate authority that the server is checked against, a PEM file; "
            "default: the option file's ssl-ca"
        ),
    ] = None
    timeout: Annotated[
        float,
        Meta(
            gt=0,
            le=10,
            description="seconds to find the host, connect and log in, and for each statement's whole answer",
        ),
    ] = 1.0


class DaemonSection(Struct, frozen=True, forbid_unknown_fields=True):
    """How the daemon lives."""

    interval: Annotated[float, Meta(ge=0.2, le=10.0, description="seconds between two ticks")] = 1.0
    enable_counters: Annotated[
        bool, Meta(description="turn on the InnoDB counters that the loop needs (active mode only)")
    ] = False
    on_stop: Annotated[
        Literal["park", "leave"],
        Meta(description="what an active daemon leaves behind when it stops"),
    ] = "park"
    state_directory: Annotated[
        FilePath,
        Meta(description="where journal and token live; a directory that takes its place gets its files"),
    ] = "/var/lib/innobrim"
    keep_ticks: Annotated[int, Meta(ge=3600, le=2_678_400, description="ticks kept in the journal")] = 86_400
    write_price: Annotated[
        Annotated[
            str,
            Meta(pattern=PRICE_PATTERN, extra={"accepts": ACCEPTED}),
        ]
        | None,
        Meta(
            examples=["600 TBW"],
            description="what page writes wear or cost, for the ledger of what was saved: the device's rated "
            "endurance, or a price for a million I/O operations",
        ),
    ] = None


class ApiSection(Struct, frozen=True, forbid_unknown_fields=True):
    """The HTTP API."""

    host: Annotated[
        str,
        Meta(
            min_length=1,
            description="address to listen on; then, after commas, names that requests may call it by",
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int, Meta(ge=0, le=65535, description="TCP port of API, metrics and page; 0 for none")
    ] = 8633
    socket: Annotated[
        FilePath | None,
        Meta(description="unix socket; default: api.sock in the state directory, - for none"),
    ] = None
    tls: Annotated[
        NonEmpty | None,
        Meta(
            examples=["/etc/innobrim/api.crt:/etc/innobrim/api.key"],
            description="certificate chain and key of the TCP port, PEM, as CERT:KEY or one file with both; "
            "off for a public address without encryption",
        ),
    ] = None

    @property
    def address(self) -> str:
        """Return the address that is listened on."""
        return self.host.partition(",")[0].strip().strip("[]")

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names that requests may call it by, besides its addresses."""
        return tuple(name for part in self.host.split(",")[1:] if (name := part.strip()))

    @property
    def public(self) -> bool:
        """Tell whether other machines can reach it."""
        return self.port != 0 and not is_loopback(self.address)

    @property
    def certificate(self) -> str | None:
        """Return the files for TLS; None without it."""
        return None if self.tls in {None, PLAIN} else self.tls

    @property
    def enabled(self) -> bool:
        """Tell whether the API is served anywhere."""
        return self.port != 0 or self.socket != "-"


class LogSection(Struct, frozen=True, forbid_unknown_fields=True):
    """The log."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="lowest level logged")
    ] = "info"
    format: Annotated[
        Literal["auto", "json", "pretty"], Meta(description="auto: pretty on a terminal, JSON elsewhere")
    ] = "auto"


GROW_TO = r"^([1-9]\d{1,4}(M|MiB)|([1-9]\d?|[1-4]\d\d|50\d|51[0-2])(G|GiB))( unchecked)?$(?!\n)"
"""What ``redo.grow_to`` takes: whole MiB or GiB, up to 512 GiB."""


class RedoSection(Struct, frozen=True, forbid_unknown_fields=True):
    """The size of the redo log."""

    grow_to: Annotated[
        Annotated[
            str,
            Meta(
                pattern=GROW_TO,
                extra={"accepts": "a size from 10M to 512G, or one and the word unchecked,"},
            ),
        ]
        | None,
        Meta(
            examples=["2G"],
            description="active mode: grow the redo log to this size while the server runs, at most doubled "
            "at a time, and never shrink it; with the word unchecked also where the free space of the "
            "server's disk cannot be seen",
        ),
    ] = None

    @property
    def goal(self) -> GrowTo | None:
        """Return the size that the redo log is to grow to; None for leaving it alone."""
        if self.grow_to is None:
            return None
        number, unit, unchecked = re.fullmatch(r"(\d+)([MG])\w*( unchecked)?", self.grow_to).groups()  # type: ignore[union-attr]  # by the pattern above
        return GrowTo(int(number) * 2 ** {"M": 20, "G": 30}[unit], unchecked is not None)


class ScheduleTable(Struct, frozen=True, forbid_unknown_fields=True):
    """What the loop does differently while one of its windows is active; at least one effect."""

    name: Annotated[
        str,
        Meta(
            pattern=r"^\w[\w .:+-]{0,63}$(?!\n)",
            extra={
                "accepts": "a text of up to 64 letters, digits, spaces and _ . : + - "
                "that begins with a letter, a digit or _,"
            },
            examples=["nightly-backup"],
            description="how status, log and metrics call it; no two have the same",
        ),
    ]
    cron: Annotated[
        NonEmpty,
        Meta(
            examples=["30 1 * * *"],
            description="when its windows begin, five fields as in a crontab: minute, hour, day of month, "
            "month, day of week (0 and 7 are Sunday)",
        ),
    ]
    minutes: Annotated[int, Meta(ge=1, le=10_080, description="how long a window lasts, in real time")]
    timezone: Annotated[
        NonEmpty | None,
        Meta(
            examples=["Europe/Berlin"],
            description="IANA time zone of cron; default: the machine's local one",
        ),
    ] = None
    set_point: Annotated[
        Annotated[float, Meta(gt=0.2, le=1.0)] | None,
        Meta(description="effect: age to hold, as a share of the flush limit"),
    ] = None
    drain: Annotated[
        bool, Meta(description="effect: bring the checkpoint age down as far as innobrim drain can")
    ] = False
    max_recovery_seconds: Annotated[
        Annotated[float, Meta(ge=1.0, le=86_400.0)] | None,
        Meta(description="effect: longest crash recovery, in place of loop.max_recovery_seconds"),
    ] = None
    max_shutdown_seconds: Annotated[
        Annotated[float, Meta(ge=1.0, le=86_400.0)] | None,
        Meta(description="effect: longest flushing at shutdown, in place of loop.max_shutdown_seconds"),
    ] = None


HookName = Literal["hold", "emergency", "mode", "baseline"]
"""What a hook may be told of."""

HOOK_NAMES = ", ".join(get_args(HookName))


class HookTable(Struct, frozen=True, forbid_unknown_fields=True):
    """Who is told when something happens: a URL that gets a request, or a command that is run."""

    name: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$(?!\n)",
            extra={
                "accepts": "a text of up to 32 letters, digits, _ and - that begins with a letter or a digit,"
            },
            examples=["pager"],
            description="how status, log and metrics call it; no two have the same",
        ),
    ]
    url: Annotated[
        NonEmpty | None,
        Meta(
            examples=["https://alerts.example.com/innobrim"],
            description="gets a request for each event; without TLS on this machine alone",
        ),
    ] = None
    command: Annotated[
        tuple[NonEmpty, ...] | None,
        Meta(
            extra={"accepts": "a list of texts, of which the first is an absolute path,"},
            examples=['["/usr/local/bin/page", "--now"]'],
            description="is run for each event, with the event on its standard input",
        ),
    ] = None
    on: Annotated[
        Annotated[
            tuple[HookName, ...],
            Meta(min_length=1, extra={"accepts": f"a list of some of {HOOK_NAMES},"}, examples=['["hold"]']),
        ],
        Meta(description="what it is told of"),
    ] = get_args(HookName)
    secret_file: Annotated[
        FilePath | None,
        Meta(
            description="file with what requests are signed with, a line whsec_… or two; default: the "
            "systemd credential hook-NAME, else they are not signed"
        ),
    ] = None
    timeout: Annotated[float, Meta(gt=0, le=60, description="seconds that one delivery may take")] = 10.0


class FleetTable(Struct, frozen=True, forbid_unknown_fields=True):
    """What a group of servers has in common; it stands in the file that each of them includes."""

    paused: Annotated[
        bool,
        Meta(description="kill switch: the daemon pauses"),
    ] = False
    active_percent: Annotated[
        Annotated[float, Meta(ge=0.0, le=100.0)] | None,
        Meta(description="share of the group's servers that may be active"),
    ] = None
    servers: Annotated[
        tuple[NonEmpty, ...],
        Meta(
            description="identities that an active daemon follows without a person",
        ),
    ] = ()


class HostedTable(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the provider of a hosted server keeps its two variables."""

    instance: Annotated[
        str,
        Meta(
            min_length=1,
            examples=["arn:aws:rds:eu-west-1:123456789012:db:db1"],
            description="which instance of the provider's the server is: on Amazon RDS its ARN, on Azure the "
            "resource ID of the flexible server, on Google Cloud SQL its connection name",
        ),
    ]
    parameter_group: Annotated[
        NonEmpty | None,
        Meta(
            description="name of the instance's DB parameter group; must be given on Amazon RDS, there alone"
        ),
    ] = None
    shared_group: Annotated[
        bool, Meta(description="other instances may have the parameter group, too, and get the same values")
    ] = False


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration: TOML file, then INNOBRIM_* variables, then flags."""

    server: ServerSection = msgspec.field(default_factory=ServerSection)
    loop: Settings = msgspec.field(default_factory=Settings)
    daemon: DaemonSection = msgspec.field(default_factory=DaemonSection)
    redo: RedoSection = msgspec.field(default_factory=RedoSection)
    api: ApiSection = msgspec.field(default_factory=ApiSection)
    log: LogSection = msgspec.field(default_factory=LogSection)
    schedule: tuple[ScheduleTable, ...] = ()
    hook: tuple[HookTable, ...] = ()
    fleet: FleetTable = FleetTable()
    hosted: HostedTable | None = None
    files: tuple[str, ...] = ()
    """The file and what it includes, where it includes any; these are looked at for changes."""
