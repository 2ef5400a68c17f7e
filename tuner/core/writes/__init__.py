"""What every write must keep: guards, the order of its SETs, the token bucket, the pace of a restore."""
