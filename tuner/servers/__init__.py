"""Real servers behind one port.

Where to look, from the top down:

- ``port`` what the loop can ask of a server; ``mysql`` the one that asks a real one: facts, readings, writes.
- ``detect`` what a server is, with ``release`` (its version), ``families`` (a module a family, each an
  ``adapter``: what a reading asks for and what the answers mean) and ``identity`` (is it still the same?).
- ``surroundings`` replication, locks, clones and latency; ``enginestatus`` ages where no counter is on.
- ``writing`` what may be written and by which statement; ``writerlock`` one writer for each
  server, with ``hostlock`` where that gives no lock.
- ``session`` one connection with time limits, on ``driver`` (limits on each answer), ``resolver`` (the host),
  ``endpoint`` (address and TLS) and ``passwords`` (who gets the password); ``failures`` why there is none.
- ``values`` whether what a server said can be so.
- ``setupsql`` the account and the procedures; ``fixture`` and ``scrub`` a server's answers in a file.
"""
