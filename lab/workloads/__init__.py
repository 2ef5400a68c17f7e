"""Loads for a real server: which (``load``), at work in sysbench (``sysbench``), and what they report (``reports``)."""
