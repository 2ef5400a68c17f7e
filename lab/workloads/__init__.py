"""Load drivers."""
