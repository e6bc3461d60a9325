"""What is done to a memory that must not lose anything, and how what is left is counted."""
