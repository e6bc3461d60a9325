"""What becomes of a lesson when it meets what is already known."""
