"""Real servers for a bench, a proof or the demo: thrown away afterwards.

- ``choose``: which one is taken; ``version``: which kind it is; ``spec``: how each kind is started.
- ``base``: what all can do; ``local``: a process; ``container``: one in Docker; ``images``: what Docker has.
- ``disk``: limits and counts; ``error_log``: times a recovery; ``owner``: whose it is; ``reader``: reads it.
"""
