"""What the repository publishes of its benches: a page of every suite, and the table in README.md."""
