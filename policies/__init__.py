"""Policies: numbers in, numbers out. Standard library only, no clock, no dice."""
