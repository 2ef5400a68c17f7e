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


FOUR = "{ at = 0, threads = 4 }"
LARGE = "{ at = 700, threads = 4, redo_bytes_per_commit = 1e6 }"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sceonds = 100", "x.toml: sceonds: unknown key; did you mean seconds?"),
        (
            "[server]\nio_capacity_mx = 300",
            "server.io_capacity_mx: unknown key; did you mean io_capacity_max?",
        ),
        (
            "[load]\ntimeline = [{ at = 0, threads = 4, thread = 4 }]",
            "load.timeline[0].thread: unknown key; did you mean threads?",
        ),
        ("[load]\ntimeline = [{ threads = 3 }]", "load.timeline[0].at: is missing"),
        # a key in the wrong place, or by its server's name
        ("[disk]\nwrite_iops = 900", "disk.write_iops: unknown key; it belongs into the list: timeline = "),
        ("[disk]\nburst_iops = 900", "it belongs into credits = { … }"),
        ('[server]\nfit = "mysql-9.7"', "server.fit: unknown key; it belongs above the first table"),
        ("redo_capacity = 9", "redo_capacity: unknown key; it belongs into [server]"),
        ("[server]\ninnodb_io_capacity = 200", "did you mean io_capacity?"),
        ("[server]\ninnodb_redo_log_capacity = 9", "here it is redo_capacity, in bytes"),
        ("[server]\ninnodb_buffer_pool_size = 9", "here it is buffer_pool_pages, in pages of 16384 bytes"),
        # a wrong value is shown beside what the key takes
        ("[load]\nnoise = 7", "x.toml: load.noise = 7: must be a number from 0 up to 0.5"),
        ("[load]\ntimeline = []", "load.timeline: must be a list of tables, such as [{ at = …, threads"),
        ("[load]\ntimeline = { at = 0, threads = 3 }", "must be a list of tables, such as [{ at = …, "),
        ("[server]\nflavour = 'mysql-9.6'", 'server.flavour = "mysql-9.6": must be one of mysql-9.7, '),
        ('[load]\ndistribution = "zipff"', "must be one of uniform, zipf, hot_set; did you mean zipf?"),
        (
            '[server]\nredo_capacity = "8G"',
            "must be a whole number from 8,388,608 up to 549,755,813,888; 8G is 8589934592",
        ),
        ("server = 3", "server = 3: must be a table with keys of its own"),
        ("seed = true", "seed = true: must be a whole number from 0"),
        ("[disk]\nrepeat = 0.000001", "disk.repeat = 1e-06: must be a number from 1 up to 2,678,400"),
        ("[load]\nrepeat = 0.000001", "load.repeat = 1e-06: must be a number from 1 up to 2,678,400"),
        # keys that contradict each other, or would count for nothing beside the others
        (
            "[load]\ntimeline = [{ at = 0, threads = 4 }, { at = 100, threads = 8 }]",
            "measured_from = 600: must lie before the first change, at 100",
        ),
        ("[load]\ntimeline = [{ at = 5, threads = 4 }]", "the first entry is at 5; it must be at 0"),
        (
            "[load]\ntimeline = [{ at = 0, threads = 4 }, { at = 1900, threads = 8 }]",
            "load.timeline: 1900 is not before the end",
        ),
        (
            "[load]\nrepeat = 50\ntimeline = [{ at = 0, threads = 4 }, { at = 100, threads = 8 }]",
            "load.timeline: 100 is not before the repetition, repeat = 50",
        ),
        (
            "[server]\nio_capacity = 500\nio_capacity_max = 400",
            "server.io_capacity = 500: is above server.io_capacity_max = 400",
        ),
        (
            "[server]\nflavour = 'mysql-5.7'\nresizes = [{ at = 700, redo_capacity = 209_715_200 }]",
            "server.resizes: mysql-5.7 has one size of its redo log until it is restarted",
        ),
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
        ("seconds = 7", "not TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_reason(text: str, message: str) -> None:
    """What is wrong is said in a line, with the key, its value and what would be right."""
    said = refused(f"{TOP}{text}" if text.startswith("[") else f"{text}\n{TOP}")
    assert any(message in line and "`" not in line for line in said)
    assert "not TOML" in message or len(said) == 1


def test_all_unknown_keys_are_named_at_once() -> None:
    """Two misspelt keys make one error with two lines."""
    said = refused(f"sed = 3\n{SHORT}\n[load]\nhot_page = 5\n")
    assert "\n".join(said).count("did you mean") == 2


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


def test_all_that_is_wrong_is_said_at_once() -> None:
    """Unknown keys, wrong values and missing keys of all tables come in one message, a line each."""
    said = refused('name = ""\nseconds = "x"\nfoo = 1\n[server]\nio_capacity = -1\n[disk]\nfsync_seconds = 2')
    assert sorted(line.split(": ")[1].split(" ")[0] for line in said) == [
        "description",
        "disk.fsync_seconds",
        "foo",
        "measured_from",
        "name",
        "seconds",
        "server.io_capacity",
    ]


def test_the_example_in_the_documents_runs() -> None:
    """The scenario that docs/lab/simulate.md shows is one that the command takes."""
    page = (Path(__file__).parents[3] / "docs" / "lab" / "simulate.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert tomllib.loads(example)["name"] == parse_scenario(example, source="x.toml").name
