"""One page, and JSON and CSV beside it, from the rows of a bench or from a trace of a server."""
