"""What this tick does: which wish wins, and what becomes of it."""
