"""Lessons find their way into the next run."""
