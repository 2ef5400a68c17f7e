"""Whose values are in force, and whether the loop may write."""
