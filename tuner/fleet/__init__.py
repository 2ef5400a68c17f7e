"""Many servers at once, from outside: what Prometheus knows of them, stages, and a switch for all."""
