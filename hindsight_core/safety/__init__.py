"""What must not get in, and who may see what."""
