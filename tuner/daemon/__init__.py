"""The daemon around the one loop: its threads, what it keeps between two runs, and the seam to the API."""
