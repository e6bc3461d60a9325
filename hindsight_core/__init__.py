"""Hindsight: memory that an agent earns by looking back at its finished runs."""
