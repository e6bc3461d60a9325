"""Hindsight for llamaindex; under construction."""
