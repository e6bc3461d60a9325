"""The command line `hindsight`: every verb of the facade, a demo and a doctor."""

from hindsight_core.cli.entry import main

__all__ = ["main"]
