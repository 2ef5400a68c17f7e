"""The outer loop's optimiser: a child process, and the thread that looks after it."""
