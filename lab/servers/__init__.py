"""Real servers for a bench, a proof or the demo: thrown away afterwards, or borrowed.

``choose`` takes one; ``local``, ``container`` and ``existing`` are the kinds, ``base`` is what all can do.
``flavour`` has how each kind of server is started, ``disk`` what limits it, ``owner`` and ``claim`` whose it
is, and ``reader`` reads it.
"""
