"""``innobrim watch``: what the daemon does, as a picture in a terminal; no daemon imports it."""
