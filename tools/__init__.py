"""What makes the reference pages and the manual; not in the wheel."""
