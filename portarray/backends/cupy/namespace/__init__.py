"""The standard on CuPy arrays: CuPy's own functions, corrected where they differ."""
