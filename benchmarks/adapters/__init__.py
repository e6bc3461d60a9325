"""What the adapters add to a run."""
