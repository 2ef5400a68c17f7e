"""The HTTP side: routes, metrics and who may change what. It talks to the loop through the board alone."""
