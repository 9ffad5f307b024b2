"""The standard on NumPy arrays: NumPy's own functions, and those that must be corrected."""
