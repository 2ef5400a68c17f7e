"""Switch-back trials: one engine, what the optimiser suggests to it, and the evidence that it leaves."""
