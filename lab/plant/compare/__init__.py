"""The simulated server against real ones: ``python -m lab.plant.compare``."""
