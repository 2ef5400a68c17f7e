"""Real servers for a bench, a proof or the demo: thrown away afterwards.

``choose`` takes one; ``local`` and ``container`` are the kinds, ``base`` is what both can do. ``flavour`` has
how each kind of server is started, ``disk`` what limits it, ``owner`` whose it is, and ``reader`` reads it.
"""
