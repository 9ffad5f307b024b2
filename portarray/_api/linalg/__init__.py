"""The linear algebra extension, split by family; :mod:`portarray.linalg` lists it."""
