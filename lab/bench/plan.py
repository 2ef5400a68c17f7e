"""What a bench runs: server, disk, load, contenders and timing; read from a suite's TOML file."""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict, replace

from lab.bench import store
from lab.bench.store import Ledger, PlanError
from lab.keys import problems
from lab.workloads.load import Load
from tuner.records import CAPACITY_MINIMUM, Capacity
from tuner.settings import PolicyName, Settings
from tuner.system.files import read_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


ContenderKind = Literal["default", "static", "best static", "policy"]

_PAIR = re.compile(r"(\d+)/(\d+)")
_RAISED = (8, 4)


RESET_RATIO = 0.25
"""The age ratio below which every contender begins."""


class ContenderError(ValueError):
    """A word that names no contender."""


class Contender(Struct, frozen=True):
    """One of the things compared.

    Attributes:
        name: as it is called in rows and tables.
        kind: what is done with C and M.
        pair: what they are set to, None where that is found out while the bench runs.
        policy: which of our laws moves them, None where nothing moves them.
    """

    name: str
    kind: ContenderKind
    pair: Capacity | None = None
    policy: PolicyName | None = None


_NAMED = {
    "default": Contender("default", "default"),
    "best-static": Contender("best static", "best static"),
    "ours": Contender("ours", "policy", policy=Settings().policy),
}
DEFAULT, BEST = _NAMED["default"], _NAMED["best-static"]


def parse_contender(word: str) -> Contender:
    """Return what a word means.

    Args:
        word: ``default``: what the server has by itself; ``2000/4000``: C and M, pages/s; ``best-static``:
            searched for; ``ours`` or the name of a policy.

    Raises:
        ContenderError: it means nothing, or a pair that no server takes.
    """
    found = _PAIR.fullmatch(word)
    if found is not None:
        pair = Capacity(int(found[1]), int(found[2]))
        if not CAPACITY_MINIMUM <= pair.io_capacity <= pair.io_capacity_max:
            raise ContenderError(
                f"{word}: C must be at least {CAPACITY_MINIMUM} and at most M, such as 2000/4000"
            )
        return Contender(str(pair), "static", pair)
    if word in _NAMED:
        return _NAMED[word]
    for policy in get_args(PolicyName):
        if word == policy:
            return Contender(word, "policy", policy=policy)
    known = ", ".join((*_NAMED, *get_args(PolicyName)))
    raise ContenderError(f"{word}: no such contender; there are {known}, and any C/M such as 2000/4000")


def version_default(version: str) -> Capacity:
    """Return what a server has by itself: 10000/20000 from MySQL 8.4 on; 200/2000 before, and MariaDB.

    Args:
        version: what ``SELECT VERSION()`` says.
    """
    if "mariadb" in version.lower():
        return Capacity(200, 2000)
    major, minor = (int(part) for part in version.split(".")[:2])
    return Capacity(10_000, 20_000) if (major, minor) >= _RAISED else Capacity(200, 2000)


SUFFIX = ".toml"
EXTRA_KEYS = ("about", "variant")
"""Keys of a suite's file that are none of a plan's."""

Kind = Literal[
    "write_only", "update_index", "update_non_index", "read_write", "read_mostly", "many_indexes", "tpcc"
]
Distribution = Literal["uniform", "zipf", "special"]
Positive = Annotated[float, Meta(gt=0.0, le=86_400.0)]


class ServerPlan(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How mysqld is started.

    Attributes:
        redo_capacity: MiB.
        buffer_pool: MiB.
        set: further variables of mysqld, by name.
    """

    redo_capacity: Annotated[int, Meta(ge=8, le=524_288)] = 100
    buffer_pool: Annotated[int, Meta(ge=5, le=16_777_216)] = 2048
    set: dict[str, str | int] = {}


class DiskPlan(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the disk gives; None is as much as it has.

    Attributes:
        write_iops: write operations/s.
        write_mib: MiB/s written.
        alternate_iops: the other value that the limit jumps to and back from, write operations/s.
        alternate_seconds: how long each of the two holds.
    """

    write_iops: Annotated[int, Meta(ge=10)] | None = None
    write_mib: Annotated[int, Meta(ge=1)] | None = None
    alternate_iops: Annotated[int, Meta(ge=10)] | None = None
    alternate_seconds: Positive = 300.0


class LoadPlan(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is asked of the server.

    Attributes:
        kind: which transactions.
        distribution: which rows they touch.
        tables: number of tables.
        rows: rows per table.
        threads: connections at work.
        rate: offered transactions/s; 0 is as many as possible.
        knee_share: offer this share of what the default sustains as a closed load, instead of a rate.
    """

    kind: Kind = "update_non_index"
    distribution: Distribution = "uniform"
    tables: Annotated[int, Meta(ge=1, le=1000)] = 4
    rows: Annotated[int, Meta(ge=1000, le=1_000_000_000)] = 400_000
    threads: Annotated[int, Meta(ge=1, le=4096)] = 16
    rate: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    knee_share: Annotated[float, Meta(gt=0.0, le=1.0)] | None = None

    def load(self, rate: int | None = None) -> Load:
        """Return it as a load; ``rate`` in the place of its own.

        Raises:
            ValueError: kind and distribution do not go together.
        """
        given = asdict(self)
        del given["knee_share"]
        return Load(**given if rate is None else given | {"rate": rate})


class Timing(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How long the parts of a row take, seconds.

    Attributes:
        reset: most for bringing the age down before a contender begins.
        settle_least: least between a contender's begin and the count.
        settle_most: most, where the age does not stop drifting.
        counted: what counts; a disk that moves makes it whole turns of its limit.
        lifted: most with the disk's limit lifted, before the settling, so that the age comes near the one
            where the contender was seen to rest; drift is judged more finely then. For a redo log that takes
            an hour to fill. Left out it changes no digest of a suite.
    """

    reset: Positive = 30.0
    settle_least: Positive = 60.0
    settle_most: Positive = 240.0
    counted: Positive = 180.0
    lifted: Positive | UnsetType = UNSET


class Plan(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One server with one load and everything that is compared on it.

    Attributes:
        variant: what tells it from the other plans of its suite.
        contenders: what is compared; ``parse_contender`` has the words.
        blocks: how often each contender runs, once a block.
        crash: kill the server after each row of odd blocks and shut it down after those of even ones, each
            at the age held, and say how long recovery and shutdown took.
    """

    variant: str = ""
    server: ServerPlan = ServerPlan()
    disk: DiskPlan = DiskPlan()
    load: LoadPlan = LoadPlan()
    timing: Timing = Timing()
    contenders: Annotated[tuple[str, ...], Meta(min_length=1)] = ("default", "ours")
    blocks: Annotated[int, Meta(ge=1, le=20)] = 3
    crash: bool = False

    def counted_seconds(self) -> float:
        """Return how long a row counts: ``timing.counted``, made whole turns of a disk that moves.

        A part of a turn would be another part for each contender, as they settle in different times.
        """
        if self.disk.alternate_iops is None:
            return self.timing.counted
        turn = 2.0 * self.disk.alternate_seconds
        return turn * math.ceil(self.timing.counted / turn)

    def problems(self) -> Iterator[str]:
        """Yield what contradicts what, one line each."""
        names: list[str] = []
        for word in self.contenders:
            try:
                names.append(parse_contender(word).name)
            except ContenderError as error:
                yield f"contenders: {error}"
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            yield f"contenders: {', '.join(self.contenders)} names {', '.join(twice)} twice"
        try:
            self.load.load()
        except ValueError as error:
            yield str(error)
        if self.load.rate and self.load.knee_share is not None:
            yield f"load.rate: {self.load.rate} cannot be kept beside load.knee_share: leave one of them out"
        if self.disk.alternate_iops is not None and self.disk.write_iops is None:
            yield "disk.alternate_iops: needs disk.write_iops, the value that it alternates with"
        if self.timing.lifted is not UNSET and self.disk.alternate_iops is not None:
            yield f"timing.lifted: {self.timing.lifted:g} cannot be kept beside disk.alternate_iops"
        if self.timing.settle_most < self.timing.settle_least:
            yield (
                f"timing.settle_most: {self.timing.settle_most:g} must not be below "
                f"timing.settle_least = {self.timing.settle_least:g}"
            )


class Suite(Struct, frozen=True, kw_only=True):
    """A named list of plans.

    Attributes:
        name: for people and file names.
        about: one sentence.
        plans: what is run, in this order.
    """

    name: str
    about: str
    plans: tuple[Plan, ...]

    @property
    def digest(self) -> str:
        """Return what changes when a figure of these plans could not be compared any more."""
        return hashlib.sha256(msgspec.json.encode(self.plans, order="deterministic")).hexdigest()[:12]


def suite_names() -> tuple[str, ...]:
    """Return the names of the suites that come with the package, sorted."""
    entries = (entry.name for entry in (resources.files("lab.bench") / "suites").iterdir())
    return tuple(sorted(name.removesuffix(SUFFIX) for name in entries if name.endswith(SUFFIX)))


def load_suite(name_or_path: str) -> Suite:
    """Return a named suite, or the one in a TOML file.

    Args:
        name_or_path: a name of ``suite_names``; a word with a slash or ending in ``.toml`` is a path.

    Raises:
        PlanError: no such suite, an unreadable file, or a file that is wrong.
    """
    if name_or_path in suite_names():
        text = (resources.files("lab.bench") / "suites" / f"{name_or_path}{SUFFIX}").read_text("utf-8")
        return parse_suite(text, name=name_or_path)
    if "/" not in name_or_path and not name_or_path.endswith(SUFFIX):
        known = ", ".join(suite_names())
        raise PlanError(f"{name_or_path}: no such suite; there are {known}, and any TOML file by its path")
    path = Path(name_or_path)
    try:
        return parse_suite(read_whole(path).decode(), name=path.stem)
    except UnicodeDecodeError as error:
        raise PlanError(f"{name_or_path}: not UTF-8 at byte {error.start}") from error
    except OSError as error:
        raise PlanError(f"{name_or_path}: cannot be read: {error.strerror}") from error


def parse_suite(text: str, *, name: str) -> Suite:
    """Return the suite that a TOML text describes: a plan, and variants that replace some of its keys.

    Raises:
        PlanError: not TOML, an unknown key, a wrong type or value, or keys that contradict each other.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{name}: not TOML: {error}") from error
    about, variants = raw.pop("about", ""), raw.pop("variant", [{}])
    if not isinstance(variants, list) or not all(isinstance(one, dict) for one in variants):
        raise PlanError(f"{name}: variant: must be a list of tables, written [[variant]]")
    if not variants:
        raise PlanError(f"{name}: variant: is empty; leave it out for a plan without variants")
    plans: list[Plan] = []
    for number, variant in enumerate(variants, 1):
        changes = dict(variant)
        label = str(changes.pop("name", "" if len(variants) == 1 else number))
        whole = _merged(raw, changes)
        if wrong := problems(whole, Plan, extra=EXTRA_KEYS):
            where = f"{name}, variant {label}" if label else name
            raise PlanError("\n".join(f"{where}: {one}" for one in wrong))
        plans.append(replace(msgspec.convert(whole, Plan), variant=label))
    check(plans, name)
    return Suite(name=name, about=str(about), plans=tuple(plans))


def keys() -> list[str]:
    """Return the keys of a plan that ``changed`` takes, tables as ``table.key``."""
    found: list[str] = []
    for key in Plan.__struct_fields__:
        default = getattr(Plan(), key)
        found += (
            [f"{key}.{one}" for one in default.__struct_fields__] if isinstance(default, Struct) else [key]
        )
    return [f"{key}.NAME" if key == "server.set" else key for key in found if key != "variant"]


def changed(suite: Suite, words: Sequence[str]) -> Suite:
    """Return a suite with some keys replaced in every plan.

    Args:
        suite: what is changed.
        words: ``key=value`` with the keys of a suite's file: ``disk.write_iops=3000``, ``load.kind=tpcc``,
            ``server.set.log_bin=binlog``, ``contenders=default,2000/4000``. A text needs no quotes.

    Raises:
        PlanError: a key that no plan has, or a value that it does not take.
    """
    changes: dict[str, Any] = {}
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        if not (equals and text and all(name.split("."))):
            raise PlanError(f"--set {word}: write a key and its value, such as disk.write_iops=3000")
        if name == "variant":
            raise PlanError(f"--set {word}: variants have their names from the suite's file")
        *tables, key = name.split(".", 2)
        value: Any = {key: _value(name, text)}
        for table in reversed(tables):
            value = {table: value}
        changes = _merged(changes, value)
    if lines := problems(changes, Plan):
        raise PlanError("\n".join(f"--set {line}" for line in lines))
    if not changes:
        return suite
    plans = [msgspec.convert(_merged(msgspec.to_builtins(one), changes), Plan) for one in suite.plans]
    check(plans, suite.name)
    return replace(suite, about=f"{suite.about} Changed: {', '.join(words)}.", plans=tuple(plans))


def _value(name: str, text: str) -> object:
    """Return a value as TOML has it; what is none is a text, or a list of texts."""
    try:
        value: object = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    if name.startswith("server.set.") and (isinstance(value, bool) or not isinstance(value, (str, int))):
        return text  # mysqld reads it: 75.5 or true
    return value.split(",") if name == "contenders" and isinstance(value, str) else value


def check(plans: Iterable[Plan], name: str) -> None:
    """Return when every plan can be run.

    Raises:
        PlanError: keys contradict each other, or two variants have one name; every problem on its line.
    """
    plans = list(plans)
    lines = [f"{name}: {problem}" for plan in plans for problem in plan.problems()]
    labels = [plan.variant for plan in plans]
    lines += [
        f"{name}: variant {label!r} is there twice"
        for label in sorted(set(labels))
        if labels.count(label) > 1
    ]
    if lines:
        raise PlanError("\n".join(dict.fromkeys(lines)))


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return a table with the keys of another put over it, table by table."""
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """What a bench was started with, so that it can be gone on with.

    Attributes:
        name: of the suite.
        about: its sentence.
        seed: of the order.
        server: the server in the user's words.
        plans: what is run.
    """

    name: str
    about: str
    seed: int
    server: str
    plans: tuple[Plan, ...]

    @property
    def suite(self) -> Suite:
        """Return the suite."""
        return Suite(name=self.name, about=self.about, plans=self.plans)


def go_on(directory: Path) -> tuple[Asked, Ledger]:
    """Return what a bench was started with, and its ledger.

    Raises:
        PlanError: it is no bench's directory, or its files are wrong.
    """
    path, rows = directory / store.ASKED, directory / store.ROWS
    try:
        raw = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError as error:
        raise PlanError(f"{directory}: no bench's directory: it has no {store.ASKED}") from error
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PlanError(f"{path}: {error}") from error
    if wrong := problems(raw, Asked):
        raise PlanError("\n".join(f"{path}: {one}" for one in wrong))
    asked = msgspec.convert(raw, Asked)
    check(asked.plans, str(path))
    try:
        ledger = Ledger(rows)
    except OSError as error:
        raise PlanError(f"{rows}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise PlanError(f"{error}; without that line its row is done again") from error
    digest = asked.suite.digest
    for row in ledger.rows:
        if row.get("plan_hash") != digest:
            raise PlanError(
                f"{rows}: has a row of another plan ({row.get('plan_hash')}, not "
                f"{digest}); the two cannot be compared"
            )
    return asked, ledger
