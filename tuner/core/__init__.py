"""The decisions, pure: a state and a tick in, a state and a record out."""
