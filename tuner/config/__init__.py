"""Configuration: every key, where its value comes from, and what is wrong with it."""
