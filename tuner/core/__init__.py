"""The decisions, pure: a state and a tick in, a state and a record out.

One name means one thing in all of these modules, and no docstring repeats it:

- ``state`` is what is known before the call, of the loop or of the module's own slice; what changes it
  returns the next one, often with the events that say so; ``step`` stamps them with the time.
- ``sample`` is this tick's reading, None where it was missed; ``last`` the one before; ``estimate`` what is
  made of it; ``window`` the readings of the last seconds, ``sample`` the newest.
- ``now`` is the tick's monotonic time, ``wall`` its Unix time, ``elapsed`` the time since the last
  reading; seconds.
- ``current`` is the pair of C and M in force, ``home`` the C that the server was set to before us,
  ``io_capacity_max`` M, ``lowest`` and ``highest`` the M allowed, ``flush_rate`` F, ``demand`` P; pages/s.
- ``redo_rate`` is R, bytes/s; ages are bytes; a ``ratio`` is an age over the flush limit; ``set_point`` is f,
  ``combining_exponent`` b.
- ``law`` is the server's flush law; ``settings`` are what the operator wants, ``facts`` what the server is.

``tests/core/test_owners.py`` says which module writes which field of the state.
"""
