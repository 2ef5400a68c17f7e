"""What every write must keep: the order of its SETs, guards, and what is safe to leave behind."""
