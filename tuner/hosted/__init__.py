"""A hosted server's two variables where its provider keeps them; written by a person's command alone."""
