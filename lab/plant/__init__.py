"""A simulated MySQL, Percona Server or MariaDB behind the loop's port, on a clock of its own.

Its forward flush law is written from each server's source and imports nothing of ``policies``, so that it can
prove ``policies`` wrong; the redo limits are those of ``tuner/servers/families``. From the top down:

- ``server``: what the loop sees; ``engine``: time, from event to event, and what changes by itself.
- ``space``: writers that wait for room in the log; ``pool``: a buffer pool that is too small.
- ``cleaner`` (MySQL from 8.0 on), ``mysql5``, ``mariadb``: the page cleaners, one module a family.
- ``redo``: limits, checkpoints, another size; ``flush_list``, ``neighbours``: which pages are dirty.
- ``parameters``: all that can be set, and the hash that names it; ``fits.toml``: fitted to real servers.
- ``flavour``: what differs between the servers; ``flush_law``; ``load``, ``disk``, ``clock``.
"""
