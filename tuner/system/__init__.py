"""The machine that we run on: clocks, files, log lines, the service manager. Knows nothing of a server."""
