"""CSV and JSON beside a page tell every row from every other."""

from __future__ import annotations

import csv
import io

from lab.report.exports import bench_summary, rows_csv, series_csv
from lab.report.rows import rows_of
from tests.lab.report.factory import row

VARIANTS = ["open, 50 %", "open, 70 %"]


def test_rows_of_two_variants_can_be_told_apart_in_every_file() -> None:
    """Block 1 of one variant is not block 1 of the other: in rows, in seconds, in the summary."""
    rows = rows_of([row(variant=name) for name in VARIANTS])
    for write in (rows_csv, series_csv):
        text = io.StringIO()
        write(text, rows)
        found = list(csv.DictReader(io.StringIO(text.getvalue())))
        assert list(dict.fromkeys(line["variant"] for line in found)) == VARIANTS
    assert [group["variant"] for group in bench_summary(rows)["groups"]] == VARIANTS


def test_who_was_left_out_is_in_the_summary_with_the_reason() -> None:
    """A machine that counts contenders finds the one that is missing."""
    out = {"schema": 1, "stage": "left out", "contender": "folk", "why": "no limit is known"}
    (group,) = bench_summary(rows_of([row(), out]))["groups"]

    assert group["left_out"] == {"folk": "no limit is known"}
