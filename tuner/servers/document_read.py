"""What the page of supported servers says is read, family by family: the adapters' own words put together."""

from __future__ import annotations

from collections.abc import Sequence

from policies.setpoint import SAWTOOTH_SECONDS
from tuner.servers.adapter import Adapter
from tuner.servers.families.mariadb import MAX_AGE, RESIZED, MariaDBAdapter


def read(adapters: Sequence[Adapter]) -> list[tuple[str, ...]]:
    """Return a row for each thing that is read, a column for each family of servers."""

    def row(what: str, cells: Sequence[str]) -> tuple[str, ...]:
        return (what, *cells)

    return [
        row("modified age", [f"`log_lsn_current` − `{one.oldest}`" for one in adapters]),
        row("without counters", [_uncounted_age(one) for one in adapters]),
        row("limits", [_limits(one) for one in adapters]),
        row("compared with", [_compared(one) for one in adapters]),
        row("waits for redo space", [f"`{one.waits}`" for one in adapters]),
        row("pages from the LRU tail", [f"`{one.lru}`" for one in adapters]),
        row(
            "pages wanted for age", [f"`{one.by_age}`" if one.by_age else "not exported" for one in adapters]
        ),
        row("rows changed", [_rows(one) for one in adapters]),
        row("redo log is resized by", [_resized(one) for one in adapters]),
        row("between checkpoints, redo of", [f"{_checkpoint(one):g} s" for one in adapters]),
        row(
            "writers wait",
            ["from the sync point" if _stalls(one) else "at the stall point" for one in adapters],
        ),
        row("surroundings", [", ".join(one.parts) for one in adapters]),
        row("it is told from others by", [f"`{one.identity.replace('@@GLOBAL.', '')}`" for one in adapters]),
    ]


def _uncounted_age(adapter: Adapter) -> str:
    if adapter.ages_need_counters:
        found = "`SHOW ENGINE INNODB STATUS`, every 5 s"
        own = " − ".join(f"`{name}`" for name in adapter.percona_ages)
        return f"{found}; Percona Server: {own}" if own else found
    current = next(name for name in adapter.status if name.endswith(("_current_lsn", "_lsn_current")))
    checkpoint = next(
        name for name in adapter.status if name.endswith(("_checkpoint_lsn", "_last_checkpoint"))
    )
    return f"`{current}` − `{checkpoint}`"


def _limits(adapter: Adapter) -> str:
    if MAX_AGE in adapter.status:
        return f"`{MAX_AGE}`"
    if "Innodb_redo_log_capacity_resized" in adapter.status:
        return "computed from `Innodb_redo_log_capacity_resized`"
    return "computed from `innodb_log_file_size` × `innodb_log_files_in_group`"


def _compared(adapter: Adapter) -> str:
    if adapter.limit_counters:
        return ", ".join(f"`{name}`" for name in adapter.limit_counters)
    return f"`{MAX_AGE}`, from `{adapter.redo_variable}`"


def _rows(adapter: Adapter) -> str:
    if "Innodb_rows_inserted" in adapter.status:
        return "`Innodb_rows_inserted`, `_updated`, `_deleted`"
    return "`Handler_write`, `_update`, `_delete`, of all engines"


def _resized(adapter: Adapter) -> str:
    if isinstance(adapter, MariaDBAdapter):
        since = ".".join(map(str, RESIZED))
        return f"`SET GLOBAL {adapter.redo_variable}`; before {since} in my.cnf, and a restart"
    if adapter.redo_dynamic:
        return f"`SET GLOBAL {adapter.redo_variable}`"
    return f"`{adapter.redo_variable}` in my.cnf, and a restart"


def _checkpoint(adapter: Adapter) -> float:
    return float(adapter.checkpoints.get("sawtooth_seconds", SAWTOOTH_SECONDS))


def _stalls(adapter: Adapter) -> bool:
    return bool(adapter.checkpoints.get("sync_stalls", False))
