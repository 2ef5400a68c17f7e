"""A suite that is wrong is refused before a server is started, with the key and what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.bench.plan import PlanError, load_suite, parse_suite, suite_names
from lab.bench.progress import Progress
from lab.bench.row import WAY


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
        ("disk = 7", "disk: expected `table`, got `integer`"),
        ("[disk]\nwrite_iop = 7", "disk: no such key as `write_iop`; did you mean `write_iops`?"),
        ("[server]\nvariables = 1", "there are buffer_pool, redo_capacity, set"),
        ("[[variants]]", "no such key as `variants`; did you mean `variant`?"),
        (
            "colour = 1",
            "there are about, article, blocks, contenders, crash, disk, load, server, surge, timing, variant",
        ),
        ("variant = []", "leave it out for a plan without variants"),
        ("[disk]\nwrite_iops = 3", "disk.write_iops: expected `integer` >= 10"),
        ('[disk]\nwrite_iops = "3"', "disk.write_iops: expected `integer | nothing`, got `string`"),
        ('[load]\nkind = "write-only"', "one of write_only, update_index, update_non_index"),
        ("contenders = [3]", "contenders[0]: expected `string`, got `integer`"),
        ('contenders = ["defalt"]', "defalt: no such contender; there are default"),
        ('contenders = ["4000/2000"]', "4000/2000: C must be at least 100 and at most M"),
        ('contenders = ["ours", "ours"]', "names ours twice"),
        ('contenders = ["02000/4000", "sync", "2000/4000"]', "names 2000/4000 twice"),
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


def test_the_quick_suite_is_quick() -> None:
    """Less than the ten minutes promised are planned, also where ours takes all of its time to settle."""
    (plan,) = load_suite("quick").plans
    usual = (plan.timing.settle_least + plan.timing.settle_most) / 2.0
    late = plan.blocks * (WAY * plan.timing.settle_most - usual)

    assert Progress([plan], []).seconds() + late < 600.0
