"""The real daemon on a real server for an hour and a half, with a random fault every minute."""
