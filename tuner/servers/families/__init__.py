"""The families of servers, an adapter each."""
