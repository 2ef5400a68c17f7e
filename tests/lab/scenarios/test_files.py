"""What is said about a scenario file of one's own that is wrong."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, get_type_hints

import pytest

from lab.keys import kind_of
from lab.plant.parameters import Credits, DiskChange, DiskParameters, LoadChange, LoadParameters
from lab.scenarios import ScenarioError
from lab.scenarios.load import parse_scenario
from tests.lab.simulating import SHORT

if TYPE_CHECKING:
    from msgspec import Struct

TOP = 'name = "x"\ndescription = "for tests"\nseconds = 1200\nmeasured_from = 600\n'


def refused(text: str) -> list[str]:
    """Return what is said about a file, line by line."""
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, source="x.toml")
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("", ""),
        ("sceonds = 100", "x.toml: sceonds: unknown key; did you mean seconds?"),
        (
            "[server]\nio_capacity_mx = 300",
            "x.toml: server.io_capacity_mx: unknown key; did you mean io_capacity_max?",
        ),
        (
            "[load]\ntimeline = [{ at = 0, thread = 4 }]",
            "x.toml: load.timeline[0].thread: unknown key; did you mean threads?",
        ),
        ("[load]\nnoise = 7", "x.toml: load.noise = 7: must be a number from 0 up to 0.5"),
        (
            "[load]\ntimeline = []",
            "x.toml: load.timeline: must be a list of tables, such as [{ at = …, threads",
        ),
        (
            "[load]\ntimeline = [{ at = 0, threads = 4 }, { at = 100, threads = 8 }]",
            "measured_from = 240: must lie before the first change, at 100",
        ),
        (
            "[load]\ntimeline = [{ at = 5, threads = 4 }]",
            "load.timeline: the first entry is at 5; it must be at 0",
        ),
        (
            "[load]\ntimeline = [{ at = 0, threads = 4 }, { at = 900, threads = 8 }]",
            "load.timeline: 900 is not before the end",
        ),
        (
            "[server]\nio_capacity = 500\nio_capacity_max = 400",
            "server.io_capacity = 500: is above server.io_capacity_max = 400",
        ),
        (
            "[server]\nflavour = 'mysql-9.6'",
            'x.toml: server.flavour = "mysql-9.6": must be one of mysql-9.7, ',
        ),
        (
            "[server]\nflavour = 'mysql-5.7'\nresizes = [{ at = 100, redo_capacity = 209_715_200 }]",
            "server.resizes: mysql-5.7 has one size of its redo log until it is restarted",
        ),
        (
            "[load]\nrepeat = 50\ntimeline = [{ at = 0, threads = 4 }, { at = 100, threads = 8 }]",
            "load.timeline: 100 is not before the repetition, repeat = 50",
        ),
        ("seconds = 7", "not TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_reason(change: str, message: str) -> None:
    """A wrong scenario file is refused with the key and what would be right."""
    top, _, table = SHORT.partition("[disk]")
    text = f"{top}{change}\n[disk]{table}" if not change.startswith("[") else f"{SHORT}\n{change}\n"
    if not message:
        assert parse_scenario(text, source="x.toml").name == "short"
        return
    assert message in "\n".join(refused(text))


def test_all_unknown_keys_are_named_at_once() -> None:
    """Two misspelt keys make one error with two lines."""
    said = refused(f"sed = 3\n{SHORT}\n[load]\nhot_page = 5\n")
    assert "\n".join(said).count("did you mean") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{TOP}[disk]\nwrite_iops = 900",
            "disk.write_iops: unknown key; it belongs into the list: timeline = ",
        ),
        (f"{TOP}[load]\nrate = 900", "load.rate: unknown key; it belongs into the list: timeline = "),
        (f"{TOP}[disk]\nburst_iops = 900", "it belongs into credits = { … }"),
        (f'{TOP}[server]\nfit = "mysql-9.7"', "server.fit: unknown key; it belongs above the first table"),
        (f"{TOP}redo_capacity = 9", "redo_capacity: unknown key; it belongs into [server]"),
        (f"{TOP}[server]\ninnodb_io_capacity = 200", "did you mean io_capacity?"),
        (f"{TOP}[server]\ninnodb_redo_log_capacity = 9", "here it is redo_capacity, in bytes"),
        (
            f"{TOP}[server]\ninnodb_buffer_pool_size = 9",
            "here it is buffer_pool_pages, in pages of 16384 bytes",
        ),
    ],
)
def test_a_key_in_the_wrong_place_is_told_its_own(text: str, message: str) -> None:
    """A key that is known elsewhere, or to the server by another name, is told where it goes."""
    (line,) = refused(text)
    assert message in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f'{TOP}[server]\nredo_capacity = "8G"',
            "must be a whole number from 8,388,608 up to 549,755,813,888; 8G is 8589934592",
        ),
        (f'{TOP}[load]\ndistribution = "zipff"', "must be one of uniform, zipf, hot_set; did you mean zipf?"),
        (
            f"{TOP}[load]\ntimeline = {{ at = 0, threads = 3 }}",
            "must be a list of tables, such as [{ at = …, ",
        ),
        (f"{TOP}[load]\ntimeline = [{{ threads = 3 }}]", "load.timeline[0].at: is missing"),
        (f"server = 3\n{TOP}", "server = 3: must be a table with keys of its own"),
        (f"seed = true\n{TOP}", "seed = true: must be a whole number from 0"),
        (TOP.replace('"x"', '""'), 'name = "": must be a text in quotes, not an empty one'),
    ],
)
def test_a_wrong_value_is_told_in_words(text: str, message: str) -> None:
    """A value of the wrong kind is shown beside what the key takes, in words and with its limits."""
    (line,) = refused(text)
    assert message in line
    assert "`" not in line


@pytest.mark.parametrize("number", ["inf", "nan", "1e30"])
@pytest.mark.parametrize("key", ["[load]\nhot_pages", "[disk]\npages_per_second"])
def test_a_number_that_nothing_can_be_reckoned_with_is_refused(key: str, number: str) -> None:
    """Infinity, what is no number, and what is beyond all measure are refused before the run."""
    (line,) = refused(f"{TOP}{key} = {number}")
    assert re.search(r"(hot_pages|pages_per_second) = \S+: must be a number from 1 up to 10,000,000", line)


TABLES: dict[type[Struct], tuple[str, dict[str, str]]] = {
    DiskParameters: ("[disk]\n{}", {}),
    LoadParameters: ("[load]\n{}", {}),
    DiskChange: ("[disk]\ntimeline = [{{ {} }}]", {"at": "0", "write_iops": "900"}),
    LoadChange: ("[load]\ntimeline = [{{ {} }}]", {"at": "0", "threads": "9"}),
    Credits: ("[disk]\ncredits = {{ {} }}", {"burst_iops": "9000", "most": "900"}),
}
"""How a key of each table is written, beside the ones that it needs."""


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
@pytest.mark.parametrize("number", ["inf", "1e+15"])
def test_every_number_of_load_and_disk_has_an_upper_limit(table: type[Struct], number: str) -> None:
    """No key of load or disk takes a number with which a run would not end; each is told what is right."""
    form, needed = TABLES[table]
    for key, hint in get_type_hints(table, include_extras=True).items():
        if kind_of(hint).type in (int, float):
            keys = needed | {key: number}
            said = refused(TOP + form.format(", ".join(f"{name} = {value}" for name, value in keys.items())))
            assert re.search(rf"\b{key} = \S+: must be a .*number .*(up to|below) \d", said[0])


@pytest.mark.parametrize("table", ["disk", "load"])
def test_a_repetition_shorter_than_a_second_is_refused(table: str) -> None:
    """A timeline that begins anew a million times a second would keep the command busy for ever."""
    (line,) = refused(f"{TOP}[{table}]\nrepeat = 0.000001")
    assert f"{table}.repeat = 1e-06: must be a number from 1 up to 2,678,400" in line


FOUR = "{ at = 0, threads = 4 }"
LARGE = "{ at = 700, threads = 4, redo_bytes_per_commit = 1e6 }"


def test_all_that_is_wrong_is_said_at_once() -> None:
    """Unknown keys, wrong values and missing keys of all tables come in one message, a line each."""
    said = refused('name = 3\nseconds = "x"\nfoo = 1\n[server]\nio_capacity = -1\n[disk]\nfsync_seconds = 2')
    assert [line.split(": ")[1].split(" ")[0] for line in said] == [
        "foo",
        "description",
        "measured_from",
        "name",
        "seconds",
        "server.io_capacity",
        "disk.fsync_seconds",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[load]\nhot_share = 0.2", 'load.hot_share: counts for nothing with distribution = "uniform"'),
        ('[load]\ndistribution = "zipf"\nhot_touches = 0.2', 'it belongs to "hot_set"'),
        ("[load]\nzipf_exponent = 1.2", 'it belongs to "zipf"'),
        ("[load]\npages_per_commit = 9\nhot_pages = 5", "is more than all the pages there are"),
        ("[disk]\ncredits = { burst_iops = 1200, most = 9 }", "must be above write_iops = 1200"),
        (
            "[load]\nredo_bytes_per_commit = 10_485_761",
            "load.redo_bytes_per_commit = 10,485,761: must be at most 10,485,760, a tenth of the redo log",
        ),
        (
            f"[server]\nredo_capacity = 8_388_608\n[load]\ntimeline = [{FOUR}, {LARGE}]",
            "load.timeline[1].redo_bytes_per_commit = 1,000,000: must be at most 838,861",
        ),
    ],
)
def test_keys_that_contradict_each_other_are_refused(text: str, message: str) -> None:
    """A key that would count for nothing beside the others, or cannot be, is refused and not passed over."""
    (line,) = refused(f"{TOP}{text}")
    assert message in line


def test_the_example_in_the_documents_runs() -> None:
    """The scenario that docs/simulate.md shows is one that the command takes."""
    page = (Path(__file__).parents[3] / "docs" / "simulate.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert tomllib.loads(example)["name"] == parse_scenario(example, source="x.toml").name
