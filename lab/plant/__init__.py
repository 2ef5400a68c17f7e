"""A simulated MySQL, Percona Server or MariaDB behind the loop's port, on a clock of its own.

Its forward flush law is written from each server's source (``lab.plant.flavour``) and shares nothing with
``policies`` but the arithmetic of the redo limits, so that it can prove ``policies`` wrong.
"""
