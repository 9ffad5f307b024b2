"""The standard on CuPy arrays: CuPy's functions, corrected where they differ."""
