"""The long proofs of the closed loop on a real MySQL; results go to ``docs/results``."""
