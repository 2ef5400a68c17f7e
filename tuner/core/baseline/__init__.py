"""Does the server do worse under our values than under its own? Then these come back."""
