"""A suite is read whole or refused, and says what it would run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.bench.plan import Plan, go_on, load_suite, parse_suite, suite_names, version_default
from lab.bench.progress import Remaining, outline
from lab.bench.row import WAY
from lab.bench.store import PlanError
from tuner.records import Capacity


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_that_comes_with_the_package_can_be_run(name: str) -> None:
    """Every named suite parses, says what it is about, and names its variants apart."""
    suite = load_suite(name)
    assert suite.about
    assert len({plan.variant for plan in suite.plans}) == len(suite.plans)


def test_a_variant_replaces_only_the_keys_it_names() -> None:
    """A variant's table is put over the suite's own, key by key."""
    suite = parse_suite(
        'contenders = ["default"]\n[disk]\nwrite_iops = 100\n[load]\nthreads = 3\n'
        '[[variant]]\nname = "a"\nload = { rate = 50 }\n[[variant]]\nname = "b"\n',
        name="mine",
    )
    first, second = suite.plans
    assert (first.variant, first.load.threads, first.load.rate, first.disk.write_iops) == ("a", 3, 50, 100)
    assert (second.variant, second.load.rate) == ("b", 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("disk = 7", "disk = 7: must be a table with keys of its own"),
        ("[disk]\nwrite_iop = 7", "disk.write_iop: unknown key; did you mean write_iops?"),
        (
            "[server]\nvariables = 1",
            "server.variables: unknown key; there are redo_capacity, buffer_pool",
        ),
        ("[[variants]]", "variants: unknown key; did you mean variant?"),
        (
            "colour = 1",
            "there are variant, server, disk, load, timing, contenders, blocks, crash, about",
        ),
        ("colour = 1\nblocks = 0", "blocks = 0: must be a whole number from 1 up to 20"),
        ("variant = []", "leave it out for a plan without variants"),
        ("[disk]\nwrite_iops = 3", "disk.write_iops = 3: must be a whole number from 10"),
        ('[disk]\nwrite_iops = "3"', 'disk.write_iops = "3": must be a whole number from 10'),
        ('[load]\nkind = "write-only"', "must be one of write_only, update_index, "),
        ("contenders = [3]", "contenders[0] = 3: must be a text in quotes"),
        ('contenders = ["defalt"]', "defalt: no such contender; there are default"),
        ('contenders = ["4000/2000"]', "4000/2000: C must be at least 100 and at most M"),
        ('contenders = ["ours", "ours"]', "names ours twice"),
        ('contenders = ["02000/4000", "100/100", "2000/4000"]', "names 2000/4000 twice"),
        ("[load]\nrate = 10\nknee_share = 0.5", "cannot be kept beside load.knee_share"),
        ("[timing]\nsettle_least = 90\nsettle_most = 60", "must not be below timing.settle_least = 90"),
        ("[disk]\nalternate_iops = 800", "needs disk.write_iops"),
        ("variant = 3", "must be a list of tables"),
        ('[[variant]]\nname = "a"\n[[variant]]\nname = "a"', "variant 'a' is there twice"),
        ("blocks = ", "not TOML"),
    ],
)
def test_a_wrong_suite_names_key_value_and_what_would_be_right(text: str, words: str) -> None:
    """Bad input of any kind is refused with the key that is wrong."""
    with pytest.raises(PlanError) as refused:
        parse_suite(text, name="mine")
    assert words in str(refused.value)


def test_an_unknown_suite_lists_those_there_are(tmp_path: Path) -> None:
    """A name that is none lists the names, a path that is none says so."""
    with pytest.raises(PlanError, match=r"no such suite; there are .*quick"):
        load_suite("quik")
    with pytest.raises(PlanError, match="cannot be read: No such file"):
        load_suite(str(tmp_path / "none.toml"))


def test_the_digest_changes_with_what_is_measured_and_with_nothing_else() -> None:
    """Rows of two plans that differ in any key are not mixed; the suite's sentence is no key."""
    text = "[load]\nthreads = {}\n"
    one, two = (parse_suite(text.format(threads), name="x") for threads in (3, 4))
    assert one.digest != two.digest
    assert parse_suite('about = "other"\n' + text.format(3), name="y").digest == one.digest


def test_a_plan_says_how_long_each_variant_takes() -> None:
    """So that somebody with an evening runs the ones that fit."""
    suite = load_suite("sizes")
    _head, *variants, whole = outline(suite, suite.plans)

    assert [line.rpartition("; ")[2].startswith("about ") for line in variants] == [True] * len(suite.plans)
    assert whole.startswith("takes about ")


def test_a_published_bench_can_be_gone_on_with() -> None:
    """What is new in a plan changes the digest of none that does not have it."""
    place = Path(__file__).parents[3] / "docs" / "results" / "bench" / "mysql-8.0.31-mended"
    _asked, ledger = go_on(place)

    assert {row["plan_hash"] for row in ledger.rows} == {load_suite("redo-sizes").digest}


def test_the_quick_suite_is_quick() -> None:
    """Less than the ten minutes promised are planned, also where ours takes all of its time to settle."""
    (plan,) = load_suite("quick").plans
    usual = (plan.timing.settle_least + plan.timing.settle_most) / 2.0
    late = plan.blocks * (WAY * plan.timing.settle_most - usual)

    assert Remaining([plan], []).seconds() + late < 600.0


@pytest.mark.parametrize(
    ("version", "default"),
    [
        ("9.7.4-2", Capacity(10_000, 20_000)),
        ("8.4.0", Capacity(10_000, 20_000)),
        ("8.0.36-28", Capacity(200, 2000)),
        ("5.6.24", Capacity(200, 2000)),
        ("11.8.6-MariaDB-0+deb13u1 from Debian", Capacity(200, 2000)),
        ("10.11.18-MariaDB-0+deb12u1", Capacity(200, 2000)),
    ],
)
def test_the_default_is_that_of_the_very_server(version: str, default: Capacity) -> None:
    """MariaDB's numbers are higher than MySQL's, its defaults are not."""
    assert version_default(version) == default


def test_filling_large_tables_is_reckoned_with() -> None:
    """Four tables of a billion rows are no matter of minutes."""
    suite = parse_suite("[load]\nrows = 1_000_000_000", name="large")
    assert Remaining(suite.plans, []).seconds() > 12 * 3600


BENCH = Path(__file__).parents[3] / "docs" / "lab" / "bench.md"
ROW = re.compile(r"^\| (`[a-z_.`, ]+`) \|\s*([^|]*?)\s*\|", re.MULTILINE)


def keys(given: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every key of a plan with its default."""
    for name, value in given.items():
        if isinstance(value, dict) and name != "set":
            yield from keys(value, f"{before}{name}.")
        else:
            yield before + name, value


def test_every_key_of_a_suite_is_in_the_documents_with_its_default() -> None:
    """Who writes a suite of his own needs no source."""
    text = BENCH.read_text(encoding="utf-8").partition("## A plan of your own")[2]
    said: dict[str, str] = {}
    for names, default in ROW.findall(text):
        parts = re.findall(r"`([^`]*)`", names)
        defaults = default.replace("`", "").split(", ") if len(parts) > 1 else [default.strip("` ")]
        said |= dict(
            zip(parts, defaults if len(defaults) == len(parts) else defaults * len(parts), strict=True)
        )
    expected = dict(keys(msgspec.to_builtins(Plan()))) | {"timing.lifted": None}
    expected.pop("variant")
    assert said.keys() - {"about"} == expected.keys()
    for name, value in expected.items():
        if value is not None and value not in ("", {}):
            written = f"{value:g}" if isinstance(value, float) else json.dumps(value).strip('"')
            assert said[name] == written, name


def test_the_example_can_be_run(tmp_path: Path) -> None:
    """As it stands there."""
    example = BENCH.read_text(encoding="utf-8").rpartition("```\nabout")[2].partition("```")[0]
    (tmp_path / "own.toml").write_text(f"about{example}", encoding="utf-8")
    assert len(load_suite(str(tmp_path / "own.toml")).plans) == 2
