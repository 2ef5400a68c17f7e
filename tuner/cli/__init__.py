"""The command line: the composition root, and the only place that imports ``api`` and ``lab``."""
