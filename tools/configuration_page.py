"""docs/configuration.md: the reference of every configuration key, from the schema."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from tuner.config.checks import (
    CONNECTS_OF_A_TICK,
    STATEMENTS_OF_A_CONNECT,
    STATEMENTS_OF_A_TICK,
    STATEMENTS_OF_THE_FACTS,
)
from tuner.config.keys import (
    IDENTITY_VARIABLE,
    KEYS,
    PASSWORD_FILE_VARIABLE,
    PASSWORD_VARIABLE,
    SCHEDULE_KEYS,
    SECTION_TYPES,
    Key,
)
from tuner.config.load import DEFAULT_PATH
from tuner.config.schedule import REQUIRED
from tuner.config.schema import ScheduleTable
from tuner.servers.endpoint import SOCKETS

_INTRODUCTION = f"""\
# Configuration

There are {len(KEYS)} keys, and all of them have defaults: an empty file, or none, is a valid
configuration. Beside them stands the [schedule](#schedule), in the file alone. Values of keys come from,
each beating the one before:

1. a TOML file, `{DEFAULT_PATH}` or the one given with `--config`;
2. environment variables, `INNOBRIM_` + section + `_` + key. An empty one counts as absent; `none`
   empties a key that may be left out;
3. flags of the command.

Socket and host with port are two ways to one server: `server.host` or `server.port` from a stronger
source overrules `server.socket` from a weaker one, and both from one source are refused. A leading `~/`
of a path is the home directory of the account that runs the command.

An unknown key or variable is refused, with the nearest name that exists where one is near. Variables that
Kubernetes sets for a Service named `innobrim`, `innobrim-api` or so are known by their form, such as
`INNOBRIM_PORT=tcp://10.0.0.5:8633`, and are no keys; `INNOBRIM_PORT` and `INNOBRIM_IMAGE` are the compose
file's. All problems of a configuration are reported at once, each with its source, and the command exits 2.
SIGHUP reads everything again and refuses it whole, with the reason, where anything is wrong; `[loop]`,
`[[schedule]]` and `daemon.on_stop` take effect then, the rest at the next start.

## Who it is to the server

Never on the command line. The password is the first of these that exists:

1. the variable `{PASSWORD_VARIABLE}`, or the first line of the file that `{PASSWORD_FILE_VARIABLE}` names, as
   container secrets are given ([who may read it](decisions/password-file.md)); both together are refused;
2. the systemd credential `mysql-password` (`LoadCredential=mysql-password:…`);
3. `password` in the `[client]` group of a MySQL option file: `server.defaults_file`, or the systemd
   credential `my.cnf`.

A server is known by its `server_uuid`; a MariaDB, which has none, by host name, port and data directory.
Where the host name changes and the data stay, as in a container that is made anew, the daemon knows it again
while it runs ([how](decisions/identity.md)); the variable `{IDENTITY_VARIABLE}` names it for good: up to 64
letters, digits and `._-`.

An option file also gives `user`, and `host`, `port`, `socket` and `protocol` where the configuration has
neither socket nor host; beside a `server.port` it gives the host alone. What the configuration says counts
even where it says the default. It is read as mysql's own programs read it: their rules for quotes, comments
and escapes, `[CLIENT]` is `[client]`, bytes that are no UTF-8 are taken as they are, `host = localhost` is
the unix socket unless `protocol = tcp`, and another host is TCP whatever socket stands beside it. A socket
that nothing names is `$MYSQL_UNIX_PORT`, or the first of
{", ".join(f"`{one}`" for one in SOCKETS)} that is
there in a directory that not everybody can write to, at each connection anew; another one, as in /tmp, has to
be named ([why](decisions/password-kept.md)). Without any address at all it is TCP to 127.0.0.1, and
`server.host` is always TCP, `localhost` too. `!include` is not followed. A file that other accounts can
change is refused; one with a password that they can read is used with a warning.

How a TCP connection is encrypted, and what the server is checked against, stands in `server.tls` and
`server.tls_ca`, or in the option file: `ssl-mode`, `ssl-ca`, `ssl-capath`, `ssl-cert`, `ssl-key`,
`ssl-cipher`, `tls-version`, `ssl-verify-server-cert`, `ssl` and `skip-ssl`, and `server-public-key-path`.
Other options of TLS are refused by name. These count in `[client-server]` and `[client-mariadb]` as well,
which MariaDB's clients read like `[client]`. `[server]` wins; where the file asks for more than `server.tls`
does, that is an error ([why](decisions/verify-ca.md)). The password itself is
[sent to nobody who is not known to be the server](decisions/password-kept.md).

An option file, or a file of certificates that it or `server.tls_ca` names, that cannot be read ends a
command that connects, with exit 2.
"""

_SCHEDULE = """\
Any number of tables, each of them one `[[schedule]]`; none by default. They stand in the file alone: no
environment variable and no flag sets one. The [guide](guide.md#by-the-clock) has worked examples, and
`innobrim schedule` lists what is active and what comes.
"""

_SCHEDULE_RULES = """\
- `cron` is read as cron does: lists, ranges, steps, names of months and days; a day of the month and a day of
  the week that are both given are two ways to begin, unless one of them begins with `*`.
- `timezone` is a name of the IANA, such as `Europe/Berlin` or `UTC`. Other files of the machine's time zones
  are refused: `posix/…`, `right/…` (which counts leap seconds), `posixrules`, `localtime`, `Factory`.
- A beginning that the clock skips, when daylight saving begins, is at the moment of the change. One that it
  shows twice is the first of the two. A `cron` that names every hour goes by real time instead.
- A window ends `minutes` after its beginning, in real time, whatever the clock shows.
- Where several are active, each effect has its most careful value: the lowest `set_point`, a drain before
  none, the smallest budget. Of two that ask for the same, the first in the file counts.
- Refused are two of the same name, a table without any effect, and a day that no month has.

```toml
[[schedule]]
name = "nightly-backup"
cron = "30 1 * * *"
minutes = 90
timezone = "Europe/Berlin"
drain = true
```
"""

_RULES = f"""\
## What must hold together

Checked at every start and reload:

- `loop.min_io_capacity_max` is at most `loop.max_io_capacity_max`;
- a whole multiple of `loop.ratio`, where that is set, lies between those two, and is 100 times it or more;
- `loop.policy = "bayes"` needs `pip install 'innobrim[bayes]'`;
- with `loop.policy = "fixed"`, `loop.fixed_io_capacity_max` lies between them, too;
- `server.tls_ca` needs `server.tls = "required"`, `"verify_ca"` or `"verify_identity"`: otherwise nothing
  would be checked against it; the last two need an authority, from there or from the option file;
- `api.host` begins with a loopback address where a TCP port is served, or `api.tls` is given; an address
  that other machines can reach without encryption needs `api.tls = "off"` and `innobrim run --insecure-api`;
- under a watchdog, the slowest tick takes less than half of `WatchdogSec=`. It asks again what server it \
is, with
  {CONNECTS_OF_A_TICK} connects of {STATEMENTS_OF_A_CONNECT} statements and {STATEMENTS_OF_THE_FACTS} more: \
{CONNECTS_OF_A_TICK + STATEMENTS_OF_A_TICK} times `server.timeout`.
"""


def document() -> str:
    """Return the whole page, Markdown."""
    parts = [_INTRODUCTION, *_sections(), _schedule(), _RULES, _example()]
    return "\n".join(parts)


def example() -> str:
    """Return a configuration file that says the defaults; what may be left out is a comment."""
    lines: list[str] = []
    for section in SECTION_TYPES:
        lines += ["", f"[{section}]"] if lines else [f"[{section}]"]
        for key in _keys(section):
            if key.default is None:
                lines.append(f"# {key.name} = …")
            else:
                lines.append(f"{key.name} = {_literal(key.default)}")
    return "\n".join(lines) + "\n"


def _example() -> str:
    return f"## A file with every default\n\n```toml\n{example()}```\n"


def _sections() -> Iterator[str]:
    for section, kind in SECTION_TYPES.items():
        rows = [
            f"| `{key.name}` | {key.description} | {_accepts(key)} | {_default(key)} | `{key.variable}` |"
            for key in _keys(section)
        ]
        about = (kind.__doc__ or "").strip().splitlines()[0]
        head = [f"## [{section}]", "", about, "", "| key | meaning | takes | default | variable |"]
        yield "\n".join([*head, "| --- | --- | --- | --- | --- |", *rows, ""])


def _schedule() -> str:
    """Return the section about the schedule's tables."""
    rows = [
        f"| `{key.name}` | {key.description} | {_accepts(key)} | "
        f"{'must be given' if key.name in REQUIRED else _default(key)} |"
        for key in SCHEDULE_KEYS.values()
    ]
    about = (ScheduleTable.__doc__ or "").strip().splitlines()[0]
    head = ["## [[schedule]]", "", about, "", _SCHEDULE, "| key | meaning | takes | default |"]
    return "\n".join([*head, "| --- | --- | --- | --- |", *rows, "", _SCHEDULE_RULES])


def _keys(section: str) -> list[Key]:
    return [key for key in KEYS.values() if key.section == section]


def _accepts(key: Key) -> str:
    return " ".join(f"`{word}`" for word in key.choices) or key.accepts


def _default(key: Key) -> str:
    return "left out" if key.default is None else f"`{_literal(key.default)}`"


def _literal(value: object) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return f'"{value.value}"'
    return f'"{value}"' if isinstance(value, str) else str(value)
