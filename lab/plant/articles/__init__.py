"""The plant against published articles: runs under their settings, the fit, and the page."""
