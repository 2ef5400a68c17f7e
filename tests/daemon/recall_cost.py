"""What it costs to fill the charts from a journal: ``python -m tests.daemon.recall_cost``."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import FACTS
from tuner.daemon.history import KEEP_SECONDS, History
from tuner.journal.items import RunItem, tick_item
from tuner.journal.reader import earlier_ticks
from tuner.journal.store import Store
from tuner.journal.tables import FILE_NAME
from tuner.settings import Settings


def main() -> None:
    """Write six hours of ticks, read them as a start does but without its pauses, and print the times."""
    one = Bench().turn()
    with tempfile.TemporaryDirectory() as directory:
        store = Store(Path(directory) / FILE_NAME, keep_ticks=2 * KEEP_SECONDS, program="0")
        store.begin()
        store.add_run(RunItem(Settings(), FACTS, b"", 0, 0.0))
        for number in range(KEEP_SECONDS):
            store.add(tick_item(replace(one, tick=replace(one.tick, number=number, wall=float(number)))))
        store.commit()
        store.close(tidy=True)
        found, history = History(), History()
        began = time.process_time()
        for ticks in earlier_ticks(Path(directory), since=0.0, until=KEEP_SECONDS, most=KEEP_SECONDS):
            for tick in ticks:
                if tick is not None:
                    found.add(tick)
        read = time.process_time() - began
        began = time.process_time()
        history.precede(found)
        put = time.process_time() - began
    sys.stdout.write(f"{KEEP_SECONDS} ticks: {read:.2f} s of processor time; lock held {put * 1000:.1f} ms\n")


if __name__ == "__main__":
    main()
