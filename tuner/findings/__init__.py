"""What a person should know or do about a server, and what each way out is in words and statements."""
