"""A simulated MySQL 9.7 behind the loop's port, on a clock of its own.

Its forward flush law is written from the server's source and shares nothing with
``policies`` but the arithmetic of the redo limits, so that it can prove ``policies`` wrong.
"""
