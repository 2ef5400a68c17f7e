"""What load, device, log and people around show: from counters to rates, and what is remembered of them."""
