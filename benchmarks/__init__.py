"""What Hindsight is measured by: `python -m benchmarks NAME --data DIR [--json OUT]`."""
