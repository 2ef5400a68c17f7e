"""A reading says of a server what its sample says, in the bench's words."""

from __future__ import annotations

import time

import pytest
from msgspec.structs import replace

from lab.bench import sampler
from lab.bench.sampler import Sampler, reading
from lab.servers.existing import DsnServer
from lab.servers.flavour import LabServerError
from tests.factory import sample
from tuner.records import Sample
from tuner.servers.endpoint import Endpoint

LIMIT = 20.0


def test_ages_are_over_the_limits_of_the_very_server() -> None:
    """Whatever its family: x is over its own flush limit, and the checkpoint age over its own redo log."""
    one = replace(
        sample(),
        lsn_current=10_000_000,
        lsn_oldest=9_000_000,
        lsn_checkpoint=7_500_000,
        flush_limit=2_000_000,
        stall_point=3_000_000,
        redo_capacity=5_000_000,
        redo_space_waits=7,
    )

    found = reading(one, now=1.0, cpu_idle=0.0)

    assert (found.age_ratio, found.checkpoint_ratio) == (0.5, 0.5)
    assert (found.modified_age, found.checkpoint_age) == (1_000_000, 2_500_000)
    assert (found.flush_limit, found.stall_point) == (2_000_000, 3_000_000)
    assert found.space_waits == 7


class Reader:
    """Stands for a connection: every reading is the same, every counter is seven."""

    made = 0

    def __init__(self, _server: object) -> None:
        Reader.made += 1

    def read(self) -> Sample:
        """Return a reading."""
        return sample()

    def ask(self, statement: str) -> list[tuple[str, int]]:
        """Answer for each name in a statement."""
        return [(part, 7) for part in statement.split("'")[1::2] if part.isidentifier()]

    def close(self) -> None:
        """End it."""


def test_the_disk_of_a_users_own_server_is_counted_over_the_samplers_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No connection a second on a server that others use."""
    monkeypatch.setattr(sampler, "Reader", Reader)
    server = DsnServer(Endpoint(user="ann"), confirmed=True)
    monkeypatch.setattr(server, "connect", None)
    with Sampler(server, interval=0.001) as watching:
        end = time.monotonic() + LIMIT
        while len(watching.readings()) < 5 and time.monotonic() < end:
            time.sleep(0.001)  # readings come from another thread, and nothing announces them
    device = watching.readings()[-1].device

    assert device is not None
    assert device.writes == 7
    assert Reader.made == 1


def test_a_time_with_too_few_readings_for_a_figure_says_why() -> None:
    """A server that answered nobody is no division by zero."""
    sampler = Sampler(DsnServer(Endpoint(user="dba"), confirmed=True))
    sampler._missed = [(5.0, "OperationalError: Lost connection")]

    with pytest.raises(LabServerError, match=r"0 readings .*Lost connection"):
        sampler.span(1.0, 9.0)
