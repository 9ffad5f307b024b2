"""Programs on several devices at once: ``python -m examples.distributed heat``.

Each compares its answer with NumPy's, SciPy's or scikit-learn's, and prints the difference.
"""
