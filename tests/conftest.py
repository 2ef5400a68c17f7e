"""The real MySQL and its load, shared by every room that asks for them; nothing starts before that."""

pytest_plugins = ["tests.real.fixtures", "tests.real.small"]
