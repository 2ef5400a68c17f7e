"""What was decided and why, in sentences: records in, words out, for the command, the API and the page."""
