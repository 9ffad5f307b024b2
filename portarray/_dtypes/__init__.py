"""Dtypes: promotion, and the kinds that each function accepts."""
