"""Policies against each other and against static settings on the simulated server, with paired bounds."""
