"""Throw-away real servers for proofs and the demo."""
