"""The bench: contenders on real servers, paired and in random order, measured at one second."""
