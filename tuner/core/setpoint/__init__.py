"""What bounds how high the age may be."""
