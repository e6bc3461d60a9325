"""What becomes of a memory after it was written."""
