"""Arithmetic and signs, element by element."""
