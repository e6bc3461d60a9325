"""Texts to vectors and token counts."""
