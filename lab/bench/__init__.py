"""One experiment: a plan, rows that are kept, statistics of them; on real servers or on the simulated one."""
