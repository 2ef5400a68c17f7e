"""What the sources and manuals of servers name: for the fixtures that are written from them."""

from __future__ import annotations

from tuner.servers.fixture import Answer

_MONITOR = "storage/innobase/srv/srv0mon.cc of {} (names of the counters)"
_RDS_MANUAL = "Amazon RDS User Guide: master user account privileges (no SUPER, no SYSTEM_VARIABLES_ADMIN)"

SOURCES: dict[str, tuple[str, ...]] = {
    "5.7": (
        "storage/innobase/log/log0log.cc of MySQL 5.7.37 (log_calc_max_ages)",
        "storage/innobase/buf/buf0flu.cc of MySQL 5.7.37 (af_get_pct_for_lsn)",
        _MONITOR.format("MySQL 5.7.37"),
    ),
    "8.0": (
        "storage/innobase/log/log0chkp.cc of MySQL 8.0.27 (log_calc_max_ages, log_calc_concurrency_margin)",
        "storage/innobase/log/log0log.cc of MySQL 8.0.25 (log_sys_init: the margin, before counters go on)",
        "storage/innobase/handler/ha_innodb.cc of MySQL 8.0 (innodb_enable_monitor_at_startup, after that)",
        "storage/innobase/buf/buf0flu.cc of MySQL 8.0.27 (Adaptive_flush)",
        _MONITOR.format("MySQL 8.0.27"),
    ),
    "redo": (
        "storage/innobase/log/log0files_capacity.cc of MySQL 8.0.44 and 8.4.8",
        "PMM-15195 (log_max_modified_age_sync of MySQL 8.0.46 at 100 MiB)",
        "live figures of MySQL 9.7.4, whose limits are computed in the same way",
    ),
    "redo-26.7": (
        "MySQL 26.7 Reference Manual, 1.4 and 1.5: no variable that is read or set here changed or went",
        "live figures of MySQL 9.7.4, the release before",
    ),
    "percona-5.7": (
        "storage/innobase/log/log0log.cc of Percona Server 5.7 (log_calc_max_ages)",
        "storage/innobase/buf/buf0flu.cc of Percona Server 5.7 (page_cleaner_flush_pages_recommendation)",
        "Percona Server 5.7 manual: innodb_cleaner_lsn_age_factor, Innodb_checkpoint_max_age",
        "Percona Server 5.7 manual: Innodb_lsn_current, Innodb_lsn_last_checkpoint",
    ),
    "percona-8.0": (
        "storage/innobase/log/log0chkp.cc of Percona Server 8.0 before 8.0.30 (log_calc_max_ages)",
        "storage/innobase/buf/buf0flu.cc of Percona Server 8.0 (get_pct_for_lsn)",
        "Percona Server 8.0 manual: innodb_cleaner_lsn_age_factor, Innodb_checkpoint_max_age (PS-7275)",
    ),
    "percona": (
        "storage/innobase/buf/buf0flu.cc of Percona Server 8.0.30 and later (get_pct_for_lsn)",
        "PMM-15195 (Innodb_checkpoint_max_age of Percona Server 8.4.6 at 100 MiB)",
        "Percona Server manual: innodb_cleaner_lsn_age_factor",
    ),
    "mariadb-10.5": (
        "storage/innobase/log/log0log.cc of MariaDB 10.5.23 (log_set_capacity)",
        "storage/innobase/buf/buf0flu.cc of MariaDB 10.5.23 (af_get_pct_for_lsn)",
        "MariaDB release notes of 10.6.17 (MDEV-31939) and changelog of 10.11.12 (MDEV-36149)",
    ),
    "mariadb-10.11": ("storage/innobase/log/log0log.cc of MariaDB 10.11.18 (log_t::set_capacity)",),
    "rds": (_RDS_MANUAL, "Amazon RDS: basedir below /rdsdbbin/"),
    "cloudsql": ("Cloud SQL for MySQL documentation: database flags; versions end in -google",),
    "azure": (
        "Azure Database for MySQL flexible server documentation: no SUPER; versions end in -azure",
        "az mysql flexible-server parameter set-batch, Azure CLI reference",
    ),
    "heatwave": (
        "MySQL HeatWave documentation: DB system configurations; versions end in -cloud",
        "oci mysql configuration create, OCI CLI reference",
    ),
    "aurora": ("Amazon Aurora MySQL reference: aurora_version, parameters that do not apply to Aurora",),
}
"""By family."""

FLUSH_COUNTERS = (
    "buffer_flush_sync_total_pages",
    "buffer_flush_background_total_pages",
    "buffer_flush_neighbor_total_pages",
    "buffer_LRU_batch_flush_total_pages",
)
COMMON_STATUS = (
    "Com_alter_table",
    "Com_create_index",
    "Com_delete",
    "Com_delete_multi",
    "Com_drop_db",
    "Com_drop_index",
    "Com_drop_table",
    "Com_insert",
    "Com_insert_select",
    "Com_load",
    "Com_optimize",
    "Com_replace",
    "Com_replace_select",
    "Com_truncate",
    "Com_update_multi",
    "Innodb_buffer_pool_wait_free",
)
HANDLERS = ("Handler_write", "Handler_update", "Handler_delete")
ROWS = ("Innodb_rows_inserted", "Innodb_rows_updated", "Innodb_rows_deleted")
REDO_STATUS = {
    "Innodb_redo_log_enabled": "ON",
    "Innodb_redo_log_resize_status": "OK",
    "Innodb_undo_tablespaces_active": "2",
    "Innodb_undo_tablespaces_total": "2",
}

NO_SUCH_TABLE = 1146

_QUIET = Answer(rows=(("replica", "0", None),))
_LATENCY = Answer(rows=(("latency", "1000", "2500000000000"),))
_EIGHT = {
    "started": Answer(),
    "replica": Answer(rows=(("replica", None, "0"), ("worker", None, None), ("coordinator", None, None))),
    "group": Answer(),
    "latency": _LATENCY,
    "clone": Answer(error=NO_SUCH_TABLE),
    "locks": Answer(rows=(("locks", None, None),)),
}
_OLDER = {"started": Answer(), "replica": _QUIET, "latency": _LATENCY}

LOOKS: dict[str, dict[str, dict[str, Answer]]] = {
    "5.7": {"MySQL 5.7": _OLDER},
    "8.0": {"MySQL 8.0 before 8.0.30": _EIGHT},
    "redo": {"MySQL from 8.0.30 on": _EIGHT},
    "mariadb": {"MariaDB": {**_OLDER, "latency": Answer(rows=(("latency", None, None),))}},
}
"""What a server that replicates nothing answers, by family; the clone plugin is not installed."""
