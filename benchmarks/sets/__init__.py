"""The benchmarks: what is stored, what is asked and what is counted."""
