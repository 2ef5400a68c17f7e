"""How long a server took to start, by its own log, and a page cache that forgets its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.servers import timing
from lab.servers.base import LabServerError


def test_the_last_initialisation_counts() -> None:
    """An earlier start's lines do not make a later one longer."""
    lines = [(timing.STARTED, 10.0), (timing.ENDED, 11.0), (timing.STARTED, 20.0)]
    assert timing.last_span([*lines, (timing.ENDED, 23.5)]) == 3.5
    with pytest.raises(LabServerError, match="when InnoDB was ready"):
        timing.last_span(lines)


def test_dropping_caches_reaches_every_file(tmp_path: Path) -> None:
    """Files in subdirectories count, and a missing directory is named."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "one").write_bytes(b"x" * 5000)
    (tmp_path / "sub" / "two").write_bytes(b"y")
    assert timing.drop_caches(tmp_path) == 2
    with pytest.raises(LabServerError, match="nowhere"):
        timing.drop_caches(tmp_path / "nowhere")
