"""Real servers for a bench, a proof or the demo: thrown away afterwards.

``choose`` takes one. ``base`` is what all can do; ``local`` is a process, ``container`` one in Docker, and
``images`` what Docker has. ``spec`` has how each kind is started, ``version`` tells which kind it is, ``disk``
limits and counts, ``error_log`` times a recovery, ``owner`` says whose it is, and ``reader`` reads it.
"""
