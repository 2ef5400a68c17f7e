"""Real servers for a bench, a proof or the demo: thrown away afterwards.

``choose`` takes one. ``base`` is what all can do; ``local`` is a process, ``container`` one in Docker, whose
``images`` are looked through there. ``spec`` has how each kind is started, ``version`` tells which kind it is,
``disk`` limits and counts, ``error_log`` times a recovery, ``owner`` says whose it is, and ``reader`` reads it.
"""
