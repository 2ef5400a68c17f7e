"""What every write must keep: the guards, the order of its SETs, and the token bucket of the changes."""
