"""The systems that are compared, each a ranking of the same texts."""
