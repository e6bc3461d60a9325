"""Hindsight for langchain; under construction."""
