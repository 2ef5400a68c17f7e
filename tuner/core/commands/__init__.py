"""What people, signals and parts of the daemon ask of the loop."""
