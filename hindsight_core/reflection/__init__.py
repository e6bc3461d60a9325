"""A finished run becomes lessons."""
