"""Real servers behind one port."""
